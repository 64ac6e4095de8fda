from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given, settings

from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.errors import PromptOverflow
from pytest_convo.prompt import render
from pytest_convo.prompt.build import build
from pytest_convo.prompt.estimate import Estimator
from pytest_convo.prompt.fit import Material, Summarizing, fit
from pytest_convo.prompt.gauge import Gauge
from pytest_convo.prompt.source import Context
from pytest_convo.prompt.stack import Budget, Stack
from pytest_convo.prompt.talk import shortened, split
from tests.prompt.conftest import (
    BOT,
    CASES,
    GAUGES,
    HOW,
    OVERFLOWS,
    Case,
    Letters,
    Said,
    budget,
    excess,
    fits,
    gauge,
    made,
    tight,
)


def conversation(built):
    page = built.selection.page(built.material, built.texts)
    return [*page.history, *page.now]


def same(sent, said):
    """Whether a message that was sent is the one that was said, shortened or not."""
    if sent.content == said.content or said.role == "system":
        return sent == said
    parts = isinstance(said.content, list)
    notice = "characters were left out here, to fit the token budget" in sent.text
    return sent.name == said.name and sent.role in ("tool", "user") and notice and not parts


def text_of(built):
    return "\n".join(message.text for message in built.request.messages)


# -- what holds for all of them


@given(tight())
@settings(deadline=None, max_examples=50)
def test_a_request_fits_or_is_an_error_that_says_by_how_much(tight):
    case, limit, by, how = tight
    try:
        built = made(case.given(limit), gauge(*by), how)
    except PromptOverflow as error:
        more = excess(error)
        raised = Budget(limit.tokens + more, limit.reserve, limit.on_overflow)
        nearly = Budget(raised.tokens - 1, limit.reserve, limit.on_overflow)
        assert more > 0
        assert fits(case, raised, by, how) is not None
        assert fits(case, nearly, by, how) is None
    else:
        assert gauge(*by).request(built.request) == built.tokens <= limit.room


@given(tight())
@settings(deadline=None, max_examples=50)
def test_order_is_kept(tight):
    case, *further = tight
    if built := fits(case, *further):
        said = iter([*case.said.history, *case.said.loop])
        assert all(any(same(sent, one) for one in said) for sent in conversation(built))


@given(tight())
@settings(deadline=None, max_examples=50)
def test_what_is_kept_is_the_newest(tight):
    case, *further = tight
    if built := fits(case, *further):
        talk, chosen = built.material.talk, built.selection
        for sent, pieces in ((chosen.turns, talk.turns), (chosen.steps, talk.steps)):
            for kept, piece in zip(sent, pieces[len(pieces) - len(sent) :], strict=True):
                assert all(map(same, kept, piece))
                assert len(kept) == len(piece)
        assert not chosen.turns or len(chosen.steps) == len(talk.steps)


@given(tight())
@settings(deadline=None, max_examples=50)
def test_nothing_required_is_missing(tight):
    case, *further = tight
    if built := fits(case, *further):
        sent, text = conversation(built), text_of(built)
        said = [*case.said.history, *case.said.loop]
        assert [one for one in sent if one.role == "system"] == [one for one in said if one.role == "system"]
        assert all(one in sent for one in built.material.talk.question)
        assert all(any(same(kept, one) for kept in sent) for step in built.material.talk.steps[-1:] for one in step)
        assert all(part.content in text for part in case.parts)
        assert all(one.text in text for one in case.context if one.required and not one.dropped)
        assert built.request.tools == case.tools


@given(tight())
@settings(deadline=None, max_examples=50)
def test_a_call_is_never_parted_from_its_result(tight):
    if built := fits(*tight):
        sent = conversation(built)
        calls = sorted(call.id for message in sent for call in message.tool_calls)
        assert calls == sorted(message.tool_call_id for message in sent if message.role == "tool")


@given(tight())
@settings(deadline=None, max_examples=50)
def test_what_is_chosen_is_what_is_sent(tight):
    if built := fits(*tight):
        page = built.selection.page(built.material, built.texts)
        assert built.request.messages == render.render(tight[0].style, page)


@given(tight())
@settings(deadline=None, max_examples=50)
def test_the_same_is_always_the_same(tight):
    one, other = fits(*tight), fits(*tight)

    assert (one and json.dumps(one.request.body())) == (other and json.dumps(other.request.body()))
    assert (one and one.rows) == (other and other.rows)


@given(CASES, GAUGES, OVERFLOWS)
@settings(deadline=None, max_examples=50)
def test_what_fits_is_sent_whole(case, by, on_overflow):
    whole = build(**case.given(), gauge=gauge(*by))

    found = made(case.given(budget(whole.tokens, 10, on_overflow)), gauge(*by), Summarizing(1, 20))
    assert found.request == whole.request
    assert conversation(whole) == [*case.said.history, *case.said.loop]
    assert not any(one.dropped == "no room was left" for one in whole.selection.context)


