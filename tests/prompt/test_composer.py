from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.conversation.reply import Usage
from pytest_convo.errors import HarnessError, PromptOverflow
from pytest_convo.prompt.blocks import FAN
from pytest_convo.prompt.composer import CUT, Composer, cut
from pytest_convo.prompt.estimate import Estimator
from pytest_convo.prompt.fit import Summarizing
from pytest_convo.prompt.gauge import Gauge
from pytest_convo.prompt.part import Part
from pytest_convo.prompt.source import UNLIMITED, sources_of
from pytest_convo.prompt.stack import Stack
from pytest_convo.settings.bots import BotSettings
from tests.prompt.conftest import BOT, STYLES, TEXTS, Letters, budget

QUESTION = (Message("user", "Tea?"),)
LOOP = (Message("assistant", None, tool_calls=(ToolCall("c", "look"),)), Message("tool", "none", tool_call_id="c"))


class Giving:
    """A source that notes what it is told."""

    def __init__(self, name, says="It rains.", **further):
        self.name, self.says, self.told = name, says, []
        vars(self).update(further)

    async def __call__(self, tokens_left):
        self.told.append(tokens_left)
        if isinstance(self.says, Exception):
            raise self.says
        return self.says


class Writing:
    """A summarizer that notes what it is asked for."""

    def __init__(self, turns=2, cap=60, says="They met."):
        self.how, self.says, self.asked = Summarizing(turns, cap), says, []

    async def summary(self, block, turns):
        self.asked.append(str(block))
        assert len(turns) >= block.last
        return self.says


def composer(*sources, room=None, on_overflow="trim", style="messages", summarizer=None, parts=(), bot=BOT):
    limit = None if room is None else budget(room, 0, on_overflow)
    stack = Stack(parts, style, limit, "estimate")
    return Composer(stack, bot=bot, sources=sources_of(sources), summarizer=summarizer)


def compose(made, history=QUESTION, loop=()):
    return asyncio.run(made.compose(history, loop))


def dropped(built):
    return {one.name: one.dropped for one in built.selection.context}


