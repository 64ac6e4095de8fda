"""`--convo-dry`: every request as it would be sent, and what it is made of; no model is asked and nothing is written.

Context sources are called: without them there is no request.
"""

from __future__ import annotations

import asyncio
import json
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from .._compat import Skipped
from ..check.base import AskingCheck
from ..collect.errors import told
from ..conversation.message import Message
from ..errors import ConvoError
from ..prompt.table import lines
from ..run.session import RUN
from ..run.told import relative

if TYPE_CHECKING:
    from ..bot.model import Around, ChatModel
    from ..prompt.blocks import Block
    from ..prompt.build import Built
    from ..prompt.composer import Summarizer
    from ..prompt.fit import Summarizing
    from ..prompt.request import Request
    from ..run.measure import Spec


_OF_A_HOOK = (Exception, SystemExit, asyncio.CancelledError, Skipped, pytest.fail.Exception)
"""What a conftest's hook, or a source, may raise: one conversation cannot be shown then, and the others can."""


def show(session: pytest.Session) -> None:
    """Print the requests of each selected conversation, once for all its runs: they send the same."""
    writer = session.config.get_terminal_writer()
    seen: dict[str, Spec] = {}
    for item in session.items:
        run = item.stash.get(RUN, None)
        if run is not None and run.spec is not None and run.judged:
            seen.setdefault(run.group.id, run.spec)
    for group, spec in seen.items():
        try:
            for text in requests(spec):
                writer.line(f"{group}: {text}")
        except ConvoError as error:
            writer.line(f"{group}: {told(error, session.config, spec.directory)}")
        except _OF_A_HOOK as error:
            writer.line(f"{group}: {_broken(error, session.config, spec)}")


def requests(spec: Spec) -> Iterator[str]:
    """Each turn's first request, and that of each check that asks a model.

    What the bot will have answered by then stands in it as ‹reply at N›, and a summary as ‹summary of turns 1-6›.
    """
    recipe = replace(spec.recipe, summarizer=_unwritten(spec))
    making = recipe.composer(run=1, bot=spec.settings.bot, tools=spec.declared(), around=_nobody)
    answered: dict[int, tuple[Message, ...]] = {}
    with asyncio.Runner() as runner:  # one loop for all turns: a source may keep what belongs to it
        composer = runner.run(making)
        for index in spec.conversation.turns:
            history = spec.conversation.history(index, answered)
            try:
                built = runner.run(composer.compose(history))
                yield f"request at {index}\n{_shown(spec, built.request)}\n{spec.redactor.text(_made_of(built))}"
            except ConvoError as error:  # later turns may have more room, and checks are another's
                yield f"request at {index}: {spec.redactor.text(str(error))}"
            answered[index] = (Message("assistant", f"‹reply at {index}›"),)
            for check in spec.checks.get(index, ()):
                if isinstance(check, AskingCheck):
                    yield f"{check.name} at {index}\n{_shown(spec, check.preview(f'‹reply at {index}›'))}"


def _broken(error: BaseException, config: pytest.Config, spec: Spec) -> str:
    """What broke, and where, in a line."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    line = relative(f"{frame.filename}:{frame.lineno}: {type(error).__name__}: {error}", config)
    return spec.redactor.text(line)


def _made_of(built: Built) -> str:
    """The table of the parts."""
    budget = built.material.stack.budget
    limit = f"; the budget is {budget.tokens:,}" if budget is not None else ""
    counted = "about " if built.counted_by == "estimate" else ""
    return "\n".join([f"made of {counted}{built.tokens:,} tokens{limit}", *(f"  {line}" for line in lines(built.rows))])


def _unwritten(spec: Spec) -> Callable[[int, Around], Summarizer] | None:
    """Who writes no summaries, and says where they would stand."""
    if (make := spec.recipe.summarizer) is None:
        return None
    return lambda run, around: _Unwritten(make(run, around).how)


@dataclass(frozen=True, slots=True)
class _Unwritten:
    how: Summarizing

    async def summary(self, block: Block, turns: Sequence[Sequence[Message]]) -> str:  # noqa: ARG002
        return f"‹summary of {block}›"


def _nobody(make: Callable[[], ChatModel]) -> ChatModel:
    """No model is asked: whoever would be recorded is handed on."""
    return make()


def _shown(spec: Spec, request: Request) -> str:
    return json.dumps(spec.redactor.deep(request.body()), indent=1, ensure_ascii=False)