@given(tight())
@settings(deadline=None, max_examples=50)
def test_with_error_nothing_that_was_said_is_left_out(tight):
    case, limit, by, _ = tight
    if built := fits(case, Budget(limit.tokens, limit.reserve, "error"), by, None):
        assert conversation(built) == [*case.said.history, *case.said.loop]


@given(tight())
@settings(deadline=None, max_examples=50)
def test_what_is_left_out_says_why(tight):
    case, *further = tight
    if built := fits(case, *further):
        names = [one.name for one in built.selection.context]
        assert names == [one.name for one in case.context]
        for one, was in zip(built.selection.context, case.context, strict=True):
            assert one.dropped == was.dropped or (one.dropped == "no room was left" and not was.required)


# -- summaries


@given(tight(), HOW)
@settings(deadline=None, max_examples=50)
def test_summaries_stand_for_the_turns_just_before_those_that_are_sent(tight, how):
    case, limit, by, _ = tight
    if built := fits(case, limit, by, how):
        blocks, gone = built.selection.summaries, len(built.material.talk.turns) - len(built.selection.turns)
        assert not blocks or blocks[-1].last == gone
        assert all(after.first == block.last + 1 for block, after in pairwise(blocks))
        assert set(built.texts) == set(blocks)


@given(tight(), HOW)
@settings(deadline=None, max_examples=50)
def test_what_is_sent_does_not_depend_on_what_the_summaries_say(tight, how):
    case, limit, *_ = tight
    limit = Budget(limit.tokens, limit.reserve, "summarize")
    try:
        long = made(case.given(limit), gauge(Letters), how, lambda block: "s" * how.cap)
        short = made(case.given(limit), gauge(Letters), how, lambda block: "s")
    except PromptOverflow:
        return
    assert long.selection == short.selection


def test_summaries_take_the_place_of_the_oldest_turns():
    case = plain(*((f"question {turn} " + "x" * 90, "y" * 90) for turn in range(6)))

    built = made(case.given(budget(1000, 0, "summarize")), gauge(), Summarizing(2, 50))

    assert [str(block) for block in built.selection.summaries] == ["turns 1-2"]
    assert len(built.selection.turns) == 4


# -- by example


def plain(*turns, loop=(), style="messages", context=()):
    history = [Message(role, text) for turn in turns for role, text in zip(("user", "assistant"), turn, strict=True)]
    return Case((), Said((*history, Message("user", "now")), tuple(loop)), tuple(context), (), style)


def test_the_newest_turns_that_fit_are_sent():
    case = plain(("a" * 100, "b" * 100), ("c" * 10, "d" * 10), ("e" * 10, "f" * 10))

    built = made(case.given(budget(100)), gauge())

    assert [message.content for message in built.request.messages] == ["c" * 10, "d" * 10, "e" * 10, "f" * 10, "now"]


@pytest.mark.parametrize("style", ["xml", "text"])
@pytest.mark.parametrize("room", [200, 2000, 10_000])
def test_many_short_turns_without_roles_use_the_budget(style, room):
    built = made(plain(*[("hi", "yo")] * 300, style=style).given(budget(room)), gauge())

    assert 0.75 * room <= built.tokens <= room


def test_delimiters_alone_are_no_reason_to_fail():
    tags = "<user>" * 50  # which give all others a number
    case = plain(*[("hi", "yo")] * 100, (tags, "yo"), style="xml")

    assert 1500 <= made(case.given(budget(2000)), gauge()).tokens <= 2000


def test_a_system_message_in_the_turn_that_is_being_answered_stays():
    case = plain(loop=[Message("assistant", "a" * 90), Message("system", "Be brief."), Message("assistant", "b" * 90)])

    built = made(case.given(budget(140)), gauge())

    assert [message.role for message in built.request.messages] == ["user", "system", "assistant"]


def test_a_result_is_shortened_before_its_turn_is_left_out():
    call = Message("assistant", None, tool_calls=(ToolCall("c", "look"),))
    loop = [call, Message("tool", "x" * 9000, tool_call_id="c")]

    sent = made(plain(loop=loop).given(budget(5000)), gauge()).request.messages

    assert sent[-1] == shortened((loop[-1],), 4000)[0]
    assert "[5,000 characters were left out here, to fit the token budget]" in sent[-1].content


def test_so_is_what_an_agent_without_tools_is_told():
    loop = [Message(role, letter * size) for letter in "ab" for role, size in (("assistant", 9), ("user", 3000))]

    built = made(plain(loop=loop).given(budget(4200)), gauge())

    assert [len(message.content) for message in built.request.messages] == [3, 9, 1064, 9, 3000]


def test_no_turn_is_sent_where_a_later_step_is_not():
    loop = [Message("assistant", "a" * 500), Message("assistant", "b")]

    built = made(plain(("hi", "yo"), loop=loop).given(budget(100)), gauge())

    assert [message.content for message in built.request.messages] == ["now", "b"]


