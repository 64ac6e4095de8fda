"""The model behind an OpenAI-compatible server, through the official SDK's client.

The SDK gives the way to the server: authentication, headers, addresses, timeouts, connections. What it sends is read
here: its own types take two thirds of the time of a short request, and pass truncated streams for whole ones.
"""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from ..conversation.reply import Reply, Usage, total
from ..errors import NoCredentials, ProviderError, SettingsError
from ..prompt.request import Request
from ..redaction import Redactor
from .clients import DEFAULT_URL, Transport, shared_client
from .deltas import Stream
from .faults import Server, fault
from .retry import PROCESS_PAUSES, Gate, Retry, passed, refusal
from .wire import identified, read_reply

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

PATH = "/chat/completions"
NO_KEY = "no-key-needed"
"""Sent where a server needs no key: the SDK insists on one."""

DRAIN = 0.1
"""Seconds to wait for the end of a stream after its [DONE], so that the connection can be used again."""


class OpenAIModel:
    """A `ChatModel` on an OpenAI-compatible server.

    `base_url` None is the SDK's own, and needs a key; `variable` is the one that the user would set it in. `timeout`
    is that of one silence of the server, in seconds. A `client` of one's own (`AsyncAzureOpenAI`, for instance)
    takes the place of these, and is its owner's to close; its own retries are off, ours apply. What a server says is
    told without what `redactor` takes out.
    """

    def __init__(
        self,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        variable: str = "OPENAI_API_KEY",
        timeout: float = 600.0,
        retry: Retry | None = None,
        pauses: Gate | None = None,
        transport: Transport | None = None,
        client: AsyncOpenAI | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        self.base_url = _checked(base_url)
        self.timeout = timeout
        self._own = client
        self._transport = transport
        self._retry = retry or Retry()
        self._pauses = pauses or PROCESS_PAUSES
        self.address = str(client.base_url) if client is not None else base_url or DEFAULT_URL
        key = client.api_key if client is not None else api_key
        name = urlsplit(self.address).netloc.rpartition("@")[2]
        self._server = Server(name, key, variable, redactor or Redactor.of_environment())
        self._asks_usage = True

    async def complete(self, request: Request, stream: Callable[[str], None] | None = None) -> Reply:
        """The server's answer; it is streamed only where somebody listens, which costs more.

        Where an attempt breaks off, the next one gives `stream` its text from the beginning; observers hear `retry`
        in between. `seconds` are those of the attempt that succeeded. Raises `NoCredentials` before anything is
        sent, `ContextOverflow`, `BotFailure` (content filter), and `ProviderError` for all else.
        """
        return await self.complete_through(request, stream, self._pauses)

    async def complete_through(self, request: Request, stream: Callable[[str], None] | None, gate: Gate) -> Reply:
        """As `complete`, with every attempt passing `gate`, which may raise errors of its own."""
        client = self._client()
        body = request.body()
        billed: list[Usage | None] = []
        once = partial(self._attempt, client, body, stream, gate, billed)
        reply, attempts = await self._retry.run(once, gate)
        calls = identified(reply.calls, request.messages)
        return replace(reply, calls=calls, attempts=attempts, billed=total(billed))

    async def _attempt(
        self,
        client: AsyncOpenAI,
        body: dict[str, Any],
        stream: Callable[[str], None] | None,
        gate: Gate,
        billed: list[Usage | None],
    ) -> Reply:
        """Ask once; what it is known to have taken, however it ends, is booked and added to `billed`."""
        begin, before = time.perf_counter(), len(billed)
        try:
            if stream is None:
                reply = await self._plain(client, body)
            else:
                reply = await self._streamed(client, body, stream, billed, gate)
        except BaseException as error:
            begun = billed[before:]
            gate.book(total(begun) if begun else refusal(error))
            raise
        billed.append(reply.usage)
        gate.book(reply.usage, reply)
        return replace(reply, seconds=time.perf_counter() - begin)

    def _client(self) -> AsyncOpenAI:
        if self._own is not None:
            return self._own
        if self._server.key is None and self.base_url is None:
            msg = f"{self._server.name} needs a key, and {self._server.variable} is not set"
            raise NoCredentials(
                msg, hint=f"export {self._server.variable}, or set base_url in [bot] for a local server"
            )
        if self._server.key is not None and not self._server.key.isascii():
            msg = f"{self._server.variable} holds characters that no header can carry"
            raise NoCredentials(msg, hint="copy the key anew")
        return shared_client(self.base_url, self._server.key or NO_KEY, self.timeout, self._transport)

    async def _plain(self, client: AsyncOpenAI, body: dict[str, Any]) -> Reply:
        import httpx2

        with self._faults():
            response = await client.post(PATH, cast_to=httpx2.Response, body=body, options={"max_retries": 0})
        return read_reply(response.content, self._server)

    async def _streamed(
        self,
        client: AsyncOpenAI,
        body: dict[str, Any],
        stream: Callable[[str], None],
        spent: list[Usage | None],
        gate: Gate,
    ) -> Reply:
        response = await self._open(client, {**body, "stream": True}, gate)
        try:
            if "event-stream" in response.headers.get("content-type", ""):
                return await self._listen(response, stream, spent)
            with self._faults():
                reply = read_reply(await response.aread(), self._server)
            stream(reply.text)
            return reply
        finally:
            await response.aclose()

    async def _open(self, client: AsyncOpenAI, body: dict[str, Any], gate: Gate) -> httpx2.Response:
        """Begin a stream, with the usage at its end unless the server does not know how."""
        import httpx2
        from openai import APIStatusError, AsyncStream

        asks = self._asks_usage and "stream_options" not in body
        sent = {**body, "stream_options": {"include_usage": True}} if asks else body
        with self._faults():
            try:
                stream = client.post(
                    PATH,
                    cast_to=httpx2.Response,
                    body=sent,
                    options={"max_retries": 0},
                    stream=True,
                    stream_cls=AsyncStream[Any],
                )
                # Given this type to cast to, the SDK returns the response as it is, with its body still to come.
                return cast("httpx2.Response", await stream)
            except APIStatusError as error:
                if not asks or error.status_code not in (400, 422) or "stream_options" not in error.response.text:
                    raise
        self._asks_usage = False
        gate.book(Usage())
        await passed(gate)
        return await self._open(client, body, gate)

    async def _listen(
        self, response: httpx2.Response, stream: Callable[[str], None], spent: list[Usage | None]
    ) -> Reply:
        answer = Stream(self._server)
        try:
            async with aclosing(response.aiter_bytes()) as pieces:
                while not answer.done:
                    with self._faults():
                        received = await anext(pieces, None)
                    if received is None:
                        break
                    for text in answer.feed(received):
                        stream(text)
                await _drain(pieces)
            return answer.reply()
        except BaseException:
            spent.append(answer.usage)
            raise

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Turn what the SDK and its transport raise into our errors; their own texts may show the key."""
        import openai

        try:
            yield
        except openai.APIStatusError as error:
            raise fault(error.body, self._server, status=error.status_code, headers=error.response.headers) from None
        except Exception as error:
            if not isinstance(error, (openai.APIConnectionError, *_transport_errors())):
                raise
            raise self._unreached(error) from None

    def _unreached(self, error: BaseException) -> ProviderError:
        causes = [error]
        while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
            causes.append(cause)
        if any(isinstance(cause, TimeoutError) for cause in causes):
            return ProviderError(f"{self._server.name} was silent for {self.timeout:g} s")
        # The first cause says what happened; what the transports make of it is often misleading.
        first = next((cause for cause in reversed(causes) if str(cause)), error)
        what = (
            f"the connection to {self._server.name} failed: {self._server.excerpt(str(first)) or type(first).__name__}"
        )
        return ProviderError(what, hint="is the server running, and base_url in [bot] right?")


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    """Read to the end of a body that is of no interest any more; however it ends is as good."""
    import asyncio

    with suppress(*_transport_errors()):
        async with asyncio.timeout(DRAIN):
            async for _ in pieces:
                pass


def _transport_errors() -> tuple[type[Exception], ...]:
    import anyio
    import httpx2

    aiohttp = sys.modules.get("aiohttp")
    return (httpx2.HTTPError, OSError, anyio.EndOfStream, *((aiohttp.ClientError,) if aiohttp else ()))


def _checked(base_url: str | None) -> str | None:
    if base_url is not None and urlsplit(base_url).scheme not in ("http", "https"):
        msg = f"base_url = {base_url!r} is not an address"
        raise SettingsError(msg, hint="it begins with http:// or https://, as in http://localhost:8080/v1")
    return base_url
