from __future__ import annotations

import sqlite3
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.run.pace import SCHEMA, Pace


@pytest.fixture
def db():
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute(SCHEMA)
    yield connection
    connection.close()


def started(db, pace, requests, *, now=100.0, tokens=0):
    """The moments at which so many requests start that are there all at once."""
    moments = []
    for _ in range(requests):
        while (left := pace.left(db, now)) > 0:
            now += left
        pace.start(db, now, tokens)
        moments.append(now)
    return moments


def test_without_limits_everything_starts_at_once(db):
    assert started(db, Pace("a"), 5, tokens=10**6) == [100.0] * 5


def test_requests_are_spaced_evenly(db):
    assert started(db, Pace("a", requests=30), 4) == [100.0, 102.0, 104.0, 106.0]


def test_what_was_not_used_is_not_saved_up(db):
    pace = Pace("a", requests=60)
    started(db, pace, 1)

    assert started(db, pace, 3, now=1000.0) == [1000.0, 1001.0, 1002.0]


def test_tokens_are_paid_off_before_the_next_request(db):
    assert started(db, Pace("a", tokens=600), 3, tokens=50) == [100.0, 105.0, 110.0]


def test_of_two_limits_the_slower_one_holds(db):
    assert started(db, Pace("a", requests=60, tokens=600), 3, tokens=50) == [100.0, 105.0, 110.0]
    assert started(db, Pace("b", requests=6, tokens=600), 3, tokens=50) == [100.0, 110.0, 120.0]


@pytest.mark.parametrize("more, next_one", [(50, 110.0), (0, 105.0), (-30, 102.0), (-50, 100.0), (-500, 100.0)])
def test_a_guess_is_put_right(db, more, next_one):
    pace = Pace("a", tokens=600)
    started(db, pace, 1, tokens=50)
    pace.correct(db, more)

    assert started(db, pace, 1) == [pytest.approx(next_one)]


def test_servers_do_not_wait_for_one_another(db):
    started(db, Pace("a", requests=1), 1)

    assert started(db, Pace("b", requests=1), 1) == [100.0]


def test_different_limits_of_one_server_share_its_time(db):
    started(db, Pace("a", requests=60), 1)

    assert started(db, Pace("a", requests=30), 2) == [101.0, 103.0]


@given(st.lists(st.tuples(st.floats(0, 10), st.integers(0, 2000), st.integers(-2000, 2000)), max_size=40))
def test_neither_limit_is_passed_whoever_asks_when(asked):
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute(SCHEMA)
    pace, now, began = Pace("a", requests=120, tokens=6000), 0.0, []
    for later, tokens, more in asked:
        now += later
        while (left := pace.left(connection, now)) > 0:
            now += left
        more = max(more, -tokens)
        pace.start(connection, now, tokens)
        pace.correct(connection, more)
        began.append((now, tokens + more))
    connection.close()

    gaps = [after - before for (before, _), (after, _) in pairwise(began)]
    assert all(gap >= 0.5 - 1e-9 for gap in gaps)
    for first in range(len(began)):
        for last in range(first + 1, len(began)):
            used = sum(tokens for _, tokens in began[first:last])  # the last one has only just begun
            assert used <= 100 * (began[last][0] - began[first][0]) + 1e-6
