"""From what a conversation expects to the checks of each turn that its runs generate."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from ..errors import CheckError, FormatErrors, SettingsError
from .base import AnyCheck
from .finish import Whole
from .limits import Price, no_price
from .makers import MAKERS, Asks, Means, makers
from .python import CheckFunction

if TYPE_CHECKING:
    from ..conversation.message import Message
    from ..settings.expect import Expect, ExpectTable


class Mistake(Protocol):
    """Makes the error about a setting (dotted key), with the place where that was set, as `Resolved.mistake` does."""

    def __call__(self, key: str, text: str, hint: str = "") -> SettingsError: ...


def _placeless(key: str, text: str, hint: str = "") -> SettingsError:  # noqa: ARG001  (of the interface)
    return SettingsError(text, hint=hint)


def checks_for(
    expect: Expect,
    turns: Sequence[int],
    *,
    extra: Mapping[str, CheckFunction] | None = None,
    price: Price = no_price,
    asks: Asks | None = None,
    approved: Mapping[int, Message] | None = None,
    approving: bool = False,
    mistake: Mistake = _placeless,
) -> dict[int, tuple[AnyCheck, ...]]:
    """The checks of each turn in `turns`, the indexes that a run generates, in order; every turn has at least one.

    `extra` holds what the conftests' hook adds, each function under its key; `price` says what a reply cost; `asks`
    makes the checks that ask a model; `approved` are the replies that stand at turns which are answered again, and no
    reply is held against them while new ones are `approving`. A conversation that generates nothing is not checked,
    whatever it expects.

    Raises `SettingsError`, or `FormatErrors` with several, for the `[expect.N]` of a reply that is given, and for a
    schema, a function or a check of the hook that cannot be used.
    """
    means = Means(extra or {}, price, asks, approving=approving)
    errors = [*_misnamed(means.extra), *_given(expect, turns, mistake)]
    checks = {}
    for turn in turns:
        of_turn = replace(means, approved=(approved or {}).get(turn))
        checks[turn] = _checks(_tables(expect, turn, turns[-1]), of_turn, mistake, errors)
    if len(errors) > 1:
        raise FormatErrors(errors)
    for error in errors:
        raise error
    return checks


def _tables(expect: Expect, turn: int, last: int) -> dict[str, ExpectTable]:
    """What is expected of the reply at `turn`, by the key of the table that says it."""
    tables = {"expect": expect.last} if turn == last else {}
    return tables | ({f"expect.{turn}": expect.turns[turn]} if turn in expect.turns else {})


def _checks(
    tables: Mapping[str, ExpectTable], means: Means, mistake: Mistake, errors: list[SettingsError]
) -> tuple[AnyCheck, ...]:
    """The checks of one turn; what cannot be made goes to `errors`."""
    checks: list[AnyCheck] = [] if any(table.finish_reason for table in tables.values()) else [Whole()]
    for name, table in tables.items():
        for key, make in makers(table, means):
            try:
                checks.append(make())
            except CheckError as error:
                errors.append(mistake(f"{name}.{key}", f"{name}.{key}: {_where(error)}{error.what}", error.hint))
    return tuple(checks)


def _where(error: CheckError) -> str:
    if error.path is None:
        return ""
    return f"{error.path}: " if error.line is None else f"{error.path}:{error.line}: "


def _given(expect: Expect, turns: Sequence[int], mistake: Mistake) -> Iterator[SettingsError]:
    generated = ", ".join(map(str, turns))
    for index in sorted(set(expect.turns) - set(turns)) if turns else ():
        text = f"[expect.{index}] speaks of a reply that no run generates; generated are: {generated}"
        hint = "`regenerate` makes the bot answer again where an assistant file stands"
        yield mistake(f"expect.{index}", text, hint)


def _misnamed(names: Collection[str]) -> Iterator[SettingsError]:
    for name in sorted({"ignore_case", "calls_order", *MAKERS} & set(names)):
        msg = f"pytest_convo_checks adds {name!r}, which is a key of [expect] already"
        yield SettingsError(msg, hint="give it another name")
