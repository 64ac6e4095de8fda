from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.conversation.message import ToolCall
from pytest_convo.conversation.reply import Reply
from pytest_convo.errors import UnusableVerdict
from pytest_convo.judge.verdict import SCHEMA, Judgement, read

from .judges import verdict

TEXT = 'You have **30 days**, as "agreed" in our letter: keep the receipt … and the box.'
WORDS = st.lists(st.text("abcdefghij0123456789", min_size=1, max_size=6), min_size=1, max_size=12)
GAPS = st.sampled_from([" ", "  ", "\n", "\t ", "\N{NO-BREAK SPACE}"])
DRESSES = st.sampled_from(["{}", "**{}**", "_{}_", "`{}`", '"{}"', "“{}”", "«{}»", "‘{}’"])


def says(text: str, held: tuple[str, ...] = (TEXT,), **reply) -> Judgement:
    return read(Reply(text, **reply), held)


def why(text: str, held: tuple[str, ...] = (TEXT,), **reply) -> str:
    with pytest.raises(UnusableVerdict) as caught:
        says(text, held, **reply)
    assert caught.value.what.startswith("the judge gave no usable verdict: ")
    assert "\n" not in caught.value.what + caught.value.hint
    return caught.value.what.removeprefix("the judge gave no usable verdict: ")


def call(arguments: str, name: str = "verdict") -> ToolCall:
    return ToolCall("call_1", name, arguments)


@pytest.mark.parametrize("word, passed", [("pass", True), ("fail", False)])
@pytest.mark.parametrize("wrap", ["{}", "\n {} \n", "```json\n{}\n```", "```\n{}\n```\n", "\n~~~~\n{}\n~~~~"])
def test_one_json_object_alone_or_in_a_fenced_block_is_a_verdict(wrap, word, passed):
    found = says(wrap.format(verdict(word, "So.", "30 days")))
    assert found == Judgement(passed, "So.", "30 days")


def test_a_call_of_the_tool_is_a_verdict():
    assert says("", calls=(call(verdict("fail")),)) == Judgement(False, "So it is.")


@pytest.mark.parametrize(
    "reply, wrong",
    [
        (Reply(""), "its answer is empty"),
        (Reply(" \n"), "its answer is empty"),
        (Reply("pass"), "its answer is not JSON alone"),
        (Reply(f"{verdict()} That is all."), "its answer is not JSON alone"),
        (Reply(f"{verdict()}\n{verdict()}"), "its answer is not JSON alone"),
        (Reply(f"```\n{verdict()}\n```\n```\n{verdict()}\n```"), "its answer is not JSON alone"),
        (Reply("[" * 100_000), "its answer is not JSON alone"),
        (Reply('{"n": 1' + "0" * 10_000 + "}"), "its answer is not JSON alone"),
        (Reply(f"[{verdict()}]"), "its answer is no JSON object"),
        (Reply("null"), "its answer is no JSON object"),
        (Reply('{"verdict": "pass"}'), "its answer has other keys than reason, evidence and verdict (evidence, reason"),
        (Reply(verdict().replace("}", ', "score": 1}')), "its answer has other keys than reason, evidence and verdict"),
        (Reply(verdict().replace("{", '{"verdict": "fail", ')), "a key of its answer is there twice"),
        (Reply(verdict(reason=" \n")), "its reason is empty, or something in its answer is no text"),
        (Reply(json.dumps({"reason": "x", "evidence": None, "verdict": "pass"})), "its reason is empty, or something"),
        (Reply(json.dumps({"reason": "x", "evidence": "", "verdict": True})), "its reason is empty, or something"),
        (Reply(verdict("Pass")), 'its verdict is neither "pass" nor "fail" but \'Pass\''),
        (Reply(verdict("maybe\n")), 'its verdict is neither "pass" nor "fail" but \'maybe\\n\''),
        (Reply(verdict(evidence="45 days")), "its evidence is no quotation from what it judged: '45 days'"),
        (Reply(verdict(), finish_reason="length"), 'its answer was cut off (finish_reason "length")'),
        (Reply(verdict(), finish_reason="content_filter"), 'its answer was cut off (finish_reason "content_filter")'),
        (Reply("", (call(verdict(), "answer"),)), "it called answer, where one call of verdict was asked for"),
        (Reply("", (call(verdict()), call(verdict()))), "it called verdict, verdict, where one call of verdict"),
        (Reply("Pass.", (call(verdict()),)), "it called the tool and wrote a text as well"),
        (Reply("", (call(""),)), "its answer is empty"),
    ],
)
def test_anything_else_is_none_and_says_why(reply, wrong):
    assert why(reply.text, calls=reply.calls, finish_reason=reply.finish_reason).startswith(wrong)


