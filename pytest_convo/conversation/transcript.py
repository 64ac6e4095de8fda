"""What one run said: the whole conversation, with the turns that the bot answered in it."""

from __future__ import annotations

from dataclasses import dataclass

from .message import Message, ToolCall
from .reply import Reply, Usage, total


@dataclass(frozen=True, slots=True)
class Turn:
    """One answered turn: the reply at `index`, and the messages it consists of.

    `messages` are the bot's calls and the tools' results on the way, and last the final answer.
    """

    index: int
    reply: Reply
    messages: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class Transcript:
    """One run of a conversation: `messages` in order, `turns` the ones that this run generated.

    This is what the `convo` fixture hands to a test.
    """

    messages: tuple[Message, ...]
    turns: tuple[Turn, ...]
    run: int = 1
    case: str | None = None
    seconds: float = 0.0
    """From the first request to the last reply, tools included."""

    @property
    def replies(self) -> tuple[Reply, ...]:
        """The replies of this run, in the order of their turns."""
        return tuple(turn.reply for turn in self.turns)

    @property
    def last(self) -> Reply:
        """The last reply."""
        return self.turns[-1].reply

    @property
    def calls(self) -> list[ToolCall]:
        """Every tool call of every turn, in order."""
        return [call for turn in self.turns for call in turn.reply.calls]

    @property
    def usage(self) -> Usage | None:
        """Tokens of all accepted replies; None where the server did not count."""
        return total(reply.usage for reply in self.replies)

    def turn(self, index: int) -> Turn:
        """The turn that was generated at `index`; `LookupError` names those that were."""
        for turn in self.turns:
            if turn.index == index:
                return turn
        answered = ", ".join(str(turn.index) for turn in self.turns) or "none"
        msg = f"this run generated no reply at index {index}; it generated: {answered}"
        raise LookupError(msg)

    def reply(self, index: int) -> Reply:
        """The reply that was generated at `index`; `LookupError` names those that were."""
        return self.turn(index).reply
