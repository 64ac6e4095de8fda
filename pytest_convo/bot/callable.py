"""A user's own application as the model: a function from the messages to the answer."""

from __future__ import annotations

import inspect
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..conversation.reply import Reply
from ..errors import ConvoError, HarnessError
from ..prompt.request import Request
from ..redaction import Redactor
from .faults import Server
from .threads import in_thread, name_of
from .tools import is_async
from .wire import identified, message_reply


class CallableModel:
    """A `ChatModel` that asks `function`, sync (in a daemon thread) or async (on the loop).

    It is given the messages as the chat-completions API has them, the system prompt first; or, where its first
    parameter is named `request` or annotated `Request`, the whole `Request`. It returns the text of the answer, a
    message as the API has it (with `tool_calls`, for instance), or a `Reply`.
    """

    def __init__(
        self, function: Callable[..., Any], *, name: str | None = None, redactor: Redactor | None = None
    ) -> None:
        self.name = name or name_of(function)
        self._server = Server(self.name, redactor=redactor or Redactor.of_environment())
        self._function = function
        self._takes_request = _takes_request(function)

    async def complete(self, request: Request, stream: Callable[[str], None] | None = None) -> Reply:
        """The application's answer; `HarnessError`, with its file and line, for an exception that it raises."""
        begin = time.perf_counter()
        answer = await self._ask(request if self._takes_request else request.body()["messages"])
        reply = self._reply(answer)
        if stream is not None and reply.text:
            stream(reply.text)
        return replace(
            reply,
            calls=identified(reply.calls, request.messages),
            seconds=reply.seconds or time.perf_counter() - begin,
            model=reply.model or self.name,
        )

    async def _ask(self, question: Any) -> Any:
        try:
            if is_async(self._function):
                return await self._function(question)
            answer = await in_thread(self._function, question, name=self.name)
            return await answer if inspect.isawaitable(answer) else answer
        except ConvoError:
            raise
        except Exception as error:
            raise _crashed(self.name, error) from error

    def _reply(self, answer: Any) -> Reply:
        if isinstance(answer, str):
            return Reply(answer)
        if isinstance(answer, Reply):
            return answer
        if isinstance(answer, dict):
            return message_reply(answer, self._server, finish_reason=answer.get("finish_reason", "stop"))
        msg = f"{self.name} returned {type(answer).__name__}, not a text, a message or a Reply"
        raise HarnessError(msg, hint='a message is {"role": "assistant", "content": "..."}')


def _takes_request(function: Callable[..., Any]) -> bool:
    first = next(iter(inspect.signature(function).parameters.values()), None)
    return first is not None and (first.name == "request" or first.annotation in (Request, Request.__name__))


def _crashed(name: str, error: Exception) -> HarnessError:
    """The error that points at the last line of the application itself."""
    here = Path(__file__).parent
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).parent != here]
    what = f"{name} raised {type(error).__name__}: {error}"
    return HarnessError(what, path=frames[-1].filename, line=frames[-1].lineno) if frames else HarnessError(what)
