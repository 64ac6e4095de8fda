"""The tools of a directory's bot: what conftests give, and the functions that its settings name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..redaction import Redactor
from ..settings.rules import split_python
from .state import GATE, State

if TYPE_CHECKING:
    from ..bot.tools import Tool


def tools_maker(
    state: State, directory: Path, hook: Any, hidden: Redactor, functions: Sequence[Any] = ()
) -> Callable[[int], Sequence[Tool]] | None:
    """Makes the tools for run i: those of conftests, and the functions that the bot's settings name."""
    if not hook.pytest_convo_tools.get_hookimpls() and not functions:
        return None

    def make(run: int) -> Sequence[Tool]:
        from ..bot.tools import make_tools

        named = [functions_of(functions)] if functions else []
        tools = make_tools([*named, *hook.pytest_convo_tools(path=directory, run=run)])
        if (gate := state.config.stash.get(GATE, None)) is None:
            return tools
        from ..bot.gate import gated

        return gated(tools, lambda name, arguments, result: gate(name, hidden.text(arguments), hidden.text(result)))

    return make


def functions_of(given: Sequence[Any]) -> Iterator[Callable[..., Any]]:
    """The functions themselves, of those that are named as `file.py:name`; `CheckError` for one that is not there."""
    from ..check.python import named_in

    for one in given:
        found = split_python(one) if isinstance(one, str) else None
        yield one if found is None else named_in(Path(found[0]), found[1])
