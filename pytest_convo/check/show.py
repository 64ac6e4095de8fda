"""What a failure quotes: passages of a reply, with the place marked, and bounded blocks and lists of lines."""

from __future__ import annotations

from collections.abc import Sequence

from ..texts import clip, flat, visible

_CHARS = 600
_LINES = 16


def clip_lines(lines: Sequence[str], limit: int = _LINES) -> list[str]:
    """The lines, or the first and the last of them with the number of lines between them."""
    if len(lines) <= limit:
        return list(lines)
    head, tail = limit * 2 // 3, limit - limit * 2 // 3
    return [*lines[:head], f"…{len(lines) - limit:,} more lines…", *lines[-tail:]]


def quoted(text: str, limit: int = 80) -> str:
    """The text in quotation marks, on one line."""
    return f'"{flat(clip(text, limit))}"'


def around(text: str, start: int, end: int, *, margin: int = 60) -> str:
    """The passage from `start` to `end` in « », on one line, with `margin` characters of what surrounds it."""
    first, last = max(0, start - margin), min(len(text), end + margin)
    before = ("…" if first > 0 else "") + flat(text[first:start])
    after = flat(text[end:last]) + ("…" if last < len(text) else "")
    return f"{before}«{flat(clip(text[start:end], 4 * margin))}»{after}"


def said(text: str, limit: int = _CHARS) -> str:
    """The reply as an indented block, at most `limit` characters of it, head and tail."""
    if not text.strip():
        return f"  the reply: {quoted(text)}"
    lines = clip_lines(visible(clip(text.removesuffix("\n"), limit)).split("\n"))
    return "\n".join(["  the reply:", *(f"    | {line}".rstrip() for line in lines)])


def indented(text: str) -> str:
    """Each line of the text, indented as the lines of a reason are."""
    return "\n".join(f"    {line}".rstrip() for line in text.split("\n"))


def listed(lines: Sequence[str], limit: int = 5) -> str:
    """The lines, indented; of more than `limit` the first ones and how many more there are. Nothing of nothing."""
    more = [f"and {len(lines) - limit:,} more"] if len(lines) > limit else []
    return "\n".join(f"    {line}" for line in [*lines[:limit], *more])
