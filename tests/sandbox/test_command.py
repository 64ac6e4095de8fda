from __future__ import annotations

import io
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from pytest_convo.sandbox import command as module
from pytest_convo.sandbox.command import READY, Command, Unkillable
from pytest_convo.sandbox.connection import Connection
from pytest_convo.sandbox.output import HeadTail

LONG = 60.0


def frame(payload: bytes, stream: int = 1) -> bytes:
    return struct.pack(">BxxxL", stream, len(payload)) + payload


class Engine:
    """The other end of a command's connection: what a test lets it do runs in a thread of its own."""

    def __init__(self) -> None:
        ours, self.end = socket.socketpair()
        self.connection = Connection(ours)
        self.output, self.error = HeadTail(1 << 16), HeadTail(1 << 16)
        self.kills = 0
        self.killed = threading.Event()
        self.thread: threading.Thread | None = None

    def does(self, behaviour: Callable[[socket.socket], None]) -> None:
        self.thread = threading.Thread(target=behaviour, args=(self.end,))
        self.thread.start()

    def kill(self) -> None:
        self.kills += 1
        self.killed.set()

    def run(
        self,
        data: bytes = b"",
        *,
        timeout: float = LONG,
        most: int = 1 << 30,
        stopped: Callable[[], bool] | None = None,
    ) -> Command:
        command = Command(
            self.connection,
            data,
            self.output,
            self.error,
            timeout=timeout,
            most=most,
            kill=self.kill,
            stopped=stopped or (lambda: False),
        )
        with self.connection:
            command.run()
        return command

    def close(self) -> None:
        self.end.close()
        if self.thread is not None:
            self.thread.join(LONG)


@pytest.fixture
def engine() -> Iterator[Engine]:
    engine = Engine()
    yield engine
    engine.close()


def test_what_a_command_is_given_and_what_it_writes(engine: Engine) -> None:
    data = bytes(range(256)) * 4096
    given = bytearray()

    def echo(end: socket.socket) -> None:
        while len(given) < len(data):
            given.extend(end.recv(1 << 16))
        end.sendall(frame(READY + b"out") + frame(b"err", 2) + frame(b"put"))
        end.close()

    engine.does(echo)
    command = engine.run(data)

    assert (bytes(given), engine.output.text(), engine.error.text()) == (data, "output", "err")
    assert (command.started, command.killed, engine.kills) == (True, None, 0)


def test_the_token_may_come_in_pieces(engine: Engine) -> None:
    def trickle(end: socket.socket) -> None:
        for byte in READY + b"!":
            end.sendall(frame(bytes([byte])))
        end.close()

    engine.does(trickle)

    assert engine.run().started
    assert engine.output.text() == "!"


@pytest.mark.parametrize("said", [b"OCI runtime exec failed", READY[:5], b""])
def test_without_the_token_nothing_has_started_and_the_words_are_the_engines(engine: Engine, said: bytes) -> None:
    engine.end.sendall(frame(said))
    engine.end.close()

    assert not engine.run().started
    assert engine.output.text().encode() == said


def test_what_comes_before_the_end_of_the_input_is_read_counts_though_nobody_takes_the_rest(engine: Engine) -> None:
    engine.end.sendall(frame(READY + b"enough"))
    engine.end.close()

    engine.run(b"x" * (1 << 24))

    assert engine.output.text() == "enough"


def test_when_its_time_is_up_it_is_killed_and_what_it_wrote_is_kept(engine: Engine) -> None:
    def until_killed(end: socket.socket) -> None:
        end.sendall(frame(READY + b"part"))
        engine.killed.wait(LONG)
        end.sendall(frame(b" last words"))
        end.close()

    engine.does(until_killed)
    command = engine.run(timeout=0.1)

    assert command.killed == "timeout"
    assert engine.output.text() == "part last words"


def test_its_time_runs_from_the_token(engine: Engine) -> None:
    began = []

    def late(end: socket.socket) -> None:
        engine.killed.wait(0.5)
        began.append(time.monotonic())
        end.sendall(frame(READY))
        engine.killed.wait(LONG)
        began.append(time.monotonic())
        end.close()

    engine.does(late)

    assert engine.run(timeout=0.3).killed == "timeout"
    assert began[1] - began[0] >= 0.3


def test_what_never_begins_is_killed_in_the_end(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STARTING", 0.1)

    def never_begin(end: socket.socket) -> None:
        engine.killed.wait(LONG)
        end.close()

    engine.does(never_begin)
    command = engine.run()

    assert (command.killed, command.started) == ("timeout", False)


def test_who_writes_without_end_is_killed_while_its_output_is_drained_on(engine: Engine) -> None:
    def spout(end: socket.socket) -> None:
        end.sendall(frame(READY))
        while not engine.killed.is_set():
            end.sendall(frame(b"y\n" * 4096))
        end.sendall(frame(b"x" * (1 << 22)))  # more than any buffer between us holds
        end.close()

    engine.does(spout)
    command = engine.run(most=1 << 20)

    assert command.killed == "output_limit"
    assert engine.output.total > (1 << 20) + (1 << 22)


def test_it_is_killed_from_outside(engine: Engine) -> None:
    stop = threading.Event()

    def until_killed(end: socket.socket) -> None:
        end.sendall(frame(READY))
        stop.set()
        engine.killed.wait(LONG)
        end.close()

    engine.does(until_killed)

    assert engine.run(stopped=stop.is_set).killed == "kill"


def test_what_survives_is_killed_again_and_then_given_up(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.4)
    monkeypatch.setattr(module, "_KILL_AGAIN", 0.05)
    engine.end.sendall(frame(READY))

    with pytest.raises(Unkillable, match="survived SIGKILL"):
        engine.run(timeout=0)
    assert engine.kills > 1


def test_a_connection_that_breaks_is_an_end(engine: Engine) -> None:
    engine.end.sendall(frame(READY + b"so far") + frame(b"never whole")[:-3])
    engine.end.close()

    assert engine.run().killed is None
    assert engine.output.text() == "so farnever wh"


def test_nothing_is_lost_that_the_reader_of_http_holds_already() -> None:
    """docker-py#3332."""
    ours, end = socket.socketpair()
    reader = ours.makefile("rb")
    end.sendall(b"HTTP/1.1 101 UPGRADED\r\n" + frame(READY + b"early"))
    reader.readline()  # and with it all the rest
    assert isinstance(reader, io.BufferedReader)
    raw = reader.raw
    raw._response = SimpleNamespace(raw=SimpleNamespace(_fp=SimpleNamespace(fp=reader)))
    output = HeadTail(100)
    end.sendall(frame(b" and late"))
    end.close()

    with Connection(raw) as connection:
        Command(
            connection,
            b"",
            output,
            output,
            timeout=LONG,
            most=1000,
            kill=lambda: None,
            stopped=lambda: False,
        ).run()

    assert output.text() == "early and late"
    assert ours.fileno() == -1


def test_who_stops_a_command_may_have_killed_it_before_that_was_noticed(engine: Engine) -> None:
    def stopped() -> bool:
        """Just after it was asked for the first time, and by then there is nothing more to read."""
        already = engine.end.fileno() < 0
        engine.end.close()
        return already

    assert engine.run(stopped=stopped).killed == "kill"
