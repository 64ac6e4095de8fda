"""How alike two texts are in meaning: the cosine of the vectors that a server makes of them.

A comparison is a request like any other, and its answer is a figure in digits, so that it is recorded, counted and
capped as what a bot says is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from ..conversation.message import Message
from ..conversation.reply import Reply, Usage
from ..errors import BotFailure, CheckError, ProviderError
from ..prompt.request import Request
from .endpoint import Endpoint
from .retry import PROCESS_PAUSES, Gate, Retry, refusal
from .vectors import PROCESS_VECTORS, Embedding, Key, Vectors, cosine, read_embeddings
from .wire import read_usage

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from .model import ChatModel

PATH = "/embeddings"
COMPARE = {"compare": "embedding"}
"""The parameters of a comparison, which no bot is asked with."""


def comparison(model: str, one: str, other: str) -> Request:
    """The request for the similarity of two texts; it has a digest that no request to a bot has."""
    return Request(model, (Message("user", one), Message("user", other)), parameters=dict(COMPARE))


async def similarity(model: ChatModel, name: str, one: str, other: str) -> float:
    """How alike two texts are, from -1 to 1, as `model` says; `name` is that of the model that embeds them.

    A text of nothing but white space has no meaning: only another one is like it, and nobody is asked. Raises what
    `model` raises, and `CheckError` where it answers with no such number.
    """
    if not one.strip() or not other.strip():
        return float(one.strip() == other.strip())
    reply = await model.complete(comparison(name, one, other))
    try:
        figure = float(reply.text)
    except ValueError:
        figure = math.nan
    if not -1 <= figure <= 1:
        msg = f"the similarity of two texts is a number from -1 to 1, not {reply.text[:80]!r}"
        raise CheckError(msg, hint="a recording that was edited by hand is mended by --convo-record=all")
    return figure


@dataclass(frozen=True, slots=True)
class _Answer:
    """The embeddings that one attempt gave, and what it took."""

    embeddings: tuple[Embedding, ...]
    reply: Reply


class SimilarityModel:
    """A `ChatModel` that answers a `comparison` with the cosine of the two texts' vectors, to six digits.

    A vector is asked for once in a process, as long as `vectors` keeps it: what was not asked for anew took nothing,
    and the reply says so by no attempts and no tokens.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        retry: Retry | None = None,
        pauses: Gate | None = None,
        vectors: Vectors | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._retry = retry or Retry()
        self._pauses = pauses or PROCESS_PAUSES
        self._vectors = PROCESS_VECTORS if vectors is None else vectors

    async def complete(self, request: Request, stream: Callable[[str], None] | None = None) -> Reply:
        """The similarity of the two texts in a `comparison`.

        Raises `NoCredentials` before anything is sent, and `ProviderError` where no two vectors come that can be
        compared: a text that the server refuses says nothing about a bot.
        """
        return await self.complete_through(request, stream, self._pauses)

    async def complete_through(self, request: Request, stream: Callable[[str], None] | None, gate: Gate) -> Reply:
        """As `complete`, with every attempt passing `gate`, which may raise errors of its own."""
        one, other = ((self._endpoint.address, request.model or "", message.text) for message in request.messages)
        found, reply = await self._embedded({one, other}, gate)
        try:
            alike = cosine(found[one].vector, found[other].vector)
        except ValueError as error:  # as a server's that has another model by that name now
            msg = f"{self._endpoint.server.name} embeds texts otherwise than before: {error}"
            raise ProviderError(msg, status=200) from None
        text = f"{round(alike, 6) + 0.0:.6f}"  # no negative zero
        if stream is not None:
            stream(text)
        return replace(reply, text=text, model=found[one].model)

    async def _embedded(self, keys: set[Key], gate: Gate) -> tuple[dict[Key, Embedding], Reply]:
        """An embedding for each key, and what it took to have them all."""
        found = self._vectors.find(keys)
        if len(found) == len(keys):
            return found, _NOTHING_TAKEN
        async with self._vectors.alone(keys):
            found = self._vectors.find(keys)
            missing = sorted(keys - set(found))
            if not missing:
                return found, _NOTHING_TAKEN
            once = partial(self._attempt, self._endpoint.client(), missing, gate)
            answer, attempts = await self._retry.run(once, gate)
            asked = dict(zip(missing, answer.embeddings, strict=True))
            self._vectors.keep(asked)
            return found | asked, replace(answer.reply, attempts=attempts)

    async def _attempt(self, client: AsyncOpenAI, keys: list[Key], gate: Gate) -> _Answer:
        """Ask once; what it is known to have taken, however it ends, is booked."""
        begin = time.perf_counter()
        try:
            answer = await self._asked(client, keys)
        except BaseException as error:
            gate.book(refusal(error))
            raise
        gate.book(answer.reply.usage, answer.reply)
        return replace(answer, reply=replace(answer.reply, seconds=time.perf_counter() - begin))

    async def _asked(self, client: AsyncOpenAI, keys: list[Key]) -> _Answer:
        texts = [text for _, _, text in keys]
        try:
            body = await self._endpoint.post(client, PATH, {"model": keys[0][1], "input": texts})
            answer, embeddings = read_embeddings(body, len(texts), self._endpoint.server)
        except BotFailure as error:
            hint = "the model that embeds does not take a text as long as this, or as this"
            raise ProviderError(error.what, status=400, hint=hint) from None
        usage = read_usage(answer.get("usage"))
        return _Answer(embeddings, Reply("", usage=usage, billed=usage, model=embeddings[0].model))


_NOTHING_TAKEN = Reply("", usage=Usage(), billed=Usage(), attempts=0)
"""Where all that was needed was there."""
