"""How far the estimate of tokens is off: its ratio to what real tokenizers count, and how fast it is.

Reads texts from files and folders: `.jsonl` and `.json` by their strings, all else as it is, in passages of 2,000
characters; only passages of more than 50 tokens count. Tokenizers are vocabularies in tiktoken's format (`--tiktoken`,
which several PyPI packages bundle), and those that `tiktoken` has already downloaded.
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import common

from pytest_convo.prompt import tokenizer
from pytest_convo.prompt.estimate import Estimator

PASSAGE = 2_000
FEW = 50
"""Tokens of a passage that is too short to tell anything."""
MODELS = ("gpt-4", "gpt-4o")

Count = Callable[[str], int]


def main() -> None:
    given = arguments()
    counts = dict(tokenizers(given.tiktoken))
    if not counts:
        sys.exit("no tokenizer: give vocabularies by --tiktoken, or have tiktoken download its own once")
    texts = list(dict.fromkeys(passage for path in given.path for passage in passages(path)))
    if not texts:
        sys.exit("no texts in " + ", ".join(map(str, given.path)))
    begin = time.perf_counter()
    estimates = [Estimator().count(text) for text in texts]
    taken = time.perf_counter() - begin
    size = sum(len(text.encode(errors="replace")) for text in texts)
    common.table(
        f"estimate / tokens, passages of more than {FEW} tokens",
        ["tokenizer", "passages", "median", "5 %", "95 %", "lowest", "underestimated"],
        [[name, *errors(texts, estimates, count)] for name, count in counts.items()],
    )
    print(f"\n{size / 1e6:.1f} MB estimated at {size / taken / 1e6:.1f} MB/s")


def errors(texts: Sequence[str], estimates: Sequence[int], count: Count) -> list[object]:
    """The cells of one tokenizer."""
    pairs = [(estimate, count(text)) for text, estimate in zip(texts, estimates, strict=True)]
    ratios = [estimate / tokens for estimate, tokens in pairs if tokens > FEW]
    if len(ratios) < 2:
        return [len(ratios), *["-"] * 5]
    cuts = quantiles(ratios, n=20)
    under = sum(ratio < 1 for ratio in ratios) / len(ratios)
    figures = [median(ratios), cuts[0], cuts[-1], min(ratios)]
    return [len(ratios), *(f"{figure:.2f}" for figure in figures), f"{under:.1%}"]


# -- texts


def passages(path: Path) -> Iterator[str]:
    """The passages of a file, or of all files below a folder; what is no text is left out."""
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            if file.is_file():
                yield from passages(file)
        return
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return
    for whole in whole_texts(path, text):
        yield from (whole[start : start + PASSAGE] for start in range(0, len(whole), PASSAGE))


def whole_texts(path: Path, text: str) -> Iterator[str]:
    """What a file holds: of JSON its strings, and each document as it is."""
    yield text
    if path.suffix == ".jsonl":
        for line in text.splitlines():
            yield from strings(json.loads(line))
    elif path.suffix == ".json":
        try:
            yield from strings(json.loads(text))
        except ValueError:
            return  # it is as much of a text as any


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


# -- tokenizers


def tokenizers(files: Sequence[Path]) -> Iterator[tuple[str, Count]]:
    """Those at hand, by name; says what is lacking."""
    for model in MODELS:
        found = tokenizer.tokenizer_for(model)
        if found.exact:
            yield found.name, found.count
        else:
            print(f"without {model}'s: tiktoken or its data is not on this machine", file=sys.stderr)
    for file in files:
        yield file.name, vocabulary(file)


def vocabulary(file: Path) -> Count:
    """A vocabulary by its file; texts are cut into words as for `o200k_base`, which the others nearly do."""
    try:
        import tiktoken
    except ImportError:
        sys.exit("--tiktoken needs: pip install tiktoken")
    lines = (line.split() for line in file.read_bytes().splitlines() if line)
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    pattern = tokenizer.VOCABULARIES["o200k_base"].pattern
    encoding = tiktoken.Encoding(file.name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return lambda text: sum(len(encoding.encode_ordinary(piece)) for piece in tokenizer.pieces(text))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("path", type=Path, nargs="+", help="a file of text, or a folder")
    parser.add_argument("--tiktoken", type=Path, nargs="+", default=[], metavar="FILE", help="a vocabulary")
    return parser.parse_args()


if __name__ == "__main__":
    main()
