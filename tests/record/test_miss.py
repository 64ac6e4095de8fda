from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.conversation.reply import Reply
from pytest_convo.errors import NoRecording
from pytest_convo.prompt.request import ToolSpec

PROMPT = "Be kind.\nName the deadline.\nBe brief."
HINT = "record it with --convo-record=new, or the whole run anew with --convo-record=all"


@pytest.fixture
def why(project, make):
    """What is told where `request` is asked after `recorded`, without the place and the hint."""

    def miss(request, *recorded, asked=(), run=1):
        if recorded:
            project.record(*((one, Reply("A")) for one in recorded))
        model = project.begin("none", run).around(None)
        for one in asked:
            make.ask(model, one)
        with pytest.raises(NoRecording) as raised:
            make.ask(model, request)
        error = raised.value
        assert (error.path, error.hint) == (project.path(run).parent, HINT)
        assert len(str(error).split("\n")) <= 12
        return error.what.removeprefix(f"request {len(asked) + 1} of this run fits no recording: ")

    return miss


def test_a_line_of_the_system_prompt(why, make):
    before, after = (make.request(system=text) for text in (PROMPT, PROMPT.replace("deadline", "date")))
    assert why(after, before) == (
        "the system prompt changed\n    @@ line 2\n    -Name the deadline.\n    +Name the date."
    )


@pytest.mark.parametrize(
    ("then", "now", "told"),
    [
        ({"system": ""}, {"system": "Be kind."}, "a system prompt was added"),
        ({"system": "Be kind."}, {"system": ""}, "the system prompt is gone"),
        ({"model": "m-1"}, {"model": "m-2"}, "the model changed: m-1 → m-2"),
        ({"model": "m-1"}, {"model": None}, "the model changed: m-1 → None"),
        ({"temperature": 0}, {"temperature": 0.7}, "temperature changed: 0 → 0.7"),
        ({"temperature": 0}, {"temperature": 0.0}, "temperature changed: 0 → 0.0"),
        ({}, {"seed": 7}, "seed = 7 was added"),
        ({"seed": 7}, {}, "seed = 7 is gone"),
        ({"stop": ["a"]}, {"stop": ["b"]}, 'stop changed: ["a"] → ["b"]'),
        ({}, {"format": "x" * 100}, f'format = "{"x" * 58}… was added'),
    ],
)
def test_a_setting(why, make, then, now, told):
    assert why(make.request(**now), make.request(**then)) == told


def test_a_long_parameter_is_cut_down_to_its_difference(why, make):
    then, now = (make.request(schema={"a": "x" * 300 + word}) for word in ("old", "new"))
    told = why(now, then)
    assert 'xxxold"}' in told
    assert 'xxxnew"}' in told
    assert len(told) < 250


def test_a_tool_that_is_described_otherwise(why, make):
    other = ToolSpec("look", "Looks it up.", make.LOOK.parameters)
    assert why(make.request(tools=[other]), make.request(tools=[make.LOOK])) == (
        "the tool look is described otherwise\n"
        '    @@ line 2\n    -  "description": "Looks.",\n    +  "description": "Looks it up.",'
    )


def test_tools_that_came_or_went(why, make):
    other = ToolSpec("find")
    assert why(make.request(tools=[other]), make.request(tools=[make.LOOK])) == (
        "the tool look is gone\n  also, the tool find was added"
    )


def test_the_order_of_the_tools(why, make):
    tools = [make.LOOK, ToolSpec("find")]
    assert why(make.request(tools=tools[::-1]), make.request(tools=tools)) == "the same parts stand in another order"


def test_an_earlier_turn(why, make):
    first = make.request("a")
    then, now = make.request("a", "A", "b\nc"), make.request("a", "A", "b\nd")
    assert why(now, first, then, asked=[first]) == "message 2 (user) changed\n    @@ line 2\n    -c\n    +d"


def test_a_turn_that_came_or_went(why, make):
    first, second = make.request("a"), make.request("a", "A", "b")
    third = make.request("a", "A", "b", "A", "c")
    assert why(third, first, second, asked=[first, second]) == (
        "the conversation goes on: 2 messages after the recorded 3"
    )
    assert why(first, second) == "the conversation is shorter: 2 messages of the recorded 3 missing"


