from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.agent.bounds import LIMIT, bounded, told
from pytest_convo.sandbox.base import CommandResult


def result(return_code=0, output="", error="", **more):
    return CommandResult(return_code, output, error, **more)


@given(st.text(max_size=300), st.integers(1, 200))
def test_a_text_is_whole_or_its_head_and_tail_with_the_number_of_what_is_between(text, limit):
    shown = bounded(text, limit)

    if len(text) <= limit:
        assert shown == text
    else:
        mark = f"\n[... {len(text) - limit} characters omitted ...]\n"
        head, tail = limit - limit // 2, limit // 2
        assert shown == text[:head] + mark + text[len(text) - tail :]


@pytest.mark.parametrize(
    "ended, text",
    [
        (result(0, "a\nb\n"), "stdout:\na\nb"),
        (result(0, "", "careful\n"), "stderr:\ncareful"),
        (result(3, "a\n", "b\n"), "stdout:\na\nstderr:\nb\nended with 3"),
        (result(0), "ended with 0, nothing was written"),
        (result(1), "ended with 1, nothing was written"),
        (
            result(124, "part\n", timed_out=True, killed="timeout", seconds=3.17),
            "stdout:\npart\nkilled after 3 s: its time was up; everything that ran in the sandbox was killed with it",
        ),
        (
            result(137, "y\ny", killed="output_limit"),
            "stdout:\ny\ny\nkilled: it wrote more than a command may; "
            "everything that ran in the sandbox was killed with it",
        ),
        (result(137, killed="kill"), "killed; everything that ran in the sandbox was killed with it"),
    ],
)
def test_what_a_model_is_told_of_a_command(ended, text):
    assert told(ended, 3) == text


def test_what_a_killed_command_wrote_is_not_counted():
    def killed(count):
        text = f"{'y' * 20_000}\n[... {count} bytes omitted ...]\n{'y' * 20_000}"
        return told(result(137, text, killed="output_limit", truncated=count, seconds=count / 7), 60)

    assert killed(67_000_001) == killed(71_234_567)
    assert "[... omitted ...]" in killed(67_000_001)


def test_what_a_command_that_ended_wrote_is_counted():
    assert f"[... {LIMIT // 2} characters omitted ...]" in told(result(0, "x" * (LIMIT + LIMIT // 2)), 60)


@given(st.integers(0, 40_000), st.integers(0, 40_000))
def test_two_streams_share_the_limit_and_use_it_up(out, error):
    text = told(result(0, "ö" * out, "ü" * error), 60)

    assert text.count("ö") + text.count("ü") == min(out + error, LIMIT)