def turns(number, size=100):
    said = [(Message("user", f"{turn}?"), Message("assistant", "yes " * (size // 4))) for turn in range(number)]
    return (*(message for turn in said for message in turn), *QUESTION)


# -- sources


def test_sources_are_asked_once_for_each_question():
    facts = Giving("facts")
    made = composer(facts)
    first = compose(made)
    second = compose(made, QUESTION, LOOP)
    assert len(facts.told) == 1
    assert first.request.messages[0] == second.request.messages[0]

    facts.says = "It snows."
    third = compose(made, (*QUESTION, Message("assistant", "No."), *QUESTION))
    assert len(facts.told) == 2
    assert "It snows." in third.request.messages[0].content


def test_without_a_budget_any_number_of_tokens_is_left():
    facts, more = Giving("facts"), Giving("more", "Yes.", cap=7)
    compose(composer(facts, more))

    assert facts.told == [UNLIMITED]
    assert more.told == [7]


def test_required_sources_are_asked_first_and_all_stand_as_they_were_declared():
    asked = []
    sources = [Giving("a", required=False), Giving("b"), Giving("c", required=False), Giving("d")]
    for source in sources:
        source.told = type("Noting", (list,), {"append": lambda self, left, name=source.name: asked.append(name)})()

    built = compose(composer(*sources, room=1000))

    assert asked == ["b", "d", "a", "c"]
    assert [one.name for one in built.selection.context] == ["a", "b", "c", "d"]


def test_each_source_is_told_what_its_predecessors_have_left():
    facts, more = Giving("facts", "x" * 400), Giving("more", required=False)
    compose(composer(facts, more, room=1000))

    assert 900 < facts.told[0] < 1000
    assert facts.told[0] - more.told[0] > Estimator().count("x" * 400)


def test_a_source_is_told_its_cap_where_more_is_left():
    facts = Giving("facts", cap=50)
    compose(composer(facts, room=1000))

    assert facts.told == [50]


def test_what_is_said_before_counts_where_none_of_it_may_be_left_out():
    trimming, failing = Giving("facts"), Giving("facts")
    compose(composer(trimming, room=1000), turns(3))
    compose(composer(failing, room=1000, on_overflow="error"), turns(3))

    assert trimming.told[0] - failing.told[0] > 3 * 25


def test_an_optional_source_is_not_asked_where_nothing_is_left():
    facts = Giving("facts", required=False)

    assert dropped(compose(composer(facts, room=10)))["facts"] == "no room was left to ask it"
    assert facts.told == []


def test_one_that_says_too_much_takes_no_room_from_the_next():
    long, facts = Giving("long", "x " * 3000, required=False), Giving("facts", required=False)

    built = compose(composer(long, facts, room=300))

    assert dropped(built) == {"long": "no room was left", "facts": ""}


def test_above_its_cap_an_optional_source_is_left_out_and_a_required_one_is_an_error():
    built = compose(composer(Giving("facts", "It rains. " * 9, cap=5, required=False)))
    assert "and its cap is 5" in dropped(built)["facts"]

    with pytest.raises(PromptOverflow, match="the context source 'facts' is too long: it has") as caught:
        compose(composer(Giving("facts", "It rains. " * 9, cap=5)))
    assert "required = False" in caught.value.hint


def test_one_that_fails_is_an_error_or_left_out():
    built = compose(composer(Giving("facts", OSError("no network"), required=False), Giving("more")))
    assert dropped(built) == {"facts": "it failed: OSError: no network", "more": ""}

    with pytest.raises(HarnessError, match="'facts' failed: OSError: no network"):
        compose(composer(Giving("facts", OSError("no network"))))


def test_one_that_has_nothing_to_say_leaves_no_trace_in_the_request():
    built = compose(composer(Giving("facts", None), Giving("more", Part("other", "It snows."))))

    assert dropped(built) == {"facts": "", "more": ""}
    assert [(row.name, row.status, row.why) for row in built.rows[:2]] == [
        ("facts", "empty", "it has nothing to say"),
        ("more", "sent", ""),
    ]
    assert built.request.messages[0].content == '<context name="more">\nIt snows.\n</context>'


def test_a_required_source_that_does_not_fit_is_an_error_with_a_table():
    with pytest.raises(PromptOverflow, match="too large") as caught:
        compose(composer(Giving("facts", "x " * 3000), room=300))

    assert "context   facts" in caught.value.what


@given(
    st.lists(st.tuples(TEXTS, st.booleans(), st.none() | st.integers(1, 30)), max_size=4), st.integers(0, 400), STYLES
)
@settings(deadline=None)
def test_whatever_sources_say_the_request_fits_or_is_an_error(given, room, style):
    sources = [
        Giving(f"source {number}", says, required=required, cap=cap)
        for number, (says, required, cap) in enumerate(given)
    ]
    try:
        built = compose(composer(*sources, room=room, style=style))
    except PromptOverflow:
        return
    assert built.tokens <= room
    text = "".join(message.text for message in built.request.messages)
    for source, one in zip(sources, built.selection.context, strict=True):
        assert one.dropped or source.says in text
        assert not one.dropped or not source.required or not source.says
        assert all(0 <= told <= (source.cap or room) for told in source.told)


# -- summaries


def test_summaries_are_asked_for_where_they_are_selected_and_nowhere_else():
    writing = Writing()
    made = composer(room=300, on_overflow="summarize", summarizer=writing)

    compose(made, turns(2))
    assert writing.asked == []

    built = compose(made, turns(12))
    assert writing.asked == [str(block) for block in built.selection.summaries] != []
    assert "They met." in built.request.messages[0].content


def test_a_summary_that_is_too_long_is_cut_and_says_so():
    writing = Writing(says="They met. " * 200)
    built = compose(composer(room=300, on_overflow="summarize", summarizer=writing), turns(12))

    assert built.tokens <= 300
    assert CUT in built.request.messages[0].content


def test_as_a_conversation_grows_its_summaries_stay():
    writing = Writing(turns=1, cap=30)
    made = composer(room=400, on_overflow="summarize", summarizer=writing)
    for number in range(30):
        compose(made, turns(number))

    whole = [block for block in set(writing.asked) if "-" not in block]
    assert len(set(writing.asked)) <= len(whole) + 30 / (FAN - 1)


def test_what_the_summarizer_raises_is_raised():
    class Failing(Writing):
        async def summary(self, block, turns):
            raise HarnessError("nobody writes")

    with pytest.raises(HarnessError, match="nobody writes"):
        compose(composer(room=300, on_overflow="summarize", summarizer=Failing()), turns(12))


def test_without_a_summarizer_turns_are_left_out():
    built = compose(composer(room=300, on_overflow="summarize"), turns(12))

    assert built.selection.summaries == ()
    assert 0 < len(built.selection.turns) < 12


@given(st.text(max_size=60), st.integers(0, 40))
def test_what_is_cut_is_never_too_long(text, most):
    found = cut(text, most, Letters().count)

    assert len(found) <= most
    assert found == text or found == "" or (found.endswith(CUT) and text.startswith(found.removesuffix(CUT)))


@given(TEXTS, st.integers(0, 40))
@settings(deadline=None)
def test_nor_is_it_by_an_estimate(text, most):
    assert Estimator().count(cut(text, most, Estimator().count)) <= most


# -- what is learned


def test_it_becomes_more_careful_when_the_server_counts_more():
    made = composer(room=300)
    before = compose(made, turns(12))
    made.learn(before, Usage(2 * before.tokens))

    after = compose(made, turns(12))
    assert len(after.selection.turns) < len(before.selection.turns)
    assert after.tokens <= 300


@pytest.mark.parametrize("usage", [None, Usage(), Usage(1)])
def test_it_never_becomes_less_careful_than_it_was(usage):
    made = composer(room=300)
    before = compose(made, turns(12))
    made.learn(before, usage)

    assert compose(made, turns(12)).request == before.request


def test_what_one_run_has_learned_no_other_knows():
    one, other = composer(room=300), composer(room=300)
    built = compose(one, turns(12))
    one.learn(built, Usage(3 * built.tokens))

    assert compose(other, turns(12)).request == built.request


def test_the_same_run_makes_the_same_requests():
    def run():
        made = composer(Giving("facts"), room=900, on_overflow="summarize", summarizer=Writing())
        bodies = []
        for number in range(12):
            built = compose(made, turns(number))
            bodies.append(json.dumps([built.request.body(), built.told()]))
            made.learn(built, Usage(int(1.2 * Gauge(Estimator()).request(built.request))))
            bodies.append(json.dumps(compose(made, turns(number), LOOP).request.body()))
        return bodies

    assert run() == run()


def test_it_tells_what_requests_are_made_of_where_that_may_change():
    told = [one.told(compose(one)) for one in (composer(), composer(room=300), composer(Giving("facts")))]

    assert [one is not None for one in told] == [False, True, True]
    assert told[1]["room"] == 300
    assert told[1]["server_counts"]


def test_a_script_teaches_nothing_for_it_counts_words():
    one = composer(room=300, bot=BotSettings(provider="scripted"))
    built = compose(one)

    one.learn(built, Usage(10_000, 1))

    assert compose(one).tokens == built.tokens
    assert not one.told(built)["server_counts"]
