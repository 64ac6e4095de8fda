from __future__ import annotations

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.prompt.estimate import Estimator
from pytest_convo.prompt.gauge import CALL, HIGHEST, IMAGE, MARGIN, MEDIA, MESSAGE, NAME, PRIMING, TOOL, Gauge
from pytest_convo.prompt.request import Request, ToolSpec


class Letters:
    """A token a character."""

    name = "letters"

    def __init__(self, *, exact=True):
        self.exact = exact

    def count(self, text):
        return len(text)


def gauge(*, exact=True):
    return Gauge(Letters(exact=exact))


def request(size, **further):
    """A request whose raw size is this."""
    return Request("model", (Message("user", "x" * (size - MESSAGE - PRIMING)),), **further)


TEXTS = st.text(max_size=30)
CALLS = st.builds(ToolCall, TEXTS, TEXTS, TEXTS)
PARTS = st.builds(lambda text: {"type": "text", "text": text}, TEXTS) | st.just({"type": "image_url", "image_url": {}})
MESSAGES = st.lists(
    st.builds(
        Message,
        st.sampled_from(["system", "user", "assistant", "tool"]),
        st.none() | TEXTS | st.lists(PARTS, max_size=3),
        st.none() | TEXTS,
        st.lists(CALLS, max_size=2).map(tuple),
        st.none() | TEXTS,
    ),
    max_size=6,
)
LESSONS = st.lists(st.tuples(st.integers(10, 500), st.integers(-5, 5000)), max_size=5)


def taught(lessons, tokenizer=None):
    found = Gauge(tokenizer or Estimator())
    for size, counted in lessons:
        found.learn(request(size), counted)
    return found


def test_a_message_has_its_text_and_what_is_around_it():
    assert gauge().messages([Message("user", "four"), Message("assistant", None)]) == 2 * MESSAGE + 4


def test_a_name_and_the_call_that_is_answered_count():
    assert gauge().messages([Message("user", "four", name="Ann")]) == MESSAGE + 4 + NAME + 3
    assert gauge().messages([Message("tool", "four", tool_call_id="call_1")]) == MESSAGE + 4 + 6


def test_calls_count_with_id_name_and_arguments():
    message = Message("assistant", None, tool_calls=(ToolCall("1", "look", "{}"), ToolCall("2", "go", '{"a": 1}')))

    assert gauge().messages([message]) == MESSAGE + 2 * CALL + (1 + 4 + 2) + (1 + 2 + 8)


def test_what_is_never_sent_does_not_count():
    assert gauge().messages([Message("assistant", "four", extra={"reasoning": "x" * 100})]) == MESSAGE + 4


@pytest.mark.parametrize(
    ("part", "tokens"),
    [
        ({"type": "text", "text": "four"}, 4),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 10_000}}, IMAGE),
        ({"type": "file", "file": {"file_data": "A" * 100}}, MEDIA),
        ({"type": "new", "x": 1}, len('{"type": "new", "x": 1}')),
        ({"type": "text", "text": None}, len('{"type": "text", "text": null}')),
    ],
)
def test_parts(part, tokens):
    assert gauge().messages([Message("user", [part])]) == MESSAGE + tokens


def test_a_larger_file_has_more_tokens():
    small, large = ([Message("user", [{"type": "input_audio", "data": "A" * size}])] for size in (10_000, 1_000_000))

    assert gauge().messages(small) < gauge().messages(large) < 1_000_000 / 8


def test_tools_count_by_their_json():
    tool = ToolSpec("look", "Looks.")

    assert gauge().tools([], {}) == 0
    assert gauge().tools([tool], {}) > TOOL + len("lookLooks.")
    assert gauge().tools([tool, tool], {}) == 2 * gauge().tools([tool], {})


def test_of_the_parameters_only_those_count_that_the_model_reads():
    assert gauge().tools([], {"temperature": 0, "seed": 7, "stop": ["x" * 100]}) == 0
    assert gauge().tools([], {"response_format": {"a": 1}, "tools": [1], "functions": []}) == 8 + 3 + 2


def test_a_request_is_the_sum_of_its_parts():
    tools, parameters = (ToolSpec("look"),), {"response_format": {"type": "json_object"}}
    whole = Request("model", (Message("system", "Be kind."), Message("user", "Hello?")), tools, parameters)
    found = gauge()
    found.learn(request(100), 137)

    assert found.request(whole) == found.messages(whole.messages) + found.tools(tools, parameters) + found.fixed()


