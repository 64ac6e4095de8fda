from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.conversation.reply import Usage
from pytest_convo.errors import CapReached
from pytest_convo.run.notebook import Notebook
from pytest_convo.run.pace import Pace
from pytest_convo.run.shared import SharedLedger
from pytest_convo.run.spending import NO_CAPS, ROUNDING, Caps, Spending, Spent

ANYWHERE = Pace("a")


@pytest.fixture(params=["memory", "file"])
def spending(request, tmp_path):
    ledger = SharedLedger(tmp_path / "shared") if request.param == "file" else Notebook()
    yield Spending(ledger)
    ledger.close()


def begin(spending, caps=NO_CAPS, pace=ANYWHERE, now=0.0, tokens=0):
    return spending.begin(caps, pace, now, tokens)


def test_nothing_is_spent_before_the_first_call(spending):
    assert spending.spent() == Spent()


def test_calls_count_when_they_begin_and_figures_when_they_end(spending):
    begin(spending)
    begin(spending)
    assert spending.spent() == Spent(calls=2)

    spending.end(Spent(billed=Usage(20, 5, 3), accepted=Usage(20, 5, 3), usd=0.25))
    spending.end(Spent(billed=Usage(10, 1), unpriced={"llama": 1}))
    spending.end(Spent(unpriced={"llama": 1, "price of all": 1}))
    spending.end(Spent(uncounted=1, guessed_tokens=7, guessed_usd=0.5))
    assert spending.spent() == Spent(
        calls=2,
        billed=Usage(30, 6, 3),
        accepted=Usage(20, 5, 3),
        usd=0.25,
        unpriced={"llama": 2, "price of all": 1},
        uncounted=1,
        guessed_tokens=7,
        guessed_usd=0.5,
    )


@pytest.mark.parametrize(
    "caps, text",
    [
        (
            Caps(calls=1),
            "the session may make 1 call and has made 1: nothing more is asked\n  --convo-max-calls sets the cap",
        ),
        (Caps(tokens=25), "the session may use 25 tokens and has used 32: nothing more is asked\n  --convo-max-tokens"),
        (Caps(tokens=32), "the session may use 32 tokens and has used 32"),
        (
            Caps(usd=0.5),
            "the session may spend $0.5 and has spent $0.625: nothing more is asked\n  --convo-max-usd sets",
        ),
    ],
)
def test_at_a_cap_no_call_begins(spending, caps, text):
    begin(spending, caps)
    spending.end(Spent(billed=Usage(20, 5), usd=0.25))
    spending.end(Spent(uncounted=1, guessed_tokens=7, guessed_usd=0.375))

    with pytest.raises(CapReached) as raised:
        begin(spending, caps)
    assert str(raised.value).startswith(text)
    assert not raised.value.transient
    assert spending.spent().calls == 1


def test_a_sum_of_dollars_reaches_a_cap_that_it_equals(spending):
    for _ in range(10):
        begin(spending, Caps(usd=1.0))
        spending.end(Spent(usd=0.1))

    assert spending.spent().usd < 1.0
    with pytest.raises(CapReached):
        begin(spending, Caps(usd=1.0))


@pytest.mark.parametrize("caps", [NO_CAPS, Caps(calls=2), Caps(tokens=26), Caps(usd=0.26)])
def test_below_a_cap_one_more_begins(spending, caps):
    begin(spending, caps)
    spending.end(Spent(billed=Usage(20, 5), usd=0.25))

    assert begin(spending, caps) == 0
    assert spending.spent().calls == 2


def test_a_cap_that_is_reached_at_once_leaves_the_books_in_order(spending):
    with pytest.raises(CapReached):
        begin(spending, Caps(calls=0))
    assert begin(spending) == 0


def test_a_call_that_must_wait_is_not_entered(spending):
    pace = Pace("a", requests=60)

    assert (begin(spending, pace=pace), begin(spending, pace=pace, now=0.25)) == (0, 0.75)
    assert spending.spent().calls == 1
    assert begin(spending, pace=pace, now=1.0) == 0


def test_what_was_guessed_of_a_call_is_put_right_when_it_ends(spending):
    pace = Pace("a", tokens=60)
    begin(spending, pace=pace, tokens=10)
    spending.end(Spent(billed=Usage(4, 2)), pace, 6 - 10)

    assert begin(spending, pace=pace) == 6


class Interleaved:
    """Calls of several processes on the books of one session, begun and ended in any order."""

    def __init__(self, caps: Caps) -> None:
        self.ledger = Notebook()
        self.processes = [Spending(self.ledger) for _ in range(3)]
        self.caps = caps
        self.in_flight: list[Usage] = []
        self.ended = Usage()

    def begin(self, process: int, usage: Usage) -> bool:
        try:
            begin(self.processes[process], self.caps)
        except CapReached:
            return False
        self.in_flight.append(usage)
        return True

    def end(self, process: int) -> None:
        usage = self.in_flight.pop(0)
        self.ended += usage
        self.processes[process].end(Spent(billed=usage, usd=usage.total_tokens / 1000))


steps = st.lists(
    st.tuples(st.booleans(), st.integers(0, 2), st.builds(Usage, st.integers(0, 50), st.integers(0, 50))), max_size=60
)


caps = st.builds(Caps, st.none() | st.floats(0.01, 1), st.none() | st.integers(0, 20), st.none() | st.integers(0, 900))


@given(steps, caps)
def test_caps_hold_in_any_order(steps, caps):
    session, sent = Interleaved(caps), 0
    for begins, process, usage in steps:
        if not begins and session.in_flight:
            session.end(process)
            continue
        tokens = session.ended.total_tokens
        room = (
            (caps.calls is None or sent < caps.calls)
            and (caps.tokens is None or tokens < caps.tokens)
            and (caps.usd is None or session.processes[process].spent().usd < caps.usd - ROUNDING)
        )
        assert session.begin(process, usage) is room
        sent += room
    assert session.processes[0].spent().calls == sent
    assert caps.calls is None or sent <= caps.calls
    session.ledger.close()


def _spend(path: Path, attempts: int) -> None:
    ledger = SharedLedger(path)
    spending = Spending(ledger)
    for _ in range(attempts):
        try:
            begin(spending, Caps(calls=50))
        except CapReached:
            break
        spending.end(Spent(billed=Usage(1, 1), usd=0.5))
    ledger.close()


def test_processes_share_one_cap(tmp_path):
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_spend, args=(tmp_path / "shared", 40)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    ledger = SharedLedger(tmp_path / "shared")
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert Spending(ledger).spent() == Spent(calls=50, billed=Usage(50, 50), usd=25.0)
    ledger.close()