def test_other_fields_of_a_message(why, make):
    def with_last(**more):
        whole = make.request("a", "A", "b")
        return replace(whole, messages=(*whole.messages[:-1], replace(whole.messages[-1], **more)))

    assert why(with_last(name="bo"), with_last(name="ada")) == "the name in message 2 changed: ada → bo"
    assert why(with_last(role="system"), with_last()) == "message 2 is the system's, and was the user's"
    told = why(with_last(role="tool", tool_call_id="c2"), with_last(role="tool", tool_call_id="c1"))
    assert told == "message 2 answers the call c2, and answered c1"


def test_a_part_of_a_message_that_is_no_text(why, make):
    def looking(url):
        content = [{"type": "image_url", "image_url": {"url": url}}]
        return replace(make.request(), messages=(Message("user", content),))

    told = why(looking("https://b"), looking("https://a"))
    assert '-      "url": "https://a"' in told
    assert '+      "url": "https://b"' in told


def test_an_answer_of_a_tool_is_told_with_its_call(why, make):
    def turn(result):
        call = ToolCall("c1", "look", '{"id": "A17"}')
        messages = (*make.request().messages, Message("assistant", None, tool_calls=(call,)))
        return replace(make.request(), messages=(*messages, Message("tool", result, tool_call_id="c1")))

    assert why(turn("lost"), turn("found")) == (
        'the tool look answers {"id": "A17"} otherwise\n    @@ line 1\n    -found\n    +lost'
    )


def test_the_most_telling_comes_first_and_the_rest_is_short(why, make):
    then = make.request("a", system=PROMPT, tools=[make.LOOK], temperature=0)
    now = make.request("b", system="Be rude.", model="n", temperature=1)
    lines = why(now, then).split("\n")
    assert lines[0] == "the system prompt changed"
    assert [line for line in lines if line.startswith("  also")] == [
        "  also, the model changed: m → n",
        "  also, temperature changed: 0 → 1",
        "  also, the tool look is gone",
        "  also, message 0 (user) changed",
    ]


def test_differences_without_end_are_counted(why, make):
    then = make.request(**{f"p{n}": 0 for n in range(30)})
    now = make.request(**{f"p{n}": 1 for n in range(30)})
    lines = why(now, then).split("\n")
    assert lines[0] == "p0 changed: 0 → 1"
    assert lines[-1] == "  … and 20 more differences"


def test_the_nearest_recording_is_the_one_in_whose_place_the_request_comes(why, make):
    questions = [make.request(text) for text in "abc"]
    told = why(make.request("B"), *questions, asked=[questions[0], questions[2]])
    assert told == "message 0 (user) changed\n    @@ line 1\n    -b\n    +B"


def test_the_nearest_recording_has_the_fewest_differences(why, make):
    told = why(make.request("a", seed=7), make.request("b", seed=7, model="n"), make.request("a", seed=8))
    assert told == "seed changed: 8 → 7"


def test_a_text_that_is_not_kept_any_more_is_told(project, why, make):
    project.record((make.request(system=PROMPT), Reply("A")))
    for path in (project.root / "parts").iterdir():
        path.unlink()
    told = why(make.request(system="Be rude."))
    assert told.startswith("the system prompt changed (parts/")
    assert told.endswith("which had it as it was, is gone)")


def test_nothing_is_recorded_yet(why, make):
    assert why(make.request()) == "nothing is recorded here yet"


def test_a_run_that_is_not_recorded_is_compared_with_the_others(project, why, make):
    project.record((make.request(system=PROMPT), Reply("A")), run=2)
    assert why(make.request(system=PROMPT), run=3) == "this run is not recorded yet; run-2.yaml is"
    assert why(make.request(system=PROMPT, seed=7), run=3) == (
        "this run is not recorded yet, and since run-2.yaml was, seed = 7 was added"
    )


def test_a_text_whose_file_was_formatted_is_compared_all_the_same(project, why, make):
    project.record((make.request(system=f"{PROMPT}  "), Reply("A")))
    for path in (project.root / "parts").iterdir():
        path.write_text(path.read_text().replace("  ", ""))
    told = why(make.request(system="Be kind.\nName the date.\nBe brief.  "))
    assert "-Name the deadline.\n    +Name the date." in told
