"""A bot that answers from a script, without network."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from ..conversation.reply import Reply
from ..errors import ProviderError
from ..prompt.request import Request
from ..redaction import Redactor
from .faults import Server, fault
from .script import Script, ScriptSource
from .script_answer import Answer
from .script_reading import Reading

NAME = "the scripted bot"


class ScriptedModel:
    """A `ChatModel` for one run of a conversation: what it draws is fixed by script, `seed` and `run`.

    Give all runs of one case the same `seed` (its node id, for instance) and each its number, from 1: the runs then
    share the script's decks, whatever the order and the process in which they are held. Errors are raised as a model
    behind a server raises them.
    """

    def __init__(self, script: ScriptSource, *, seed: str = "", run: int = 1, redactor: Redactor | None = None) -> None:
        self._reading = Reading(Script.of(script), seed, run)
        self._server = Server(NAME, redactor=redactor or Redactor.of_environment())

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], *, seed: str = "", run: int = 1) -> ScriptedModel:
        """A model that answers from the `script.toml` at `path`."""
        return cls(Script.load(path), seed=seed, run=run)

    async def complete(self, request: Request, stream: Callable[[str], None] | None = None) -> Reply:
        """The script's answer to `request`; `ScriptExhausted` where it has none."""
        from asyncio import sleep

        started = time.perf_counter()
        answer = self._reading.answer(request.body()["messages"], str, lambda: request)
        await sleep(answer.reply.latency or 0)
        if answer.error is not None:
            raise fault(answer.error, self._server, status=answer.reply.error, headers=answer.error_headers)
        if stream is not None:
            await _streamed(answer, stream)
        _broken(answer)
        return Reply(
            text=answer.text,
            calls=answer.calls,
            finish_reason=answer.finish_reason,
            usage=answer.usage,
            billed=answer.usage,
            seconds=time.perf_counter() - started,
            model=request.model or "scripted",
        )


async def _streamed(answer: Answer, stream: Callable[[str], None]) -> None:
    from asyncio import sleep

    for number, piece in enumerate(_sent(answer)):
        if number and answer.reply.pause:
            await sleep(answer.reply.pause)
        stream(piece)


def _sent(answer: Answer) -> tuple[str, ...]:
    """The pieces that arrive."""
    if answer.reply.malformed:
        return answer.pieces[: len(answer.pieces) // 2]
    return answer.pieces if answer.reply.cut is None else answer.pieces[: answer.reply.cut]


def _broken(answer: Answer) -> None:
    """Raise `ProviderError` where the reply does not arrive whole."""
    if answer.reply.cut is not None:
        msg = f"the connection broke off after {len(_sent(answer))} of {len(answer.pieces)} pieces of the reply"
        raise ProviderError(msg)
    if answer.reply.malformed:
        msg = "the server sent a reply that is not JSON"
        raise ProviderError(msg)
