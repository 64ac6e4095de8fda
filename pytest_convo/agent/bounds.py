"""What a model is told of a command that ended: bounded, labelled, and the same whenever the same happened."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..sandbox.base import CommandResult

LIMIT = 16_000
"""How many characters of a command's output a model is told."""

_COUNTED = re.compile(r"\[\.\.\. \d+ bytes omitted \.\.\.\]")
_AND_ALL = "everything that ran in the sandbox was killed with it"


def bounded(text: str, limit: int = LIMIT) -> str:
    """The text, or `limit` characters of it, head and tail, with a line between them that counts the others."""
    omitted = len(text) - limit
    return text if omitted <= 0 else _cut(text, limit, f"[... {omitted} characters omitted ...]")


def told(result: CommandResult, seconds: float) -> str:
    """What `result` is to a model whose command had `seconds`: what was written, stream by stream, and how it ended.

    Nothing in it was measured: where a command was killed, what it had written until then is not counted. So a
    request that has this text is found again in a recording.
    """
    written = {"stdout": result.output, "stderr": result.error}
    longest = _fair(len(result.output), len(result.error))
    streams = [f"{name}:\n{_shown(text, longest, result)}" for name, text in written.items() if text]
    ending = _ending(result, seconds)
    if not streams and ending is None:
        return "ended with 0, nothing was written"
    return "\n".join([*streams, *([ending] if ending is not None else [])])


def _ending(result: CommandResult, seconds: float) -> str | None:
    nothing = "" if result.output or result.error else ", nothing was written"
    if result.timed_out or result.killed == "timeout":
        return f"killed after {seconds:g} s: its time was up; {_AND_ALL}"
    if result.killed == "output_limit":
        return f"killed: it wrote more than a command may; {_AND_ALL}"
    if result.killed is not None:
        return f"killed; {_AND_ALL}"
    return f"ended with {result.return_code}{nothing}" if result.return_code != 0 else None


def _shown(text: str, limit: int, result: CommandResult) -> str:
    text = text.removesuffix("\n")
    if result.killed is None and not result.timed_out:
        return bounded(text, limit)
    uncounted = _COUNTED.sub("[... omitted ...]", text) if result.truncated else text
    return uncounted if len(uncounted) <= limit else _cut(uncounted, limit, "[... omitted ...]")


def _cut(text: str, limit: int, mark: str) -> str:
    tail = limit // 2
    return f"{text[: limit - tail]}\n{mark}\n{text[len(text) - tail :]}"


def _fair(one: int, other: int) -> int:
    """How long each of two texts may be: half of the limit, or what the shorter leaves."""
    return max(LIMIT // 2, LIMIT - min(one, other))