def test_of_optional_context_the_first_that_fits_is_sent():
    context = [Context(name, name * 100, required=False) for name in "abc"]
    context.insert(1, Context("long", "x" * 1000, required=False))

    built = made(plain(context=context).given(budget(300)), gauge())

    kept = [(one.name, one.dropped) for one in built.selection.context]
    assert kept == [("a", ""), ("long", "no room was left"), ("b", ""), ("c", "no room was left")]


def test_context_that_is_required_is_an_error_where_it_does_not_fit():
    case = plain(context=[Context("facts", "x" * 500)])

    with pytest.raises(PromptOverflow) as caught:
        made(case.given(budget(300, 50)), gauge())

    said = caught.value.what.splitlines()
    assert said[0].endswith("tokens too large: it has 548, and [prompt] budget = 350 leaves 300 with 50 for the answer")
    assert [line.split()[:3] for line in said[1:3]] == [["context", "facts", "500"], ["turn", "question", "7"]]


def test_an_error_hints_at_trimming_where_nothing_may_be_left_out():
    case = plain(("a" * 100, "b" * 100))

    for on_overflow, hints in (("error", True), ("trim", False)):
        with pytest.raises(PromptOverflow) as caught:
            made(case.given(budget(5, 0, on_overflow)), gauge())
        assert ('on_overflow = "trim"' in caught.value.hint) == hints


def test_an_estimate_says_so():
    with pytest.raises(PromptOverflow, match="too large, as far as can be estimated"):
        made(plain().given(budget(5)), gauge(Estimator))


def test_blanks_that_cost_less_than_a_notice_are_not_shortened_into_an_error():
    case = plain(loop=[Message("assistant", "a"), Message("user", " " * 5000)])
    whole = build(**case.given(), gauge=gauge(Estimator)).tokens

    with pytest.raises(PromptOverflow) as caught:
        made(case.given(budget(whole - 300)), gauge(Estimator))
    assert fits(case, budget(whole - 300 + excess(caught.value)), (Estimator, 0), None) is not None


def test_nothing_depends_on_how_strings_are_hashed():
    script = """if True:
        import json
        from pytest_convo.conversation.message import Message
        from pytest_convo.prompt.build import build
        from pytest_convo.prompt.source import Context
        from pytest_convo.prompt.stack import Budget, Stack
        from pytest_convo.settings.bots import BotSettings
        history = [Message(role, f"{turn} <user-3> <user>") for turn in range(20) for role in ("user", "assistant")]
        context = [Context(name, name, required=False) for name in ("b", "a", "c")]
        for style in ("messages", "xml", "text"):
            stack = Stack.of("Be kind.")
            stack = Stack(stack.parts, style, Budget(200, 0, "trim"), "estimate")
            built = build(stack=stack, history=[*history, Message("user", "q")], context=context, bot=BotSettings())
            print(json.dumps([built.request.body(), built.told()]))
    """
    said = {
        subprocess.run(
            [sys.executable, "-c", script], env=os.environ | {"PYTHONHASHSEED": seed}, check=True, capture_output=True
        ).stdout
        for seed in "012"
    }

    assert len(said) == 1


def test_one_part_of_the_stack_is_enough_for_a_room_below_zero():
    stack = Stack.of("Be kind.")
    limit = Budget(10, 20)

    with pytest.raises(PromptOverflow) as caught:
        build(stack=Stack(stack.parts, budget=limit), history=[Message("user", "now")], bot=BOT, gauge=gauge())
    raised = Stack(stack.parts, budget=Budget(10 + excess(caught.value), 20))
    assert build(stack=raised, history=[Message("user", "now")], bot=BOT, gauge=gauge()).tokens == raised.budget.room


def test_where_not_all_turns_can_be_summarized_the_newest_are_sent_as_they_are():
    turns = [(Message("user", f"{number}? {'x' * 90}"), Message("assistant", "yes")) for number in range(21)]
    history = [message for turn in turns for message in turn]
    talk = split([*history, Message("user", "now")])
    material = Material(Stack(), talk)
    gauge = Gauge(Letters())
    size = gauge.messages(talk.turns[-1])

    room = gauge.messages(talk.question) + gauge.fixed() + 5 * size
    trimmed = fit(material, room, gauge, "trim")
    found = fit(material, room, gauge, "summarize", Summarizing(6, size))

    assert len(trimmed.turns) == 5
    assert [str(block) for block in found.summaries] == ["turns 13-18"]
    assert found.turns == talk.turns[18:]


def test_where_no_summary_fits_it_is_as_if_nobody_summarized():
    history = [Message(role, "x" * 40) for _ in range(9) for role in ("user", "assistant")]
    material = Material(Stack(), split([*history, Message("user", "now")]))
    gauge = Gauge(Letters())

    trimmed = fit(material, 200, gauge, "trim")

    assert len(trimmed.turns) > 0
    assert fit(material, 200, gauge, "summarize", Summarizing(6, 1000)) == trimmed
