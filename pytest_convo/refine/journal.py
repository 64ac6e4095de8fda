"""What is kept of a loop, `.convo/refine/<name>/`: each attempt in a directory of its own, and where the loop stands.

It is written as the loop goes, each file whole or not at all: a loop that was killed in its fifth attempt has the four
before it, and the next session goes on from there.
"""

from __future__ import annotations

import difflib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from .attempts import Attempt
from .items import Item
from .reading import scores_of, told_again
from .split import Split

LOOP = "loop.json"
"""Where the loop stands."""

_VERSION = 1


@dataclass
class Standing:
    """Where a loop stands, beside its attempts."""

    split: Split
    spent: dict[str, float] = field(default_factory=dict)
    """`usd`, `calls`, `tokens`, over all sessions that went on with it."""
    seconds: float = 0.0
    asked: int = 0
    """Questions to the rewriter."""
    merges: list[list[int]] = field(default_factory=list)
    """Which attempts were made one, and which attempt came of it: `[one, other, merged]`."""
    again: dict[str, Any] = field(default_factory=dict)
    """How the prompt itself did when it was run again, as `told_again` tells it."""
    end: str | None = None


def identity(text: str, items: Sequence[Item], settings: Mapping[str, Any]) -> str:
    """A digest of what a loop is about: with another prompt, other cases or another rewriter it is another loop."""
    about = [
        _VERSION,
        text,
        sorted([item.id, item.unit, list(item.inputs), list(item.expected), item.made_of] for item in items),
        {
            name: value
            for name, value in settings.items()
            if name not in ("attempts", "minutes", "max_calls", "max_usd")
        },
    ]
    return sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]


class Journal:
    """The directory of one loop."""

    def __init__(self, root: Path, old: str, prompt: Path) -> None:
        self.root = root
        self._old = old
        self._prompt = prompt

    def resume(self, digest: str) -> tuple[Standing, list[Attempt]] | None:
        """Where a loop about the same stands, and its attempts; None where there is none."""
        try:
            found = json.loads((self.root / LOOP).read_text(encoding="utf-8"))
            if found.pop("identity") != digest:
                return None
            standing = Standing(**{**found, "split": Split.of_json(found["split"])})
            return standing, self._attempts()
        except (OSError, ValueError, KeyError, TypeError):
            return None  # none, or one that was broken off while it began: nothing is lost

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

    def folder(self, number: int) -> Path:
        """The directory of an attempt; that of 0 is the prompt's own."""
        return self.root / f"{number:03}"

    def keep(self, attempt: Attempt, reason: str = "", cost: Mapping[str, float] | None = None) -> None:
        """Write an attempt down: its text, the diff, why it was written so, how it did, and what it took."""
        folder = self.folder(attempt.number)
        folder.mkdir(parents=True, exist_ok=True)
        _put(folder / f"prompt{self._prompt.suffix}", attempt.text)
        _put(folder / "prompt.diff", self.diff(attempt.text))
        scores = {id_: told_again(score) for id_, score in attempt.scores.items()}
        told = {"number": attempt.number, "reason": reason, "refused": list(attempt.refused), "scores": scores}
        _write(folder / "scores.json", {**told, "cost": dict(cost or {})})

    def reason(self, number: int) -> str:
        """Why an attempt was written so, in the rewriter's words."""
        return str(json.loads((self.folder(number) / "scores.json").read_text(encoding="utf-8"))["reason"])

    def diff(self, text: str) -> str:
        """What a text changes of the prompt, as `git` shows it."""
        name = self._prompt.name
        lines = difflib.unified_diff(_lines(self._old), _lines(text), f"a/{name}", f"b/{name}")
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)

    def _attempts(self) -> list[Attempt]:
        """Those that were written down to their end, in order, as far as none is missing."""
        found: list[Attempt] = []
        while (path := self.folder(len(found) + 1) / "scores.json").exists():
            told = json.loads(path.read_text(encoding="utf-8"))
            text = _get(path.with_name(f"prompt{self._prompt.suffix}"))
            found.append(Attempt(told["number"], text, scores_of(told["scores"]), tuple(told["refused"])))
        return found


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _put(path: Path, text: str) -> None:
    """A file, whole or not at all, with the line ends that the text has."""
    unfinished = path.with_name(f"{path.name}.partial")
    unfinished.write_bytes(text.encode())
    unfinished.replace(path)


def _get(path: Path) -> str:
    return path.read_bytes().decode()


def _write(path: Path, value: Any) -> None:
    _put(path, json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n")