# -- what is learned


def test_nothing_is_multiplied_at_first():
    assert gauge().factor == 1
    assert gauge().text("four") == 4
    assert gauge().fixed() == PRIMING


def counted_for(found, size):
    return found.request(request(size))


def test_a_higher_count_is_believed():
    found = gauge()
    found.learn(request(1000), 1500)

    assert found.factor == 1.4  # the rest may be overhead
    assert found.text("xxx") == ceil(4.2)
    assert counted_for(found, 1000) >= 1500


def test_what_a_server_adds_to_a_small_request_is_no_factor_of_a_large_one():
    found = gauge()
    found.learn(request(20), 60)

    assert found.factor == 1
    assert counted_for(found, 20) == 60
    assert counted_for(found, 2300) == 2340


def test_two_requests_tell_a_factor_from_an_overhead():
    one, other = gauge(), gauge()
    for size in (50, 400):
        one.learn(request(size), 2 * size)
        other.learn(request(size), size + 70)

    assert (one.factor, other.factor) == (2, 1)
    assert 2000 <= counted_for(one, 1000) <= 2010
    assert counted_for(other, 1000) == 1070


def test_an_estimate_is_widened_where_it_was_too_low():
    found = gauge(exact=False)
    found.learn(request(1000), 1600)

    assert found.factor == pytest.approx(1.5 * MARGIN)


@pytest.mark.parametrize("counted", [100, 99, 10, 1, 0, -1])
@pytest.mark.parametrize("exact", [True, False])
def test_a_count_that_is_no_higher_leaves_ours(exact, counted):
    found = gauge(exact=exact)
    found.learn(request(100), counted)

    assert counted_for(found, 100) == 100


def test_a_larger_request_corrects_what_a_small_one_taught():
    found = gauge()
    found.learn(request(20), 400)
    assert found.factor > 4
    found.learn(request(1000), 1380)

    assert found.factor == 1
    assert counted_for(found, 1000) == 1380


def test_a_much_smaller_request_teaches_nothing():
    found = gauge()
    found.learn(request(1000), 1080)
    found.learn(request(499), 4000)

    assert counted_for(found, 1000) == 1080
    found.learn(request(500), 750)
    assert counted_for(found, 500) >= 750


def test_no_count_at_all_teaches_nothing():
    found = gauge()
    found.learn(request(100), 150)
    found.learn(request(1000), 0)

    assert counted_for(found, 100) == 150


def test_a_count_that_no_factor_explains_is_believed_all_the_same():
    found = gauge()
    found.learn(request(10), 10_000)

    assert found.factor == HIGHEST
    assert counted_for(found, 10) >= 10_000


def test_what_was_learned_does_not_change_what_teaches():
    found = gauge()
    found.learn(request(1000), 2000)
    before = found.factor
    found.learn(request(1000), 2000)

    assert found.factor == before == 1.9


@given(LESSONS, st.booleans())
def test_the_factor_is_never_below_one(lessons, exact):
    assert 1 <= taught(lessons, Letters(exact=exact)).factor <= HIGHEST * MARGIN


@given(LESSONS)
def test_what_was_counted_is_not_underestimated_again(lessons):
    found = Gauge(Letters())
    for size, counted in lessons:
        found.learn(request(size), counted)
        if counted > 0 and found._taught_by == size:
            assert found.request(request(size)) >= counted


@given(MESSAGES, MESSAGES, LESSONS)
def test_parts_are_never_less_than_the_whole(one, other, lessons):
    found = taught(lessons)

    assert found.messages([*one, *other]) <= found.messages(one) + found.messages(other)


@given(MESSAGES, MESSAGES, LESSONS)
def test_more_messages_are_never_less(one, other, lessons):
    found = taught(lessons)

    assert found.messages([*one, *other]) >= found.messages(one) + len(other) * MESSAGE


@given(MESSAGES, LESSONS)
def test_the_same_replies_teach_the_same(messages, lessons):
    one, other = taught(lessons), taught(lessons)

    assert one.factor == other.factor
    assert one.messages(messages) == other.messages(messages)
