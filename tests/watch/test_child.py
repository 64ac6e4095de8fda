"""The process that runs a session, as the watcher has it: orders go in, notes and what it prints come out."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator

import pytest

from pytest_convo.testing import ScriptedReply
from pytest_convo.watch.pool import Child, Pool

GENEROUS = 60.0


@pytest.fixture
def pool(convos) -> Iterator[Pool]:
    """A pool of the project, as `pytest convos` has it."""
    desk = convos.path / "desk"
    desk.mkdir()
    order = {
        "args": ["convos"],
        "path": sys.path,
        "store": str(desk / "answers"),
        "books": str(desk / "books"),
        "tools": False,
        "session": "some-watch",
    }
    pool = Pool(order, dict(os.environ), desk)
    yield pool
    pool.close()


@pytest.fixture
def taken(pool) -> Iterator:
    """Take a child of the pool, and listen to it; it ends with the test."""
    children: list[Child] = []

    def take() -> Listener:
        children.append(pool.take())
        return Listener(children[-1])

    yield take
    for child in children:
        child.kill()
        child.end()


class Listener:
    """A child and all that it has said."""

    def __init__(self, child: Child) -> None:
        self.child = child
        self.notes: list = []

    def until(self, kind: str) -> dict:
        """The note of this kind; it fails where the child ends without one."""
        deadline = time.monotonic() + GENEROUS
        while not (found := [note for note in self.notes if note["kind"] == kind]):
            assert time.monotonic() < deadline, self.notes
            assert not self.child.notes.ended, (self.notes, self.printed)
            self._listen()
        return found[-1]

    def until_gone(self) -> None:
        deadline = time.monotonic() + GENEROUS
        while not (self.child.notes.ended and self.child.gone):
            assert time.monotonic() < deadline, self.notes
            self._listen()

    @property
    def printed(self) -> str:
        self.child.read()
        return self.child.printed

    def _listen(self) -> None:
        time.sleep(0.005)
        self.child.read()
        self.notes += self.child.heard()


def order(*units, args=None, **options) -> dict:
    return {"args": args or [str(unit) for unit in units], "units": [str(unit) for unit in units], "options": options}


def test_it_waits_runs_what_it_is_told_and_tells_of_it(convos, taken):
    tea = convos.say("convos/tea", toml='[expect]\ncontains = "No"\n')
    convos.say("convos/coffee")
    convos.write({"convos/conftest.py": "import fridge\n", "convos/fridge.py": "", "convos/prompt.md": "Be kind."})
    child = taken()

    assert set(child.until("parked")["modules"]) == {"conftest", "fridge"}
    assert child.printed == "", "it waits in silence"
    child.child.tell(order(tea))
    ended = child.until("ended")
    child.until_gone()

    collected = child.until("collected")
    assert [unit["path"] for unit in collected["units"]] == [str(tea)]
    assert collected["units"][0]["reads"] == [str(convos.path / "convos/prompt.md")]
    assert [(unit, word) for unit, _, word, *_ in ended["outcomes"]] == [(str(tea), "failed")]
    assert [note["kind"] for note in child.notes if note.get("index") == 1][-1] == "whole"
    assert "1 failed" in child.printed


def test_orders_may_be_longer_than_a_pipe(convos, taken):
    units = [convos.path / f"convos/{'long' * 20}{number}" for number in range(2000)]
    tea = convos.say("convos/tea")
    child = taken()

    child.child.tell(order(tea, *units, args=[str(tea)]))

    assert [word for _, _, word, *_ in child.until("ended")["outcomes"]] == ["passed"]


def test_it_ends_with_who_gives_the_orders(convos, pool, taken):
    convos.say("convos/tea")
    child = taken()
    child.until("parked")

    os.close(child.child._orders)
    child.child._orders = os.open(os.devnull, os.O_WRONLY)

    child.until_gone()
    assert "Traceback" not in child.printed


def test_it_lets_go_of_what_was_edited(convos, serve, taken, until):
    server = serve(ScriptedReply(when="slow", text="Late.", latency=120), ScriptedReply(text="Yes."))
    tea, coffee = convos.path / "convos/tea", convos.path / "convos/coffee"
    convos.write({"convos/tea/0000_user.md": "slow tea?", "convos/coffee/0000_user.md": "Coffee?"})
    child = taken()
    child.child.tell(order(tea, coffee))
    until(lambda: server.count == 2)

    child.child.tell({"kind": "supersede", "units": [str(tea)]})

    assert child.until("superseded")["units"] == [str(tea)]
    assert server.in_flight == 0
    words = {unit: word for unit, _, word, *_ in child.until("ended")["outcomes"]}
    assert words[str(coffee)] == "passed"
    assert words.get(str(tea)) in (None, "skipped")


def test_what_is_edited_before_anything_is_collected_is_not_run(convos, serve, taken):
    server = serve(ScriptedReply(text="Yes."))
    tea, coffee = convos.path / "convos/tea", convos.path / "convos/coffee"
    convos.write({"convos/tea/0000_user.md": "Tea?", "convos/coffee/0000_user.md": "Coffee?"})
    child = taken()

    child.child.tell(order(tea, coffee))
    child.child.tell({"kind": "supersede", "units": [str(tea)]})
    child.until("ended")

    assert [request.body["messages"][-1]["content"] for request in server.requests] == ["Coffee?"]


def test_what_cannot_be_collected_is_told_with_its_place(convos, taken):
    tea = convos.say("convos/tea", {"convo.toml": "runs = = 3\n"})
    coffee = convos.say("convos/coffee")
    child = taken()

    child.child.tell(order(tea, coffee))
    ended = child.until("ended")

    assert [path for path, _ in ended["errors"]] == [str(tea / "convo.toml")]
    assert "is not TOML" in ended["errors"][0][1]
    assert [(unit, word) for unit, _, word, *_ in ended["outcomes"]] == [(str(coffee), "passed")]
    assert child.until("collected")["broken"] == [str(tea)]


def test_a_conftest_that_cannot_be_imported_ends_it_before_it_is_ready(convos, taken):
    convos.say("convos/tea", {"conftest.py": ""})
    convos.write({"conftest.py": "import nothing_of_this_name\n"})
    child = taken()

    child.until_gone()

    assert [note["kind"] for note in child.notes] == ["warm"]
    assert "nothing_of_this_name" in child.printed


def test_the_pool_forgets_who_has_loaded_what_changed(convos, pool, until):
    convos.say("convos/tea")
    convos.write({"convos/conftest.py": "import fridge\n", "convos/fridge.py": "", "convos/other.py": ""})

    def ready() -> bool:
        for child in pool.idle:
            list(child.heard())
        return pool.fill(time.monotonic()) is None and pool.idle[0].modules is not None

    until(ready)
    parked, warm = pool.idle

    assert pool.forget([str(convos.path / "convos/other.py")]) == []
    assert pool.forget([str(convos.path / "convos/fridge.py")]) == [parked]
    parked.end()
    assert list(pool.idle) == [warm], "that one has read nothing of the user's yet"
    until(ready)
    first = pool.idle[0]
    assert pool.forget([], everything=True) == [first]
    first.end()
    assert first.gone
