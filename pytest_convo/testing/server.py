"""A scripted bot behind a real HTTP server that speaks OpenAI's chat completions, for tests and examples.

`python -m pytest_convo.testing.server script.toml --port 8080` serves a script as a process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import socket
import sys
import threading
from types import TracebackType
from typing import Self

from ..bot.script import Script, ScriptSource
from ..errors import ConvoError
from .connection import Connection
from .request_log import RecordedRequest, RequestLog
from .service import Service, refusal

_BACKLOG = 1024
_SECONDS_TO_STOP = 5.0


class ScriptedServer:
    """Answers `POST /v1/chat/completions`, plain and streamed, on `host`, in a thread of its own.

    Beside it `POST /v1/embeddings`, of which the vectors are near where texts share words (`embeddings.embed`), and
    `GET /v1/models`.

    `script` is a `Script`, the path of a `script.toml`, replies, or a function from a `Request` to a text or a
    `ScriptedReply`, which is called in the server's thread. `port` 0 takes a free one.

    Where replies are drawn by weight, the j-th request with the same body gets card j of a deck that is shuffled by
    `seed` and the body: the answers to n equal requests are the same ones, whatever the order in which they arrive.
    `times` counts the requests of all clients together.

    `api_key`: any other key gets 401. `latency` in seconds holds for replies that give none. `chunk_size` cuts streams
    into HTTP chunks of so many bytes, in the middle of events and characters; by default each event is a chunk.
    `keep` limits `requests` to the latest ones.

    A request that the script has no reply for gets 410 with the code `script_exhausted`, one that the API would refuse
    400: neither is worth a retry.
    """

    def __init__(
        self,
        script: ScriptSource,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        seed: int = 0,
        api_key: str | None = None,
        latency: float = 0.0,
        chunk_size: int | None = None,
        keep: int | None = None,
    ) -> None:
        if chunk_size is not None and chunk_size < 1:
            msg = f"chunk_size must be at least 1, not {chunk_size}"
            raise ValueError(msg)
        self._address = (host, port)
        self._log = RequestLog(keep)
        self._service = Service(
            Script.of(script), self._log, seed=seed, api_key=api_key, latency=latency, chunk_size=chunk_size
        )
        self._running: _Running | None = None

    def start(self) -> Self:
        """Listen and serve; an `OSError` where the port is taken."""
        if self._running is not None:
            msg = "the scripted server is already running"
            raise RuntimeError(msg)
        self._running = _Running(socket.create_server(self._address, backlog=_BACKLOG), self._service)
        return self

    def stop(self) -> None:
        """Break off what is in flight and end the thread; a server that is not running is left alone."""
        running, self._running = self._running, None
        if running is not None:
            running.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """What a client takes as its `base_url`: `http://127.0.0.1:PORT/v1`."""
        if self._running is None:
            msg = "the scripted server is not running: use it in a with block, or call start()"
            raise RuntimeError(msg)
        host, port = self._running.address
        return f"http://{host}:{port}/v1"

    @property
    def requests(self) -> list[RecordedRequest]:
        """The requests for answers and embeddings in the order in which they arrived, refused ones included."""
        return self._log.requests

    @property
    def count(self) -> int:
        """How many requests arrived."""
        return self._log.count

    @property
    def in_flight(self) -> int:
        """How many requests are being answered now."""
        return self._log.in_flight

    @property
    def in_flight_max(self) -> int:
        """How many requests were being answered at once, at most."""
        return self._log.in_flight_max

    def reset(self) -> None:
        """Forget the requests and read the script from its beginning."""
        self._log.reset()
        self._service.reset()


class _Running:
    """The thread of a running server, and its event loop."""

    def __init__(self, listening: socket.socket, service: Service) -> None:
        self.address: tuple[str, int] = listening.getsockname()[:2]
        self._stopping = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._run, args=(listening, service), name="scripted-server", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(_SECONDS_TO_STOP)
        if self._thread.is_alive():
            msg = f"the script's function has not returned for {_SECONDS_TO_STOP:g} seconds"
            raise RuntimeError(msg)

    def _run(self, listening: socket.socket, service: Service) -> None:
        try:
            self._loop.run_until_complete(self._serve(listening, service))
        finally:
            self._loop.close()

    async def _serve(self, listening: socket.socket, service: Service) -> None:
        connections: set[Connection] = set()
        server = await self._loop.create_server(
            lambda: Connection(service.respond, refusal, connections), sock=listening
        )
        await self._stopping.wait()
        # A connection that asyncio is just accepting leaks when its server is closed first.
        self._loop.remove_reader(listening)
        while connections or len(asyncio.all_tasks()) > 1:
            for connection in tuple(connections):
                connection.abort()
            await asyncio.sleep(0)
        server.close()


def main(arguments: list[str] | None = None) -> int:
    """Serve a script until interrupted; the URL is the first line printed."""
    parser = argparse.ArgumentParser(
        prog="python -m pytest_convo.testing.server", description="Serve a script.toml as an OpenAI-compatible server."
    )
    parser.add_argument("script", help="the script.toml")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes a free one")
    parser.add_argument("--seed", type=int, default=0, help="of draws by weight")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds, for replies that give none")
    parser.add_argument("--api-key", help="any other key gets 401")
    stops = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, stops)
    try:
        with ScriptedServer(**vars(parser.parse_args(arguments)), keep=0) as server:
            print(server.url, flush=True)
            signal.sigwait(stops)
    except (ConvoError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
