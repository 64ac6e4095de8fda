"""Vectors that stand for texts: how servers send them, how alike two of them are, and where they are kept."""

from __future__ import annotations

import binascii
import math
import sys
from array import array
from base64 import b64decode
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from operator import mul
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from .deadline import untimed
from .faults import Server
from .wire import read_object, unfit

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Lock

WANTED = "embeddings"
"""What is wanted of a server, as errors call it."""

MOST = 4096
"""Vectors that are kept: 25 MB of them, where each has 1536 numbers."""

Key = tuple[str, str, str]
"""The address of a server, a model there, and a text."""


@dataclass(frozen=True, slots=True)
class Embedding:
    """A text as a point in the space of a model: `vector` in single precision, `model` as the server reported it."""

    vector: array[float]
    model: str | None = None


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """The cosine of the angle between two vectors, from -1 to 1.

    Raises `ValueError` where they have different lengths, or where one of them points nowhere: empty, all zeros, or
    with a number that is none.
    """
    if len(one) != len(other):
        msg = f"vectors of {len(one)} and of {len(other)} numbers cannot be compared"
        raise ValueError(msg)
    lengths = math.hypot(*one) * math.hypot(*other)
    if not 0 < lengths < math.inf:
        msg = "a vector that points nowhere is at no angle to another"
        raise ValueError(msg)
    product: float = sum(map(mul, one, other))
    return max(-1.0, min(1.0, product / lengths))


def read_embeddings(body: bytes, count: int, server: Server) -> tuple[Mapping[str, Any], tuple[Embedding, ...]]:
    """The answer to a request for the embeddings of `count` texts, and these in the order of the texts.

    Each is a list of numbers or, as base64, of single-precision numbers, the lowest byte first. Raises the error that
    the answer holds, and `ProviderError` where it does not give one usable vector for each text.
    """
    answer = read_object(body, server, WANTED)
    data = answer.get("data")
    items = [item for item in data if isinstance(item, dict)] if isinstance(data, list) else None
    if items is None:
        raise unfit(server, WANTED, "no list of data", body)
    if len(items) != count:
        raise unfit(server, WANTED, f"{len(items)} for {count} texts", body)
    try:
        vectors = [_vector(item.get("embedding")) for item in _in_order(items)]
        if len(set(map(len, vectors))) > 1:
            msg = "vectors of different lengths"
            raise ValueError(msg)  # noqa: TRY301  (one place words them all)
    except (ValueError, TypeError, OverflowError) as error:
        raise unfit(server, WANTED, str(error), body) from None
    model = answer.get("model")
    return answer, tuple(Embedding(vector, model if isinstance(model, str) else None) for vector in vectors)


def _in_order(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The items in the order of the texts: as they come, where they have no index."""
    if all(item.get("index") is None for item in items):
        return items
    by_index = {item.get("index"): item for item in items}
    if set(by_index) != set(range(len(items))):
        msg = "their indexes are not those of the texts"
        raise ValueError(msg)
    return [by_index[index] for index in range(len(items))]


def _vector(value: Any) -> array[float]:
    """The numbers of one vector; `ValueError`, `TypeError` or `OverflowError` where nothing can be compared with it."""
    vector = array("f")
    if isinstance(value, str):
        vector.frombytes(_bytes(value))
        if sys.byteorder == "big":
            vector.byteswap()
    elif isinstance(value, list):
        vector.extend(value)
    if not vector:
        msg = "no vector" if value is None else "an empty vector" if value in ([], "") else "a vector of no numbers"
        raise ValueError(msg)
    if not all(map(math.isfinite, vector)):
        msg = "a vector with numbers that are infinite or none"
        raise ValueError(msg)
    if not any(vector):
        msg = "a vector of zeros"
        raise ValueError(msg)
    return vector


def _bytes(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except binascii.Error:
        msg = "a vector that is no base64"
        raise ValueError(msg) from None


class Vectors:
    """The embeddings that were asked for last, at most `most`, for all who compare texts."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._kept: OrderedDict[Key, Embedding] = OrderedDict()
        self._locks: WeakKeyDictionary[AbstractEventLoop, WeakValueDictionary[Key, Lock]] = WeakKeyDictionary()

    def find(self, keys: Iterable[Key]) -> dict[Key, Embedding]:
        """Those that are kept."""
        found = {}
        for key in keys:
            embedding = self._kept.pop(key, None)
            if embedding is not None:
                found[key] = self._kept[key] = embedding
        return found

    def keep(self, embeddings: Mapping[Key, Embedding]) -> None:
        """Keep these, in the place of those that nobody has asked for the longest time."""
        self._kept.update(embeddings)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)

    @asynccontextmanager
    async def alone(self, keys: Iterable[Key]) -> AsyncIterator[None]:
        """Have these to oneself on this event loop, so that two who need the same one ask for it once.

        They are taken in their order, so that no two wait for each other. The time of a run does not pass meanwhile.
        """
        async with AsyncExitStack() as taken:
            with untimed():
                for key in sorted(keys):
                    await taken.enter_async_context(self._lock(key))
            yield

    def _lock(self, key: Key) -> Lock:
        from asyncio import Lock, get_running_loop

        return self._locks.setdefault(get_running_loop(), WeakValueDictionary()).setdefault(key, Lock())


PROCESS_VECTORS = Vectors()
"""For all of this process who are given no others."""
