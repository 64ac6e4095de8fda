from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from pytest_convo.errors import HarnessError, SettingsError
from pytest_convo.prompt.part import Part
from pytest_convo.prompt.source import Context, ContextSource, Source, asked, sources_of


class Giving:
    """A source as a conftest has it."""

    def __init__(self, name="facts", says="It rains.", **further):
        self.name, self.says = name, says
        vars(self).update(further)

    async def __call__(self, tokens_left):
        if isinstance(self.says, BaseException):
            raise self.says
        return self.says(tokens_left) if callable(self.says) else self.says


def ask(left=100, **given):
    return asyncio.run(asked(Source.of(Giving(**given)), left))


# -- what a conftest gives


def test_a_source_is_required_and_has_no_cap_where_it_does_not_say():
    given = Giving()

    assert Source.of(given) == Source("facts", True, None, given)
    assert isinstance(given, ContextSource)


def test_a_source_says_what_it_needs():
    found = Source.of(Giving(required=False, cap=7))

    assert (found.required, found.cap) == (False, 7)


@pytest.mark.parametrize(
    "given", ["facts", None, Giving, lambda left: "", SimpleNamespace(name="facts"), Giving(""), Giving(" "), Giving(3)]
)
def test_what_is_no_source_is_an_error(given):
    with pytest.raises(SettingsError, match="which is no context source") as caught:
        Source.of(given)
    assert "`name`" in caught.value.hint


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"required": 1}, "required must be True or False, not 1"),
        ({"required": "no"}, "required must be True or False, not 'no'"),
        ({"cap": 0}, "cap must be a number of tokens from 1, or None, not 0"),
        ({"cap": True}, "not True"),
        ({"cap": 1.5}, "not 1.5"),
        ({"cap": "7"}, "not '7'"),
    ],
)
def test_what_a_source_cannot_need_is_an_error(given, says):
    with pytest.raises(SettingsError, match="the context source 'facts'") as caught:
        Source.of(Giving(**given))
    assert says in caught.value.what


def test_sources_keep_their_order():
    assert [source.name for source in sources_of([Giving("b"), Giving("a")])] == ["b", "a"]


def test_a_name_is_given_once():
    with pytest.raises(SettingsError, match="two context sources named 'a'"):
        sources_of([Giving("a"), Giving("b"), Giving("a")])


# -- what it says


def test_a_source_is_told_what_is_left():
    assert ask(left=42, says=str) == Context("facts", "42")


def test_a_part_is_its_content():
    assert ask(says=Part("other", "It rains.")) == Context("facts", "It rains.")


def test_a_source_that_is_no_coroutine_would_hold_everybody_up():
    given = lambda left: f"{left} left"  # noqa: E731 it gets a name
    given.name = "facts"

    with pytest.raises(HarnessError, match="`async def __call__` is needed"):
        asyncio.run(asked(Source.of(given), 7))


@pytest.mark.parametrize("given", [5, None, "stock", {"stock": 1}])
def test_what_is_no_list_of_sources(given):
    with pytest.raises(SettingsError, match="which is no list of context sources"):
        sources_of(given)


@pytest.mark.parametrize("required", [True, False])
@pytest.mark.parametrize("says", [None, "", Part("facts", "")])
def test_nothing_to_say_is_no_error(says, required):
    assert ask(says=says, required=required) == Context("facts", "", required)


@pytest.mark.parametrize(
    ("says", "why"),
    [
        (ValueError("no network"), "ValueError: no network"),
        (7, "TypeError: it gave int, where a text, a Part or None is needed"),
        (Part("facts", 7), "TypeError: it gave int, where a text, a Part or None is needed"),
        (b"bytes", "TypeError: it gave bytes, where a text, a Part or None is needed"),
        (["list"], "TypeError: it gave list, where a text, a Part or None is needed"),
    ],
)
def test_a_source_that_fails_is_an_error_or_left_out(says, why):
    found = ask(says=says, required=False)

    assert found == Context("facts", required=False, dropped=f"it failed: {why}")
    with pytest.raises(HarnessError, match="the context source 'facts' failed") as caught:
        ask(says=says)
    assert caught.value.what.endswith(why)
    assert caught.value.__cause__ is not None


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), asyncio.CancelledError()])
def test_whoever_ends_the_run_is_heard(stop):
    with pytest.raises(type(stop)):
        ask(says=stop, required=False)
