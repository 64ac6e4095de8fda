"""The table of a request: what takes how many tokens, and what became of the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from .blocks import Block
from .fit import NO_ROOM, Material, Selection
from .gauge import READ
from .request import Request
from .table import SENT, Row, Status
from .talk import Messages, spoken, standing

if TYPE_CHECKING:
    from .gauge import Gauge


def rows_of(
    request: Request, material: Material, selection: Selection, texts: Mapping[Block, str], gauge: Gauge
) -> tuple[Row, ...]:
    """A line for each part in the order in which they are sent; the tokens of those that are sent add up to the whole.

    What no part has to itself, as the delimiters between them and what every request begins with, is the overhead.
    """
    rows = [*_of_stack(material, selection, texts, gauge), *_of_talk(material, selection, gauge)]
    if tokens := gauge.tools(material.tools, material.parameters):
        rows.append(Row("tools", _schemas(material), tokens))
    rows.append(Row("overhead", "", gauge.request(request) - sum(row.tokens for row in rows if row.status in SENT)))
    if (budget := material.stack.budget) is not None and budget.reserve:
        rows.append(Row("reserve", "for the answer", budget.reserve, "reserved"))
    return tuple(rows)


def _of_stack(material: Material, selection: Selection, texts: Mapping[Block, str], gauge: Gauge) -> Iterator[Row]:
    for part in material.stack.parts:
        yield Row("system", part.name, gauge.text(part.content))
    for one in selection.context:
        nothing = not one.dropped and not one.text
        status: Status = "dropped" if one.dropped else "empty" if nothing else "sent"
        yield Row("context", one.name, gauge.text(one.text), status, one.dropped or NOTHING * nothing)
    for block in selection.summaries:
        yield Row("summary", str(block), gauge.text(texts[block]))


def _of_talk(material: Material, selection: Selection, gauge: Gauge) -> Iterator[Row]:
    talk = material.talk
    covered = {number for block in selection.summaries for number in range(block.first, block.last + 1)}
    statuses = _statuses(talk.turns, selection.turns)
    for number, status in enumerate(statuses, 1):
        if status == "dropped" and number in covered:
            statuses[number - 1] = "summarized"
    yield from _pieces("history", "turn", talk.turns, selection.turns, statuses, gauge)
    if talk.question:
        yield Row("turn", "question", gauge.messages(talk.question))
    yield from _pieces("turn", "step", talk.steps, selection.steps, _statuses(talk.steps, selection.steps), gauge)


def _statuses(all_of_them: Sequence[Messages], sent: Sequence[Messages]) -> list[Status]:
    gone = len(all_of_them) - len(sent)
    pairs = zip(all_of_them[gone:], sent, strict=True)
    kept: list[Status] = ["sent" if one is other or one == other else "shortened" for one, other in pairs]
    out: list[Status] = ["dropped"]
    return out * gone + kept


def _pieces(
    section: str,
    name: str,
    pieces: Sequence[Messages],
    sent: Sequence[Messages],
    statuses: Sequence[Status],
    gauge: Gauge,
) -> Iterator[Row]:
    """A line for each run of neighbours that fared alike."""
    gone, first = len(pieces) - len(sent), 0
    while first < len(pieces):
        status, last = statuses[first], first
        while last + 1 < len(pieces) and statuses[last + 1] == status:
            last += 1
        out = status not in SENT
        found = [spoken(piece) if out else piece for piece in (pieces if out else sent)[_span(first, last, out, gone)]]
        tokens = sum(map(gauge.messages, found))
        if out and (kept := [one for piece in pieces[first : last + 1] for one in standing(piece)]):
            yield Row(section, f"system messages of {_range(name, first, last)}", gauge.messages(kept))
        yield Row(section, _range(name, first, last), tokens, status, _WHY.get(status, ""))
        first = last + 1


NOTHING = "it has nothing to say"

_WHY: dict[Status, str] = {
    "dropped": NO_ROOM,
    "shortened": "results of tools were cut",
}


def _span(first: int, last: int, out: bool, gone: int) -> slice:
    """Where neighbours are found: of all, or among those that are sent."""
    shift = 0 if out else gone
    return slice(first - shift, last + 1 - shift)


def _range(name: str, first: int, last: int) -> str:
    return f"{name} {first + 1}" if first == last else f"{name}s {first + 1}-{last + 1}"


def _schemas(material: Material) -> str:
    """What the model is told of by schemas: tools, and the form of its answer."""
    number = len(material.tools)
    tools = [f"{number} tool" + ("s" if number != 1 else "")] if number else []
    return ", ".join([*tools, *(name for name in READ if name in material.parameters)])
