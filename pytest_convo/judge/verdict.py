"""What a judge answered, read strictly: a verdict that leaves anything open is none."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..agreement.classes import normalise
from ..conversation.reply import Reply
from ..errors import UnusableVerdict
from ..texts import clip, flat, printable

TOOL = "verdict"
"""The name of the tool that a judge calls, where it is asked for its verdict so."""

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "reason": {"type": "string", "description": "why the criterion holds or does not, in one or two sentences"},
        "evidence": {"type": "string", "description": "words copied exactly from what is judged; may be empty"},
        "verdict": {"type": "string", "enum": ["pass", "fail"]},
    },
    "required": ["reason", "evidence", "verdict"],
    "additionalProperties": False,
}
"""The reason comes first: a model that writes it first has thought before it decides."""

_FENCED = re.compile(r"\s*(`{3,}|~{3,})[^\n`]*\n(.*?)\n\1\s*", re.DOTALL)
_MARKS = str.maketrans("", "", "*_`\"'“”„‟«»‹›‘’‚‛＂＇")
"""Marks of Markdown, amid which a quotation may begin, and of quotation, for which JSON has judges write others."""

_ELLIPSIS = re.compile(r"\[?(?:…|\.\.\.)\]?")


@dataclass(frozen=True, slots=True)
class Judgement:
    """One verdict of a judge, with its reason and the words that it goes by."""

    passed: bool
    reason: str
    evidence: str = ""


def read(reply: Reply, held: Sequence[str]) -> Judgement:
    """The verdict in a reply; its evidence must be quoted from one of the texts `held`.

    The reply is one JSON object, alone or in one fenced block, or one call of the tool `verdict`. Raises
    `UnusableVerdict` for anything else: text around it, a key that is missing, unknown or there twice, another word
    than "pass" and "fail", no reason, a quotation that is none, a reply that was cut off.
    """
    try:
        found = _object(reply)
        _require_quoted(found["evidence"], held)
        reason, evidence = (printable(found[key]).strip() for key in ("reason", "evidence"))
        judgement = Judgement(_verdict(found) == "pass", reason, evidence)
    except _Unfit as unfit:
        msg = f"the judge gave no usable verdict: {unfit}"
        raise UnusableVerdict(msg, hint=f"it said: {flat(clip(_said(reply), 300))}") from None
    return judgement


class _Unfit(ValueError):
    """What is wrong with an answer."""


def _object(reply: Reply) -> dict[str, str]:
    """The three texts of the verdict, whatever stands in them."""
    found = _loaded(_json(reply))
    if not isinstance(found, dict):
        msg = "its answer is no JSON object"
        raise _Unfit(msg)
    wanted = SCHEMA["properties"].keys()
    if found.keys() != wanted:
        missing, unknown = sorted(wanted - found.keys()), sorted(found.keys() - wanted)
        wrong = [f"{', '.join(missing)} missing"] * bool(missing) + [f"{', '.join(unknown)} unknown"] * bool(unknown)
        msg = f"its answer has other keys than reason, evidence and verdict ({'; '.join(wrong)})"
        raise _Unfit(flat(clip(msg, 200)))
    texts: dict[str, str] = {key: value for key, value in found.items() if isinstance(value, str)}
    if len(texts) < len(found) or not texts["reason"].strip():
        msg = "its reason is empty, or something in its answer is no text"
        raise _Unfit(msg)
    return texts


def _json(reply: Reply) -> str:
    """The JSON text of the answer, with nothing beside it."""
    if not reply.whole:
        msg = f'its answer was cut off (finish_reason "{reply.finish_reason}")'
        raise _Unfit(msg)
    if not reply.calls:
        match = _FENCED.fullmatch(reply.text)
        return reply.text if match is None else match[2]
    if len(reply.calls) > 1 or reply.calls[0].name != TOOL:
        msg = f"it called {', '.join(call.name for call in reply.calls[:5])}, where one call of {TOOL} was asked for"
        raise _Unfit(flat(clip(msg, 200)))
    if reply.text.strip():
        msg = "it called the tool and wrote a text as well"
        raise _Unfit(msg)
    return reply.calls[0].arguments


def _loaded(text: str) -> Any:
    if not text.strip():
        msg = "its answer is empty"
        raise _Unfit(msg)
    try:
        return json.loads(text, object_pairs_hook=_without_doubles)
    except (ValueError, RecursionError) as error:
        if isinstance(error, _Unfit):
            raise
        msg = "its answer is not JSON alone"
        raise _Unfit(msg) from None


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        msg = "a key of its answer is there twice"
        raise _Unfit(msg)
    return table


def _verdict(found: dict[str, str]) -> str:
    if found["verdict"] not in ("pass", "fail"):
        msg = f'its verdict is neither "pass" nor "fail" but {flat(clip(repr(found["verdict"]), 80))}'
        raise _Unfit(msg)
    return found["verdict"]


def _require_quoted(evidence: str, held: Sequence[str]) -> None:
    """Every piece of the quotation, in order, stands in one of the texts; letter case and typography do not count."""
    pieces = [piece for part in _ELLIPSIS.split(evidence) if (piece := _levelled(part))]
    if pieces and not any(_stand_in(pieces, _levelled(text)) for text in held):
        msg = f"its evidence is no quotation from what it judged: {flat(clip(evidence, 120))!r}"
        raise _Unfit(msg)


def _stand_in(pieces: Sequence[str], text: str) -> bool:
    position = 0
    for piece in pieces:
        position = _place(piece, text, position)
        if position < 0:
            return False
        position += len(piece)
    return True


def _place(piece: str, text: str, start: int) -> int:
    """Where the piece stands first, from `start`; -1 where nowhere. A part of a number is none: 30 is not in 130."""
    place = text.find(piece, start)
    while place >= 0 and (_is_amid_number(text, place) or _is_amid_number(text, place + len(piece))):
        place = text.find(piece, place + 1)
    return place


def _is_amid_number(text: str, place: int) -> bool:
    return 0 < place < len(text) and text[place - 1 : place + 1].isdecimal()


def _levelled(text: str) -> str:
    return normalise(text.translate(_MARKS))


def _said(reply: Reply) -> str:
    return reply.text or "\n".join(f"{call.name}({call.arguments})" for call in reply.calls) or "nothing"
