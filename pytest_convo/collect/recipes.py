"""How the requests of a directory's bots are made: its prompt files, its context sources, and who summarizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..bot.recipe import Recipe
from ..conversation.text import read_text
from ..layout import RECORDINGS
from ..prompt.part import Part
from ..prompt.stack import Budget, Stack
from ..redaction import Redactor
from ..settings.files import nearest
from ..settings.prompts import LEAST, SUMMARY
from .models import other_maker
from .prompts import prompt_files
from .state import State

if TYPE_CHECKING:
    from ..bot.model import Around
    from ..prompt.composer import Summarizer
    from ..prompt.source import Source
    from ..settings.bots import OtherSettings
    from ..settings.model import Settings

SHARE = 16
"""The share of the budget that a summary may have, where nothing else is said: there are up to a dozen of them."""

WORDS = 0.6
"""Words to a token: OpenAI's rule of thumb is 0.75 for English, and other languages take more."""


def recipe(state: State, directory: Path, case: str | None, settings: Settings, hook: Any, hidden: Redactor) -> Recipe:
    """The recipe of a directory's bot, or of one case of it; `ConvoError` for a prompt file that cannot be used."""
    own = task_recipe(state, directory, settings, hook)
    return replace(own, summarizer=_summarizer(state, directory, case, settings, hook, hidden))


def task_recipe(state: State, directory: Path, settings: Settings, hook: Any) -> Recipe:
    """The recipe of a task's bot: there are no earlier turns that somebody could summarize."""
    return Recipe(stack_of(state, directory, settings), sources_maker(directory, hook))


def stack_of(state: State, directory: Path, settings: Settings) -> Stack:
    """The prompt stack that the settings make: a part for each prompt file, named as it is."""
    said, files = settings.prompt, prompt_files(state, directory, settings)
    return Stack(parts_of(files, settings), said.style, Budget.of(said, settings.bot, said.on_overflow), said.tokenizer)


def parts_of(files: Sequence[Path], settings: Settings) -> tuple[Part, ...]:
    """What stands in prompt files, rendered where they are templates; one in which nothing stands is no part."""
    parts = (Part(path.name, read_text(path, variables=settings.vars, template=path.suffix == ".j2")) for path in files)
    return tuple(part for part in parts if part.content)


def sources_maker(directory: Path, hook: Any) -> Callable[[], Sequence[Source]] | None:
    """Makes the context sources of conftests, the nearest conftest's last; None where there are none."""
    if not hook.pytest_convo_context_sources.get_hookimpls():
        return None

    def make() -> Sequence[Source]:
        from ..prompt.source import sources_of

        given = hook.pytest_convo_context_sources(path=directory)
        return sources_of(
            [source for several in reversed(given) if several is not None for source in sources_of(several)]
        )

    return make


def other_stack(settings: Settings, who: OtherSettings, table: str) -> Stack:
    """What is told first to somebody who is asked beside the bot, and the budget of it; nothing of it is trimmed."""
    budget = Budget.of(who, who.of(settings.bot), table=table)
    return Stack(parts_of(who.system, settings), budget=budget, counting=settings.prompt.tokenizer)


def _summarizer(
    state: State, directory: Path, case: str | None, settings: Settings, hook: Any, hidden: Redactor
) -> Callable[[int, Around], Summarizer] | None:
    """Makes who summarizes in each run; what one has written the others need not write again."""
    said, own = settings.prompt, settings.summarize
    if said.budget is None or said.on_overflow != "summarize":
        return None
    from ..bot import summarizer
    from ..bot.factory import SUMMARY_SCRIPT
    from ..prompt.fit import Summarizing
    from ..record.summaries import Summaries

    bot = own.of(settings.bot)
    how = Summarizing(own.turns, own.tokens or max(LEAST, said.budget // SHARE))
    path = own.prompt or nearest(SUMMARY, directory, state.config.rootpath)
    given = {"words": int(how.cap * WORDS), "vars": settings.vars}
    ours = Path(summarizer.__file__).with_name(SUMMARY)
    told = Part((path or ours).name, read_text(path or ours, variables=given, template=True))
    stack = other_stack(settings, own, "summarize").then(told)
    if stack.budget is None:
        stack = replace(stack, budget=Budget(said.budget, how.cap, table="summarize"))
    make = other_maker(state, settings, bot, directory, case, hook, hidden, script=SUMMARY_SCRIPT)
    make(1)
    writes = state.fresh is None and (state.options.write or state.options.record in ("new", "all"))
    here = directory, hidden  # one for all who ask here: the conversation, its cases, and tests beside it
    if here not in state.desks:
        state.desks[here] = summarizer.Desk(Summaries(directory / RECORDINGS, hidden, writes=writes))
    desk = state.desks[here]
    return lambda run, around: summarizer.BotSummarizer(lambda: make(run), around, bot, stack, how, desk)
