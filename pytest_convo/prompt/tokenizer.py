"""Which tokenizer counts for a model: its own where it is at hand, else an estimate. Nothing is downloaded."""

from __future__ import annotations

import base64
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Protocol

from .estimate import Estimator

PIECE = 10_000
"""Characters that are given to tiktoken at once.

It takes a run of blanks, of letters or of signs as one word. Elder releases need four times as long for a word that is
twice as long; and in the present one a million blanks are the end of its stack, which raises no `Exception`.
"""

KNOWN = 50_000
"""Counts that are kept for each tokenizer."""

_LETTERS = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}"
_SMALL = r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
_CL100K_PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
_O200K_PATTERN = (
    rf"[^\r\n\p{{L}}\p{{N}}]?[{_LETTERS}]*[{_SMALL}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    rf"|[^\r\n\p{{L}}\p{{N}}]?[{_LETTERS}]+[{_SMALL}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_URL = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"


class Tokenizer(Protocol):
    """Counts the tokens of a text."""

    @property
    def name(self) -> str:
        """`o200k_base`, for instance, or `estimate`."""

    @property
    def exact(self) -> bool:
        """Whether it is the model's own."""

    def count(self, text: str) -> int:
        """The tokens of a text; words that control a model, such as `<|endoftext|>`, are text like any other."""


class Vocabulary:
    """What is needed of one of OpenAI's vocabularies to count with it: where its file is, how a text is cut.

    This is here because tiktoken hands them out only by a function that downloads the file where it is missing, or
    is another one. Its `Encoding` alone, with a file that we read, opens no connection.
    """

    def __init__(self, file: str, sha256: str, pattern: str) -> None:
        self.url = _URL.format(file)
        self.sha256 = sha256
        self.pattern = pattern

    def data(self) -> bytes | None:
        """The vocabulary, where tiktoken has kept it on this machine and it is whole."""
        folder = _cache_folder()
        if folder is None:
            return None
        key = hashlib.sha1(self.url.encode(), usedforsecurity=False).hexdigest()  # tiktoken's name for it
        try:
            data = (folder / key).read_bytes()
        except OSError:
            return None
        return data if hashlib.sha256(data).hexdigest() == self.sha256 else None


_O200K = Vocabulary("o200k_base", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d", _O200K_PATTERN)
VOCABULARIES = {
    "cl100k_base": Vocabulary(
        "cl100k_base", "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7", _CL100K_PATTERN
    ),
    "o200k_base": _O200K,
    "o200k_harmony": _O200K,  # it differs in words that control a model, which are text to us
}
"""Those of the models that chat."""


class Remembering:
    """A tokenizer that counts each text once.

    A text is known by its length and Python's hash of it, which the string keeps: to ask again costs nothing however
    long it is, and no text is held in memory. That two texts of one process share all 64 bits is not to be expected.
    """

    def __init__(self, name: str, *, exact: bool, count: Callable[[str], int]) -> None:
        self.name = name
        self.exact = exact
        self._fresh = count
        self._known: dict[tuple[int, int], int] = {}

    def count(self, text: str) -> int:
        """The tokens of a text. Threads may ask at once: at worst two of them count the same."""
        key = (len(text), hash(text))
        count = self._known.get(key)
        if count is None:
            count = self._fresh(text)
            if len(self._known) >= KNOWN:
                self._known = {}
            self._known[key] = count
        return count


def tokenizer_for(model: str | None, wanted: Literal["auto", "estimate"] = "auto") -> Tokenizer:
    """The tokenizer for a model; `auto` takes tiktoken where it is installed, knows the model and has its data here."""
    name = _encoding_name(model) if wanted == "auto" and model else None
    exact = _encoding(name, _cache_folder()) if name is not None else None
    return exact or _estimator()


@lru_cache(maxsize=1)
def _estimator() -> Tokenizer:
    return Remembering(Estimator.name, exact=Estimator.exact, count=Estimator().count)


def _encoding_name(model: str) -> str | None:
    tiktoken = _tiktoken()
    if tiktoken is None:
        return None
    for name in (model, model.rpartition("/")[2]):  # openai/gpt-4o, as brokers of models have it
        try:
            found: str = tiktoken.encoding_name_for_model(name)
        except KeyError:
            continue
        return found if found in VOCABULARIES else None
    return None


@lru_cache(maxsize=1)
def _tiktoken() -> Any:
    """The module, or nothing: it is no dependency of ours."""
    try:
        return import_module("tiktoken")
    except ImportError:
        return None


@lru_cache(maxsize=8)
def _encoding(name: str, folder: Path | None) -> Tokenizer | None:
    """One of `VOCABULARIES`; the folder only tells one cache from another."""
    del folder
    vocabulary = VOCABULARIES[name]
    data = vocabulary.data()
    if data is None:
        return None
    lines = (line.split() for line in data.splitlines() if line)
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    made = _tiktoken().Encoding(name, pat_str=vocabulary.pattern, mergeable_ranks=ranks, special_tokens={})

    def count(text: str) -> int:
        return sum(len(made.encode_ordinary(piece)) for piece in pieces(text))

    return Remembering(name, exact=True, count=count)


def _cache_folder() -> Path | None:
    """Where tiktoken keeps what it has downloaded; an empty setting means nowhere."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if variable in os.environ:
            return Path(os.environ[variable]) if os.environ[variable] else None
    return Path(tempfile.gettempdir(), "data-gym-cache")


def pieces(text: str) -> Iterator[str]:
    """A text in pieces of at most `PIECE` characters, cut before a word where there is one: that changes no count."""
    start = 0
    while len(text) - start > PIECE:
        end = _before_a_word(text, start + PIECE // 2, start + PIECE) or start + PIECE
        yield text[start:end]
        start = end
    yield text[start:]


def _before_a_word(text: str, start: int, end: int) -> int | None:
    """The last place in these bounds of a single blank with a letter behind it; a new word begins there."""
    place = text.rfind(" ", start, end)
    while place != -1:
        if text[place + 1].isalpha() and not text[place - 1].isspace():
            return place
        place = text.rfind(" ", start, place)
    return None