def test_an_unusable_answer_is_shown_in_short_on_one_line():
    with pytest.raises(UnusableVerdict) as caught:
        says("Well.\n" * 1000)
    assert caught.value.hint.startswith("it said: Well.\\nWell.\\n")
    assert len(caught.value.hint) < 800
    with pytest.raises(UnusableVerdict) as caught:
        says("", calls=(call("{}", "look"),))
    assert caught.value.hint == "it said: look({})"
    with pytest.raises(UnusableVerdict) as caught:
        says("")
    assert caught.value.hint == "it said: nothing"


@given(st.text() | st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists).map(json.dumps))
def test_no_answer_is_too_odd_to_be_called_unusable(text):
    why(text)


@pytest.mark.parametrize(
    "evidence",
    [
        *("", " ", '""', "...", "30 days", "30 DAYS", "you have 30 days", "**30** days", "receipt ... and", TEXT),
        *('"as “agreed” in"', "days, as 'agre", "as 'agreed' in", "as agreed in", "keep the\nreceipt"),
        *("You … days", "You have [...] the box.", "…receipt …"),
    ],
)
def test_a_quotation_from_what_is_judged_is_taken(evidence):
    wanted = evidence.strip()
    assert says(verdict(evidence=evidence)).evidence == wanted


@pytest.mark.parametrize(
    "evidence", ["31 days", "You had 30 days", "days … 30", "30 … 30", "30 days!", "You have days", "the box…the box."]
)
def test_words_that_nobody_said_or_in_another_order_are_no_quotation(evidence):
    assert why(verdict(evidence=evidence)).startswith("its evidence is no quotation")


@pytest.mark.parametrize("evidence", ["30 days", "within 13", "3", "130 days or 4", "within … 30"])
def test_a_part_of_a_number_is_no_quotation(evidence):
    assert why(verdict(evidence=evidence), ("within 130 days or 45",)).startswith("its evidence is no quotation")


@pytest.mark.parametrize("evidence", ["30", "30 days", "a 30", "45", "30 … 45"])
def test_a_number_that_also_stands_alone_is_one(evidence):
    assert says(verdict(evidence=evidence), ("130 days, a 30 days, 453, 45",)).passed


def test_all_pieces_are_of_one_text():
    assert says(verdict(evidence="one … two"), ("one", "one two")).passed
    why(verdict(evidence="one … two"), ("one", "two"))
    why(verdict(evidence="one"), ())


@given(WORDS, st.data())
def test_words_from_anywhere_are_a_quotation_however_they_are_dressed(words, data):
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first + 1, len(words)))
    dressed = [data.draw(DRESSES).format(word) for word in words]
    quotation = data.draw(DRESSES).format(data.draw(GAPS).join(dressed[first:last]))
    held = data.draw(st.permutations(["", "another text", data.draw(GAPS).join(words)]))
    for said in (quotation, quotation.upper()):
        assert read(Reply(verdict(evidence=said)), held).passed
    text = data.draw(GAPS).join(dressed).upper()
    assert read(Reply(verdict(evidence=" ".join(words[first:last]))), [text]).passed


@given(WORDS, st.data())
def test_one_changed_word_makes_it_none(words, data):
    place = data.draw(st.integers(0, len(words) - 1))
    changed = [*words[:place], "z" + words[place], *words[place + 1 :]]
    why(verdict(evidence=" ".join(changed)), (" ".join(words),))


@given(WORDS, st.data())
def test_pieces_that_follow_each_other_are_a_quotation_and_swapped_ones_are_none(words, data):
    numbered = [f"{word}x{number}y" for number, word in enumerate(words)]
    chosen = sorted(data.draw(st.sets(st.integers(0, len(words) - 1), min_size=1)))
    dots = data.draw(st.sampled_from(["…", " ... ", " […] ", "[...]"]))
    text = " ".join(numbered)
    assert says(verdict(evidence=dots.join(numbered[place] for place in chosen)), (text,)).passed
    if len(chosen) > 1:
        why(verdict(evidence=dots.join(numbered[place] for place in reversed(chosen))), (text,))


def test_what_would_steer_a_terminal_is_escaped():
    found = says(verdict("fail", "No.\x1b[31m\ud800", "a\x07b"), ("a\x07b",))
    assert (found.reason, found.evidence) == ("No.\\x1b[31m\\ud800", "a\\x07b")


def test_a_text_of_a_million_characters_is_searched_at_once():
    assert says(verdict(evidence="ab … c"), ("ab*_`" * 200_000 + "c",)).passed


def test_the_schema_is_one_that_servers_take_as_strict_and_has_the_reason_first():
    assert list(SCHEMA["properties"]) == SCHEMA["required"] == ["reason", "evidence", "verdict"]
    assert SCHEMA["additionalProperties"] is False
