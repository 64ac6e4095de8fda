"""The one way in which requests are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..conversation.message import Message
from ..errors import SettingsError
from .request import Request, ToolSpec

if TYPE_CHECKING:
    from ..settings.bots import BotSettings

_OURS = {
    "messages": "they are made from the conversation's files",
    "model": "set `model` in [bot]",
    "n": "set `runs` for several answers",
    "stream": "an answer is streamed where somebody listens",
}


def build(*, system: str | None, history: Sequence[Message], tools: Sequence[ToolSpec], bot: BotSettings) -> Request:
    """The request for the next answer: the system prompt, the conversation so far, the tools, the parameters.

    `temperature` and what `[bot.request]` holds are sent exactly as given; what is not given is not sent. A field
    that is ours to fill, or is given twice, is a `SettingsError`.
    """
    parameters = _parameters(bot, tools)
    prompt = (Message("system", system),) if system else ()
    return Request(bot.model, (*prompt, *history), tuple(tools), parameters)


def _parameters(bot: BotSettings, tools: Sequence[ToolSpec]) -> dict[str, Any]:
    clashes = dict(_OURS)
    if bot.temperature is not None:
        clashes["temperature"] = "it is set in [bot] as well"
    if tools:
        clashes["tools"] = "a conftest.py gives tools by pytest_convo_tools as well"
    for name, why in clashes.items():
        if name in bot.request:
            msg = f"[bot.request] must not hold {name!r}: {why}"
            raise SettingsError(msg)
    given = {} if bot.temperature is None else {"temperature": bot.temperature}
    return given | dict(bot.request)
