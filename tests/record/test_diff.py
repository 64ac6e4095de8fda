from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.record.diff import WIDTH, changed_lines, shown_pair


@pytest.mark.parametrize(
    ("then", "now", "lines"),
    [
        ("a\nb\nc", "a\nB\nc", ["@@ line 2", "-b", "+B"]),
        ("a\nc", "a\nb\nc", ["@@ line 2", "+b"]),
        ("a\nb\nc", "a\nc", ["@@ line 2", "-b"]),
        ("a\nb", "A\nb\nc", ["@@ line 1", "-a", "+A", "@@ line 3", "+c"]),
        ("", "a", ["@@ line 1", "-", "+a"]),
        ("a", "a\n", ["@@ line 2", "+''"]),
        ("a b", "a b ", ["@@ line 1", "-'a b'", "+'a b '"]),
        ("a\tb", "a b", ["@@ line 1", "-'a\\tb'", "+'a b'"]),
        ("a\r\nb", "a\nb", ["@@ line 1", "-'a\\r'", "+'a'"]),
        ("a", "\x1b[31ma", ["@@ line 1", "-a", "+\\x1b[31ma"]),
        ("same", "same", []),
    ],
)
def test_only_lines_that_changed_are_shown(then, now, lines):
    assert changed_lines(then, now) == lines


def test_a_long_line_is_cut_down_to_its_difference():
    then, now = ("x" * 500 + word + "y" * 500 for word in ("kind", "brief"))
    _, minus, plus = changed_lines(then, now)
    assert "kind" in minus
    assert "brief" in plus
    assert max(len(minus), len(plus)) <= WIDTH + 3


def test_many_changes_are_counted():
    then, now = ("\n".join(f"{word} {n}" for n in range(20)) for word in ("a", "b"))
    lines = changed_lines(then, now, limit=6)
    assert lines == ["@@ line 1", "-a 0", "+b 0", "-a 1", "+b 1", "… and 36 more"]


@given(st.text(st.characters(exclude_categories=())), st.text(st.characters(exclude_categories=())))
def test_whatever_is_shown_can_be_printed_and_differs(then, now):
    lines = changed_lines(then, now)
    assert (lines == []) == (then == now)
    assert all(line.isprintable() and len(line) <= WIDTH * 10 for line in lines)
    a, b = (one.split("\n")[0] for one in (then, now))
    assert a == b or shown_pair(a, b)[0] != shown_pair(a, b)[1]


def test_texts_of_any_length_are_compared_in_no_time():
    then, now = ("\n".join(f"{word} {n % 7}" for n in range(200_000)) for word in ("a", "b"))
    begin = time.process_time()
    assert len(changed_lines(then, now)) == 8
    assert time.process_time() - begin < 2
