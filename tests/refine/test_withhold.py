from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_convo.agreement.outcome import Outcome
from pytest_convo.agreement.verdict import Verdict
from pytest_convo.refine.items import Item, Score, Shown
from pytest_convo.refine.withhold import WITHHELD, hidden, withhold

UNSEEN = Item("convos/lid", "u", inputs=("The lid is broken.",), expected=("14 days", "a new teapot"))
SHOWN = Item("convos/cup", "w", inputs=("The cup is broken.",), expected=("a new cup, and a new teapot",))


def score(*said: tuple[str, str], reason: str = "") -> Score:
    return Score(Verdict.FAIL, 1, 1, 0, (Shown(Outcome.FAIL, said, reason), Shown(Outcome.PASS)))


def without(text: str, *texts: str) -> str:
    """What is left of an answer."""
    return withhold({"a": score(("assistant", text))}, texts)["a"].runs[0].messages[0][1]


# --- what is hidden


def test_inputs_expectations_and_ids_of_unseen_items_are_hidden_the_longest_first():
    assert hidden([UNSEEN], [], []) == ["The lid is broken.", "a new teapot", "convos/lid"]
    longer = Item("x", "x", inputs=("The lid is broken. It is of clay.",))
    assert hidden([UNSEEN, longer], [], [])[0] == "The lid is broken. It is of clay."


def test_further_texts_of_a_test_are_hidden_and_those_of_a_shown_one_are_not():
    item = Item("i", "i", (), literals=(" in a fortnight ",))
    assert hidden([item], [], []) == ["in a fortnight"]
    assert hidden([item], [Item("j", "j", (), literals=("Do it in a fortnight.",))], []) == []


@pytest.mark.parametrize("text, told", [("1234567", []), ("12345678", ["12345678"]), ("  1234567 ", [])])
def test_a_short_text_is_never_hidden(text, told):
    assert hidden([Item("i", "i", inputs=(text,))], [], []) == told
    assert hidden([Item("i", "i", (), expected=(text,))], [], []) == told


def test_a_short_id_is_never_hidden():
    assert hidden([Item("convo-1", "u", ())], [], []) == []
    assert hidden([Item("convo-10", "u", ())], [], []) == ["convo-10"]


def test_white_space_around_a_text_is_no_part_of_it():
    assert hidden([Item("i", "i", inputs=("\n The lid is broken.\n",))], [], []) == ["The lid is broken."]


def test_what_a_shown_item_says_as_well_is_not_hidden():
    assert "a new teapot" not in hidden([UNSEEN], [SHOWN], [])
    assert hidden([replace(SHOWN, id="of another")], [SHOWN], []) == ["of another"]


def test_what_the_prompt_or_the_correction_says_is_not_hidden():
    assert hidden([UNSEEN], [], ["You sell a new teapot.", "The lid is broken. Why?"]) == ["convos/lid"]


def test_texts_of_two_places_are_no_text_of_either():
    """What stands in one at its end and in the next at its beginning is said by nobody."""
    item = Item("i", "i", inputs=("a new teapot",))
    assert hidden([item], [], ["a new ", "teapot"]) == ["a new teapot"]


def test_the_order_of_the_items_is_no_matter():
    others = [Item(f"convos/{name}", name, (f"The {name} is broken.",)) for name in ("pot", "jug", "tea")]
    assert hidden(others, [], []) == hidden(others[::-1], [], [])


def test_where_all_is_shown_nothing_is_hidden():
    assert hidden([], [SHOWN], ["You sell tea."]) == []


# --- what is withheld


def test_it_is_taken_out_of_messages_of_every_role_and_of_reasons():
    said = [(role, "Ask for a new teapot, a new teapot!") for role in ("user", "assistant", "tool")]
    told = withhold({"a": score(*said, reason="no a new teapot")}, ["a new teapot"])["a"].runs[0]
    assert told.messages == tuple((role, f"Ask for {WITHHELD}, {WITHHELD}!") for role, _ in said)
    assert told.reason == f"no {WITHHELD}"


def test_nothing_else_of_a_score_is_touched():
    """Not a role, and not what an item is called: by that its score is found."""
    before = {"assistant": score(("assistant", "I am an assistant."), reason="fails")}
    told = withhold(before, ["assistant"])
    assert list(told) == ["assistant"]
    assert told["assistant"].runs[0].messages == (("assistant", f"I am an {WITHHELD}."),)
    assert [run.outcome for run in told["assistant"].runs] == [Outcome.FAIL, Outcome.PASS]
    broken = Score(None, 0, 0, 1, (Shown(Outcome.ERROR, (), "no net", transient=True),))
    assert withhold({"a": broken}, ["assistant"]) == {"a": broken}
    assert replace(told["assistant"], runs=()) == replace(before["assistant"], runs=())


def test_what_was_given_stays_as_it_was():
    before = {"a": score(("assistant", "a new teapot"))}
    assert withhold(before, ["a new teapot"]) != before
    assert before == {"a": score(("assistant", "a new teapot"))}


def test_the_longest_is_taken_out_first_and_nothing_of_it_is_left():
    texts = hidden([Item("i", "i", inputs=("The lid is broken. It is of clay.", "The lid is broken."))], [], [])
    assert without("The lid is broken. It is of clay. The lid is broken.", *texts) == f"{WITHHELD} {WITHHELD}"


def test_where_nothing_is_hidden_scores_are_what_they_were():
    before = {"a": score(("assistant", "a new teapot"))}
    assert withhold(before, []) is before


WORDS = st.text("abc ", min_size=1, max_size=12)


@settings(derandomize=True)
@given(st.lists(WORDS, max_size=4), st.lists(WORDS, max_size=2), st.text("abc ", max_size=60))
def test_no_hidden_text_is_left_and_what_is_not_hidden_stays(secrets, own, answer):
    texts = hidden([Item("i", "i", inputs=tuple(secrets))], [], own)
    assert all(len(text) >= 8 and not any(text in one for one in own) for text in texts)
    left = without(answer, *texts)
    assert not [text for text in texts if text in left]
    if not any(text in answer for text in texts):
        assert left == answer
