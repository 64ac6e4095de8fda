"""What a tool answered when a run was recorded."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from ..conversation.message import ToolCall
from ..conversation.reply import Reply
from .digest import Entry, digest_of, message_text
from .exchange import Exchange


def recorded_result(call: ToolCall, calling: Exchange, recorded: Sequence[Exchange]) -> str | None:
    """The digest of the result of a `call` that the reply in `calling` makes; None where none was recorded.

    It stands in a later request: one that begins with the messages of `calling`, goes on with its reply, and then with
    the results of the reply's calls.
    """
    if not isinstance(calling.answer, Reply):
        return None
    reply = digest_of(message_text(calling.answer.to_message().to_api()))
    said = [*calling.outline.messages, Entry("assistant", reply)]
    number = next(number for number, exchange in enumerate(recorded) if exchange is calling)
    for exchange in recorded[number + 1 :]:
        messages = exchange.outline.messages
        if list(messages[: len(said)]) == said:
            for entry in takewhile(lambda entry: entry.role == "tool", messages[len(said) :]):
                if entry.tool_call_id == call.id:
                    return entry.part
    return None
