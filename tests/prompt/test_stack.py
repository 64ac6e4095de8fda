from __future__ import annotations

import pytest

from pytest_convo.errors import SettingsError
from pytest_convo.prompt.part import Part
from pytest_convo.prompt.stack import Budget, Stack, most_of_answer
from pytest_convo.settings.bots import BotSettings
from pytest_convo.settings.prompts import PromptSettings
from tests.prompt.conftest import Letters


def test_a_part_knows_its_tokens():
    assert Part("prompt.md", "four").tokens(Letters()) == 4


@pytest.mark.parametrize("text", [None, ""])
def test_no_text_is_no_part(text):
    assert Stack.of(text) == Stack()
    assert Stack.of(text).system is None


def test_parts_stand_in_order_with_a_blank_line_between_them():
    stack = Stack.of("Be kind.").then(Part("a", "Be brief."), Part("b", ""), Part("c", "Be fair."))

    assert [part.name for part in stack.parts] == ["system", "a", "c"]
    assert stack.system == "Be kind.\n\nBe brief.\n\nBe fair."


def test_what_is_added_changes_no_rule():
    stack = Stack(style="xml", budget=Budget(10), counting="estimate").then(Part("a", "x"))

    assert (stack.style, stack.budget, stack.counting) == ("xml", Budget(10), "estimate")


@pytest.mark.parametrize(
    ("request_", "tokens"),
    [
        ({}, 0),
        ({"max_tokens": 100}, 100),
        ({"max_completion_tokens": 200, "max_tokens": 100}, 200),
        ({"max_completion_tokens": None, "max_tokens": 100}, 100),
        ({"max_tokens": 0}, 0),
        ({"max_tokens": True}, 0),
        ({"max_tokens": "100"}, 0),
    ],
)
def test_an_answer_may_have_what_the_request_says(request_, tokens):
    assert most_of_answer(BotSettings(request=request_)) == tokens


def test_no_budget_is_none():
    assert Budget.of(PromptSettings(), BotSettings(request={"max_tokens": 100})) is None


@pytest.mark.parametrize(("given", "reserve"), [({}, 100), ({"reserve": 7}, 7), ({"reserve": 0}, 0)])
def test_the_reserve_is_what_is_given_else_what_the_answer_may_have(given, reserve):
    said = PromptSettings(budget=1000, on_overflow="trim", **given)

    found = Budget.of(said, BotSettings(request={"max_tokens": 100}), said.on_overflow)
    assert found == Budget(1000, reserve, "trim")
    assert found.room == 1000 - reserve


def test_a_reserve_above_the_budget_leaves_less_than_nothing():
    found = Budget.of(PromptSettings(budget=1000), BotSettings(request={"max_tokens": 4000}))

    assert found.room == -3000  # so that what is told to be missing is all that is missing


@pytest.mark.parametrize(
    "make, why",
    [
        (lambda: Budget("x"), "numbers of tokens, not 'x' and 0"),
        (lambda: Budget(100, "half"), "numbers of tokens, not 100 and 'half'"),
        (lambda: Budget(100, on_overflow="no"), "on_overflow must be one of 'error', 'trim', 'summarize', not 'no'"),
        (lambda: Stack("hello"), "a stack is made of parts, not of 'hello'"),
        (lambda: Stack(("hello",)), "a stack is made of parts, not of .'hello',."),
        (lambda: Stack(budget=100), "a stack has a Budget, not 100"),
        (lambda: Stack(style="html"), "style must be one of 'messages', 'xml', 'text', not 'html'"),
    ],
)
def test_what_is_no_stack_says_so_where_it_is_made(make, why):
    with pytest.raises(SettingsError, match=why):
        make()
