"""A chat-completion server that costs next to nothing, for measuring those who ask it.

`python mock.py --latency 0.2` prints its URL, and counts: `GET /stats` says what arrived since `POST /reset`.
The model's name gives the answer: `odds-0.3` says yes to three requests in ten and no to the others, the same ones each
time after a reset; any other model says yes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from collections import Counter
from hashlib import blake2b


class Counts:
    """What arrived: `most` is how often one body came at most, `seconds` from the first request to the last reply."""

    def __init__(self) -> None:
        self.bodies: Counter[bytes] = Counter()
        self.answered = self.in_flight = self.in_flight_max = 0
        self.first = self.last = 0.0

    def begin(self, body: bytes) -> int:
        """A request arrived: how often its body did, this time included."""
        self.first = self.first or time.perf_counter()
        digest = blake2b(body, digest_size=16).digest()
        self.bodies[digest] += 1
        self.in_flight += 1
        self.in_flight_max = max(self.in_flight_max, self.in_flight)
        return self.bodies[digest]

    def end(self, *, answered: bool) -> None:
        self.in_flight -= 1
        self.answered += answered
        self.last = time.perf_counter()

    def stats(self) -> bytes:
        found = {
            "calls": self.bodies.total(),
            "answered": self.answered,
            "distinct": len(self.bodies),
            "most": max(self.bodies.values(), default=0),
            "in_flight_max": self.in_flight_max,
            "seconds": self.last - self.first,
        }
        return json.dumps(found).encode()


class Connection(asyncio.Protocol):
    """One connection, kept alive; requests come one after the other."""

    counts = Counts()
    latency = 0.0
    transport: asyncio.Transport

    def __init__(self) -> None:
        self.received = bytearray()
        self.waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]

    def connection_lost(self, _: Exception | None) -> None:
        if self.waiting is not None:
            self.waiting.cancel()
            Connection.counts.end(answered=False)

    def data_received(self, data: bytes) -> None:
        self.received += data
        head_end = self.received.find(b"\r\n\r\n")
        if head_end < 0:
            return
        head = bytes(self.received[:head_end]).lower()
        length = int(head.partition(b"content-length:")[2].partition(b"\r")[0] or 0)
        end = head_end + 4 + length
        if len(self.received) < end:
            return
        body = bytes(self.received[head_end + 4 : end])
        del self.received[:end]
        self.respond(head.split(b" ", 2)[1], body)

    def respond(self, path: bytes, body: bytes) -> None:
        if path == b"/stats":
            self.send(Connection.counts.stats())
        elif path == b"/reset":
            Connection.counts = Counts()
            self.send(b"{}")
        else:
            reply = completion(body, Connection.counts.begin(body))
            if self.latency:
                self.waiting = asyncio.get_running_loop().call_later(self.latency, self.answer, reply)
            else:
                self.answer(reply)

    def answer(self, reply: bytes) -> None:
        self.waiting = None
        Connection.counts.end(answered=True)
        self.send(reply)

    def send(self, body: bytes) -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
        self.transport.write(head + body)


def completion(body: bytes, occurrence: int) -> bytes:
    """A whole chat completion; `occurrence` of the same body draws its answer."""
    model = json.loads(body)["model"]
    odds = float(model.partition("odds-")[2] or 1)
    drawn = random.Random(b"%d:%b" % (occurrence, body)).random() < odds
    message = {"role": "assistant", "content": "yes" if drawn else "no"}
    return json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": model,
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11},
        }
    ).encode()


async def serve(latency: float) -> None:
    Connection.latency = latency
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0, backlog=1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="An OpenAI-compatible server for benchmarks.")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds from a request to its answer")
    asyncio.run(serve(parser.parse_args().latency))
