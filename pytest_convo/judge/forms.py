"""In which form a verdict is asked for: by a JSON schema, by a tool that must be called, or in words alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from ..bot.model import Around, ChatModel, replied
from ..conversation.message import Message
from ..conversation.reply import Reply
from ..errors import FormRefused, ProviderError
from ..prompt.build import build
from ..prompt.part import Part
from ..prompt.request import Request, ToolSpec
from ..prompt.stack import Stack
from .question import Question
from .verdict import SCHEMA, TOOL

if TYPE_CHECKING:
    from ..settings.bots import BotSettings

Form = Literal["schema", "tool", "text"]
Output = Literal["auto", "schema", "tool", "text"]

FORMS: tuple[Form, ...] = ("schema", "tool", "text")
"""In the order in which they are tried."""

REFUSALS = frozenset({400, 404, 415, 422, 501})
"""How servers answer to a field of a request that they do not know."""

Place = tuple[str | None, str | None, Form]
"""A server, a model, and a form of asking it."""


async def ask(
    question: Question,
    bot: BotSettings,
    output: Output,
    make: Callable[[], ChatModel],
    around: Around,
    refused: set[Place],
    stack: Stack,
) -> Reply:
    """The judge's answer, asked for as `output` says; "auto" tries one form after the other until one is taken.

    What a server refuses is entered in `refused` and not sent again, but the refusal is recorded with each run as if it
    had been: a replay, which knows nothing of the server, then goes the same way.
    """
    *others, last = FORMS if output == "auto" else (output,)
    for form in others:
        place = (bot.base_url, bot.model, form) if bot.provider == "openai" else None
        try:
            return await _answer(
                around(partial(_Taking, make, form, place, refused)), request(question, bot, form, stack)
            )
        except FormRefused:
            continue
    return await _answer(around(make), request(question, bot, last, stack))


async def _answer(model: ChatModel, request: Request) -> Reply:
    return replied(model, await model.complete(request))


def request(question: Question, bot: BotSettings, form: Form, stack: Stack) -> Request:
    """The request for a verdict; what `[judge.request]` sets of these fields stands.

    `stack` says who the judge is, before what it is asked, and how long a request may be: `PromptOverflow`.
    """
    tools = (ToolSpec(TOOL, "gives the verdict", SCHEMA),) if form == "tool" else ()
    told, data = stack.then(Part("judge", question.instructions)), [Message("user", question.data)]
    asked = bot.model_copy(update={"request": {**_PARAMETERS[form], **bot.request}})
    return build(stack=told, history=data, tools=tools, bot=asked).request


_PARAMETERS: dict[Form, dict[str, Any]] = {
    "schema": {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": TOOL, "strict": True, "schema": SCHEMA},
        }
    },
    "tool": {"tool_choice": {"type": "function", "function": {"name": TOOL}}},
    "text": {},
}


@dataclass(frozen=True, slots=True)
class _Taking:
    """A model behind a server that may not take a form: then it raises `FormRefused`, the second time unasked."""

    make: Callable[[], ChatModel]
    form: Form
    place: Place | None
    """What is remembered of it; None where nobody knows which server answers."""
    refused: set[Place]

    async def complete(self, request: Request, stream: Callable[[str], None] | None = None) -> Reply:
        if self.place in self.refused:
            raise _refusal(self.form)
        try:
            return await self.make().complete(request, stream)
        except ProviderError as error:
            if error.status not in REFUSALS:
                raise
        if self.place is not None:
            self.refused.add(self.place)
        raise _refusal(self.form)


def _refusal(form: Form) -> FormRefused:
    return FormRefused(f'the server does not take output = "{form}"')
