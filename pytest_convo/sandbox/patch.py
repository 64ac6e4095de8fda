"""One file of a unified diff, as git writes it and `git apply` reads it."""

from __future__ import annotations

import difflib
import io
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

NOTHING = "/dev/null"

MOST_LINES = 2000
"""Lines that are compared, on each side; longer stretches have changed as a whole: comparing takes their square."""

ESCAPES = {mark: repr(mark)[1:-1] for mark in "\t\n\r\\"} | {'"': '\\"'}

Operation = tuple[Literal["replace", "delete", "insert", "equal"], int, int, int, int]
"""As difflib has them: what happened to which lines, from and to, of either side."""


@dataclass(frozen=True, slots=True)
class Side:
    """A file as it was or is: its mode with the type, and its contents; None where they are not to be shown."""

    mode: int
    content: bytes | None


def section(path: str, before: Side | None, after: Side | None) -> str:
    """What happened to the file at `path`; None for the side on which there is none."""
    if before and after and stat.S_IFMT(before.mode) != stat.S_IFMT(after.mode):
        return section(path, before, None) + section(path, None, after)  # a link in the place of a file, or vice versa
    old, new = quoted(f"a/{path}"), quoted(f"b/{path}")
    lines = [f"diff --git {old} {new}\n", *_modes(before, after)]
    then, now = (side.content if side else b"" for side in (before, after))
    if then != now or then is None:
        names = old if before else NOTHING, new if after else NOTHING
        lines += _differences(names, (_lines(then), _lines(now)))
    return "".join(lines)


def quoted(name: str) -> str:
    """A name as git has it: in quotes and with C's escapes where it would not fit into a line, or is no UTF-8."""
    text = "".join(map(_escaped, name))
    return name if text == name else f'"{text}"'


def _escaped(mark: str) -> str:
    if mark in ESCAPES:
        return ESCAPES[mark]
    return mark if mark.isprintable() else "".join(f"\\{byte:03o}" for byte in mark.encode(errors="surrogateescape"))


def _modes(before: Side | None, after: Side | None) -> list[str]:
    old, new = (f"{_shown_mode(side.mode):o}" if side else "" for side in (before, after))
    if not (old and new):
        return [f"new file mode {new}\n" if new else f"deleted file mode {old}\n"]
    return [f"old mode {old}\n", f"new mode {new}\n"] if old != new else []


def _shown_mode(mode: int) -> int:
    return stat.S_IFLNK if stat.S_ISLNK(mode) else mode  # a link's permissions mean nothing


def _lines(content: bytes | None) -> list[str] | None:
    """A text's lines, each with the newline at its end; None for what is no text."""
    if content is None or b"\0" in content:
        return None
    try:
        return io.StringIO(content.decode(), newline="\n").readlines()
    except UnicodeDecodeError:
        return None


def _differences(names: tuple[str, str], texts: tuple[list[str] | None, list[str] | None]) -> list[str]:
    old, new = texts
    if old is None or new is None:
        return [f"Binary files {names[0]} and {names[1]} differ\n"]
    # Where a name holds a space, patch takes it to end at a tab.
    before, after = (f"{name}\t" if " " in name else name for name in names)
    return [f"--- {before}\n", f"+++ {after}\n", *_hunks(old, new)]


def _hunks(old: list[str], new: list[str]) -> Iterator[str]:
    for operations in _Matched(None, old, new).get_grouped_opcodes():
        (_, i, _, j, _), (_, _, i_end, _, j_end) = operations[0], operations[-1]
        yield f"@@ -{_range(i, i_end)} +{_range(j, j_end)} @@\n"
        for kind, i, i_end, j, j_end in operations:
            if kind == "equal":
                yield from _marked(" ", old[i:i_end])
            else:
                yield from _marked("-", old[i:i_end])
                yield from _marked("+", new[j:j_end])


def _range(start: int, end: int) -> str:
    """Lines from 1; of none, the line before."""
    return f"{start + 1 if end > start else start},{end - start}"


def _marked(mark: str, lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield mark + line if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"


class _Matched(difflib.SequenceMatcher[str]):
    """Compares what is between the first and the last difference only: on the whole, most of a file is the same."""

    a: list[str]
    b: list[str]

    def get_opcodes(self) -> list[Operation]:
        old, new = self.a, self.b
        above = _shared(old, new)
        below = _shared(old[above:][::-1], new[above:][::-1])
        middle = old[above : len(old) - below], new[above : len(new) - below]
        found: list[Operation] = [("replace", 0, len(middle[0]), 0, len(middle[1]))]
        if max(map(len, middle)) <= MOST_LINES:
            found = difflib.SequenceMatcher(None, *middle).get_opcodes()
        shifted = [(kind, i + above, i_end + above, j + above, j_end + above) for kind, i, i_end, j, j_end in found]
        last: Operation = ("equal", len(old) - below, len(old), len(new) - below, len(new))
        return [("equal", 0, above, 0, above), *shifted, last]


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines are the same from the first on."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))
