"""The model behind an OpenAI-compatible server, through the official SDK's client.

The SDK gives the way to the server: authentication, headers, addresses, timeouts, connections. What it sends is read
here: its own types take two thirds of the time of a short request, and pass truncated streams for whole ones.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from ..conversation.reply import Reply, Usage, total
from ..prompt.request import Request
from ..redaction import Redactor
from .clients import Transport
from .deltas import Stream
from .endpoint import Endpoint, transport_errors
from .retry import PROCESS_PAUSES, Gate, Retry, passed, refusal
from .wire import identified, read_reply

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

PATH = "/chat/completions"

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
        self._endpoint = Endpoint(
            base_url=base_url,
            api_key=api_key,
            variable=variable,
            timeout=timeout,
            transport=transport,
            client=client,
            redactor=redactor,
        )
        self._retry = retry or Retry()
        self._pauses = pauses or PROCESS_PAUSES
        self._asks_usage = True

    @property
    def base_url(self) -> str | None:
        """The address that was given."""
        return self._endpoint.base_url

    @property
    def address(self) -> str:
        """Where it asks, whoever said so."""
        return self._endpoint.address

    async def complete(self, request: Request, stream: Callable[[str], None] | None = None) -> Reply:
        """The server's answer; it is streamed only where somebody listens, which costs more.

        Where an attempt breaks off, the next one gives `stream` its text from the beginning; observers hear `retry`
        in between. `seconds` are those of the attempt that succeeded. Raises `NoCredentials` before anything is
        sent, `ContextOverflow`, `BotFailure` (content filter), and `ProviderError` for all else.
        """
        return await self.complete_through(request, stream, self._pauses)

    async def complete_through(self, request: Request, stream: Callable[[str], None] | None, gate: Gate) -> Reply:
        """As `complete`, with every attempt passing `gate`, which may raise errors of its own."""
        client = self._endpoint.client()
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

    async def _plain(self, client: AsyncOpenAI, body: dict[str, Any]) -> Reply:
        return read_reply(await self._endpoint.post(client, PATH, body), self._endpoint.server)

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
            with self._endpoint.faults():
                reply = read_reply(await response.aread(), self._endpoint.server)
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
        with self._endpoint.faults():
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
        answer = Stream(self._endpoint.server)
        try:
            async with aclosing(response.aiter_bytes()) as pieces:
                while not answer.done:
                    with self._endpoint.faults():
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


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    """Read to the end of a body that is of no interest any more; however it ends is as good."""
    import asyncio

    with suppress(*transport_errors()):
        async with asyncio.timeout(DRAIN):
            async for _ in pieces:
                pass
