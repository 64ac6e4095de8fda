"""The check of a number: the last one in the reply, within a tolerance.

A number is written with digits, as people and models write them: `1234.5`, `1,234.5`, `1.234,5`, `1'234.5`,
`12,34,567`, `1 234.5` (with a no-break or thin space), `-3`, `−3`, `-$3`, `.5`, `1e6`, `1.5 × 10^6`, `1.5 × 10⁶`. Where
a reading is open, it is the English one: `1,234` is 1234 and `1.234` is not; but `1,5` is 1.5, for no thousands are
meant there. A percent sign or a unit does not count: `50%` is 50. Digits that belong to a word (`A17`, `v2.5`) are no
number; a hyphen after a word or a digit (`10-20`) is no minus. Nothing is calculated: the last number in `3/4` is 4.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext

from ..conversation.reply import Reply
from .base import CheckResult, ReplyCheck
from .show import around, said

_LETTER = "A-Za-zÀ-ɏͰ-ϿЀ-ӿ"
_GAP = "_'’\u00a0\u2009\u202f"
_TOKEN = re.compile(
    rf"""
      (?P<word> [{_LETTER}][{_LETTER}0-9_]*(?:(?<=[0-9])\.[0-9]+)* )
    | (?: (?<![^\W_]) (?<![)\]\-−]) (?P<sign>[-−+]) [$€£¥]? )?
      (?P<digits> \.?[0-9](?:[0-9{_GAP}.,]*[0-9])? )
      (?: [eE](?P<e>[-−+]?[0-9]+)(?![{_LETTER}0-9])
        | \s?(?:×|x|\*|·|\\times|\\cdot)\s?10(?: \^\{{?(?P<power>[-−+]?[0-9]+)\}}? | (?P<raised>[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+) )
      )?
    """,
    re.VERBOSE,
)
_PLAIN = re.compile(r"[0-9]+(?:\.[0-9]+)?|\.[0-9]+")
_GROUPED = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{2,3})*,[0-9]{3}(?:\.[0-9]+)?")
_SPACED = re.compile(rf"[1-9][0-9]{{0,2}}(?:[{_GAP}][0-9]{{3}})+(?:[.,][0-9]+)?")
_CONTINENTAL = re.compile(r"[1-9][0-9]{0,2}(?:\.[0-9]{3})+,[0-9]+|[1-9][0-9]{0,2}(?:\.[0-9]{3}){2,}|[0-9]+,[0-9]+")
_RAISED = str.maketrans("⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹−", "-+0123456789-")
_QUIET = Context(prec=60, traps=[])
"""What is too large to be told is infinite, rather than an exception."""


@dataclass(frozen=True, slots=True)
class Number(ReplyCheck):
    """The last number in the reply is `value`, give or take `within`; both are decimal, so that 1.1 is 1.0 ± 0.1."""

    value: Decimal
    within: Decimal = Decimal(0)
    name = "number"

    def judge(self, reply: Reply) -> CheckResult:
        found = last_number(reply.text)
        wanted = _shown(self.value) + (f" ± {_shown(self.within)}" if self.within else "")
        if found is None:
            return CheckResult.failed(f"there is no number in the reply; expected {wanted}", said(reply.text))
        number, place = found
        if close(number, self.value, self.within):
            return CheckResult.passed()
        expected = f"the last number is {_shown(number)}; expected {wanted}"
        return CheckResult.failed(expected, f"    {around(reply.text, *place)}")


def last_number(text: str) -> tuple[Decimal, tuple[int, int]] | None:
    """The last number of the text and where it stands; None where there is none."""
    last = None
    for last in _numbers(text):  # noqa: B007
        pass
    return None if last is None else (_value(last), last.span())


def close(one: Decimal, other: Decimal, within: Decimal) -> bool:
    """Whether the two are equal, or `within` of each other."""
    with localcontext(_QUIET):
        return one == other or abs(one - other) <= within


def _numbers(text: str) -> Iterator[re.Match[str]]:
    return (match for match in _TOKEN.finditer(text) if match["word"] is None)


def _value(match: re.Match[str]) -> Decimal:
    exponent = (match["e"] or match["power"] or match["raised"] or "0").translate(_RAISED)
    sign = (match["sign"] or "+").translate(_RAISED)
    return _QUIET.create_decimal(f"{sign}{_digits(match['digits'])}e{exponent}")


def _digits(run: str) -> str:
    """The digits of the run as Python reads them; of a run that is no number, those of the last number in it."""
    if _PLAIN.fullmatch(run):
        return run
    if _GROUPED.fullmatch(run):
        return run.replace(",", "")
    if _SPACED.fullmatch(run):
        return re.sub(rf"[{_GAP}]", "", run).replace(",", ".")
    if _CONTINENTAL.fullmatch(run):
        return run.replace(".", "").replace(",", ".")
    return _digits(re.split(rf"[,{_GAP}]" if re.search(rf"[,{_GAP}]", run) else r"\.", run)[-1])


def _shown(number: Decimal) -> str:
    return f"{number:f}" if -20 < number.adjusted() < 20 else str(number)
