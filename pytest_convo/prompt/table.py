"""What a request is made of, part by part, as people read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

Status = Literal["sent", "shortened", "summarized", "dropped", "empty", "reserved"]
SENT: frozenset[Status] = frozenset({"sent", "shortened", "empty", "reserved"})


@dataclass(frozen=True, slots=True)
class Row:
    """One part: where it stands, its name, its tokens, what became of it, and why."""

    section: str
    name: str
    tokens: int
    status: Status = "sent"
    why: str = ""

    def told(self) -> Mapping[str, Any]:
        """As builtins, for reports."""
        return {key: value for key, value in asdict(self).items() if value != ""}


def lines(rows: Iterable[Row]) -> list[str]:
    """A line for each part, in columns, the tokens of what is left out in brackets."""
    cells = [
        (row.section, _flat(row.name), f"{row.tokens:,}" if row.status in SENT else f"({row.tokens:,})", _what(row))
        for row in rows
    ]
    first, second, third = (max((len(row[at]) for row in cells), default=0) for at in range(3))
    return [f"{a:{first}}  {b:{second}}  {c:>{third}}  {d}".rstrip() for a, b, c, d in cells]


def _what(row: Row) -> str:
    status = "" if row.status == "sent" else row.status
    return ": ".join(filter(None, (status, _flat(row.why))))


def _flat(text: str) -> str:
    """A name, or what an error says, on one line."""
    return " ".join(text.split())
