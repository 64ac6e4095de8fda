from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.watch.events import Hint, Kind
from pytest_convo.watch.settle import FEW, HALF_DONE, LOCKED, LONGEST, OPEN, QUIET, QUIET_OF_MANY, UNCLOSED, Burst

A, B = Path("/p/a.md"), Path("/p/b.md")
LOCK = Path("/p/.git/index.lock")


def whole(path: Path) -> bool:
    return False


def burst_of(*events: tuple[Path, Kind, float], closes: bool = True) -> Burst:
    """A burst of (path, kind, seconds); `closes`: where the system has already told of a file that was closed."""
    burst = Burst(lambda path: path.suffix == ".md")
    if closes:
        burst.add(Hint(Path("/p/other.md"), "closed", -10.0))
        burst.take()
    for event in events:
        burst.add(Hint(*event))
    return burst


def ready(burst: Burst, half_done=whole, start: float = 0.0) -> float:
    """When it is looked at by somebody who waits as long as he is told to."""
    now = start
    while wait := burst.wait(now, half_done):
        now += wait
    return pytest.approx(now, abs=1e-6)


def test_without_events_there_is_nothing_to_wait_for():
    burst = burst_of()

    assert burst.wait(5.0, whole) is None
    assert burst.take() == set()


@pytest.mark.parametrize("kind", ["closed", "moved", "deleted", "touched"])
def test_a_file_that_is_whole_waits_for_quiet_alone(kind):
    burst = burst_of((A, "created", 0.0), (A, "modified", 0.001), (A, "closed", 0.001), (A, kind, 0.002))

    assert ready(burst, start=0.002) == 0.002 + QUIET
    assert burst.take() == {A}
    assert burst.wait(1.0, whole) is None


def test_what_has_been_written_to_waits_until_it_is_closed():
    burst = burst_of((A, "modified", 0.0))

    assert ready(burst) == OPEN
    burst.add(Hint(A, "closed", 0.06))
    assert ready(burst, start=0.06) == 0.06 + QUIET


def test_where_nothing_is_ever_closed_a_shorter_time_makes_a_file_whole():
    assert ready(burst_of((A, "modified", 0.0), closes=False)) == UNCLOSED


def test_a_file_that_is_only_created_came_from_elsewhere():
    assert ready(burst_of((A, "created", 0.0))) == UNCLOSED


def test_a_touch_makes_nothing_whole():
    assert ready(burst_of((A, "modified", 0.0), (A, "touched", 0.001))) == pytest.approx(OPEN, abs=0.002)


def test_what_has_gone_or_is_empty_may_come_back():
    burst = burst_of((A, "deleted", 0.0))

    assert ready(burst, lambda path: path == A) == HALF_DONE
    assert ready(burst, whole) == QUIET


def test_what_has_come_back_is_not_waited_for():
    burst = burst_of((A, "moved", 0.0), (A, "created", 0.03), (A, "modified", 0.03), (A, "closed", 0.031))

    assert ready(burst, start=0.031) == 0.031 + QUIET


def test_one_file_that_may_come_back_holds_up_the_others():
    burst = burst_of((A, "deleted", 0.0), (B, "closed", 0.1))

    assert ready(burst, lambda path: path == A, start=0.1) == HALF_DONE
    assert burst.take() == {A, B}


def test_the_disk_is_not_asked_before_there_is_quiet():
    burst = burst_of((A, "closed", 0.0))

    def ask(path: Path) -> bool:
        raise AssertionError("too early")

    assert burst.wait(QUIET / 2, ask) == pytest.approx(QUIET / 2)


def test_many_files_wait_for_more_quiet():
    paths = [Path(f"/p/{number}.md") for number in range(FEW + 1)]

    assert ready(burst_of(*((path, "closed", 0.0) for path in paths))) == QUIET_OF_MANY
    assert ready(burst_of(*((path, "closed", 0.0) for path in paths[1:]))) == QUIET


def test_a_checkout_of_500_files_with_pauses_is_one_batch():
    burst = burst_of()
    at = 0.0
    for number in range(500):
        burst.add(Hint(Path(f"/p/{number}.md"), "created", at))
        burst.add(Hint(Path(f"/p/{number}.md"), "closed", at))
        at += 0.05 if number == 250 else 0.001
        if number > FEW:
            assert burst.wait(at, whole) > 0
    assert len(burst.take()) == 500


def test_what_never_ends_is_looked_at_all_the_same():
    burst = burst_of()
    now = 0.0
    while burst.wait(now, whole) != 0:
        burst.add(Hint(A, "modified", now))
        now += 0.01

    assert now == pytest.approx(LONGEST, abs=0.02)


def test_while_git_writes_a_work_tree_everything_waits():
    burst = burst_of((LOCK, "created", 0.0), (LOCK, "closed", 0.001), (A, "closed", 0.1), (B, "closed", 1.5))
    assert burst.wait(1.6, whole) > 0

    burst.add(Hint(LOCK, "moved", 1.7))

    assert ready(burst, start=1.7) == 1.7 + QUIET
    assert burst.take() == {A, B}


def test_a_lock_alone_is_nothing_to_look_at():
    burst = burst_of((LOCK, "created", 0.0), (LOCK, "deleted", 0.1))

    assert burst.wait(0.1, whole) is None


def test_a_lock_that_is_left_behind_holds_nobody_up_for_long():
    burst = burst_of((LOCK, "created", 0.0), (A, "closed", 1.0))
    assert ready(burst, start=1.0) == LOCKED
    burst.take()

    burst.add(Hint(A, "closed", 20.0))

    assert ready(burst, start=20.0) == 20.0 + QUIET


def test_what_is_of_no_interest_is_not_waited_for():
    burst = burst_of((A, "closed", 0.0), (Path("/p/0001_assistant.md.partial"), "modified", 0.011))

    assert ready(burst, start=0.011) == QUIET
    assert burst.take() == {A}


kinds = st.sampled_from(["created", "modified", "moved", "deleted", "closed", "touched"])
hints = st.lists(st.tuples(st.sampled_from([A, B, LOCK]), kinds, st.floats(0, 0.2)), min_size=1, max_size=30)


@given(hints, st.sets(st.sampled_from([A, B])))
def test_whatever_happens_every_path_is_looked_at_once_after_quiet_and_before_long(steps, gone):
    burst = burst_of()
    now, pending, first, last = 0.0, set(), 0.0, 0.0
    taken: list[Path] = []
    for path, kind, pause in steps:
        while (wait := burst.wait(now, gone.__contains__)) is not None and wait < pause:
            if wait == 0:
                batch = burst.take()
                assert batch == pending
                assert now >= last + QUIET - 1e-6 or now >= first + LONGEST - 1e-6
                taken += batch
                pending = set()
            now, pause = now + wait, pause - wait
        now += pause
        burst.add(Hint(path, kind, now))
        if path != LOCK:
            first, last = (first if pending else now), now
            pending.add(path)
    while (wait := burst.wait(now, gone.__contains__)) is not None:
        assert wait <= LOCKED
        now += wait
        if wait == 0:
            assert burst.take() == pending
            pending = set()
    assert not pending
