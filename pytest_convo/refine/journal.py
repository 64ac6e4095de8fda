"""What is kept of a loop, `.convo/refine/<name>/`: each attempt in a directory of its own, and where the loop stands.

It is written as the loop goes, each file whole or not at all: a loop that was killed in its fifth attempt has the four
before it, and the next session goes on from there.
"""

from __future__ import annotations

import difflib
import io
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from .attempts import Attempt
from .items import Item, Scores
from .reading import scores_of, told_again
from .split import Split

LOOP = "loop.json"
"""Where the loop stands."""

_VERSION = 2


@dataclass
class Standing:
    """Where a loop stands, beside its attempts."""

    split: Split
    spent: dict[str, float] = field(default_factory=dict)
    """`usd`, `calls`, `tokens`, `seconds`, over all sessions that went on with it."""
    end: str | None = None
    """How it ended; None where it was broken off."""


def identity(text: str, items: Sequence[Item], settings: Mapping[str, Any]) -> str:
    """A digest of what a loop is about: with another prompt, other cases or another rewriter it is another loop."""
    bounds = ("attempts", "minutes", "max_calls", "max_usd")
    about = [
        _VERSION,
        text,
        sorted([item.id, item.unit, list(item.inputs), list(item.expected), item.made_of] for item in items),
        {name: value for name, value in settings.items() if name not in bounds},
    ]
    return sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]


class Journal:
    """The directory of one loop about a prompt, whose text is `old`."""

    def __init__(self, root: Path, old: str, prompt: Path) -> None:
        self.root = root
        self._old = old
        self._prompt = prompt

    # -- where it stands

    def resume(self, digest: str) -> Standing | None:
        """Where a loop about the same stands; None where there is none."""
        try:
            found = json.loads((self.root / LOOP).read_text(encoding="utf-8"))
            if found.pop("identity") != digest:
                return None
            return Standing(**{**found, "split": Split.of_json(found["split"])})
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None  # none, or one that somebody has edited: then it begins anew

    def begin(self) -> None:
        """Make room for a new loop; the last one about this prompt is kept beside it."""
        if self.root.exists():
            before = self.root.with_name(f"{self.root.name}.before")
            shutil.rmtree(before, ignore_errors=True)
            self.root.replace(before)
        self.root.mkdir(parents=True)

    def stand(self, digest: str, standing: Standing) -> None:
        """Write down where the loop stands."""
        _write(self.root / LOOP, {"identity": digest, **vars(standing), "split": standing.split.to_json()})

    # -- its attempts

    def folder(self, number: int) -> Path:
        """The directory of an attempt, made where it is not there; that of 0 is the prompt's own."""
        folder = self.root / f"{number:03}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def keep(self, attempt: Attempt, reason: str = "", cost: Mapping[str, float] | None = None) -> None:
        """Write an attempt down for who reads of it: its text, the diff, how it did, and what it took."""
        folder = self.folder(attempt.number)
        _put(folder / f"prompt{self._prompt.suffix}", attempt.text)
        _put(folder / "prompt.diff", self.diff(attempt.text))
        scores = {id_: told_again(score) for id_, score in attempt.scores.items()}
        told = {"number": attempt.number, "reason": reason, "refused": list(attempt.refused), "scores": scores}
        path = folder / "scores.json"
        if cost is None:  # nothing was asked anew
            cost = (_read(path) or {}).get("cost", {})
        _write(path, {**told, "cost": dict(cost)})

    def diff(self, text: str) -> str:
        """What a text changes of the prompt, as `git` shows it."""
        name = self._prompt.name
        lines = difflib.unified_diff(_lines(self._old), _lines(text), f"a/{name}", f"b/{name}")
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)

    # -- what is remembered: see `Memory`

    def measured(self, number: int, again: int, text: str) -> tuple[list[str], Scores, str]:
        """The items that a text was measured on, their scores, and what kept others from being collected."""
        found = _read(self._measurement(number, again))
        if found is None or found["text"] != text:
            return [], {}, ""
        return list(found["ids"]), scores_of(found["scores"]), str(found["problem"])

    def keep_measured(
        self, number: int, again: int, text: str, ids: Sequence[str], scores: Scores, problem: str
    ) -> None:
        told = {id_: told_again(score) for id_, score in scores.items()}
        _write(self._measurement(number, again), {"text": text, "ids": list(ids), "problem": problem, "scores": told})

    def first(self, scores: Scores) -> Scores:
        """The scores with which the loop began; `scores` where it begins now."""
        known, first, _ = self.measured(0, 0, self._old)
        if not known:
            self.keep_measured(0, 0, self._old, list(scores), scores, "")
        return first if known else scores

    def reply(self, number: int, asked: int) -> str | None:
        """What the rewriter answered to a question, if it was asked."""
        found = _read(self._question(number, asked))
        return None if found is None else str(found["reply"])

    def keep_reply(self, number: int, asked: int, messages: Sequence[tuple[str, str]], reply: str) -> None:
        _write(self._question(number, asked), {"messages": [list(one) for one in messages], "reply": reply})

    def _measurement(self, number: int, again: int) -> Path:
        return self.folder(number) / f"measured{f'-{again}' if again else ''}.json"

    def _question(self, number: int, asked: int) -> Path:
        return self.folder(number) / f"asked-{asked}.json"


def _lines(text: str) -> list[str]:
    """At line feeds alone, as `git` has it."""
    return list(io.StringIO(text, newline="\n"))


def _read(path: Path) -> Any:
    """What a file holds; None where there is none."""
    return json.loads(path.read_bytes().decode(errors="surrogatepass")) if path.exists() else None


def _put(path: Path, text: str) -> None:
    """A file, whole or not at all, with the line ends that the text has; what no text can hold is kept as well."""
    unfinished = path.with_name(f"{path.name}.partial")
    unfinished.write_bytes(text.encode(errors="surrogatepass"))
    unfinished.replace(path)


def _write(path: Path, value: Any) -> None:
    _put(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")
