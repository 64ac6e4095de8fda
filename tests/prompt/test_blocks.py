from __future__ import annotations

from math import log

from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.conversation.message import Message
from pytest_convo.prompt.blocks import FAN, Block, cover, digest

NUMBERS, TURNS = st.integers(0, 300), st.integers(1, 12)


def test_a_block_says_which_turns_it_is_of():
    assert [str(Block(1, 6)), str(Block(7, 7))] == ["turns 1-6", "turn 7"]


def test_the_first_turns_are_covered_by_sixes_and_then_by_four_of_them():
    assert [str(block) for block in cover(18, 6)] == ["turns 1-6", "turns 7-12", "turns 13-18"]
    assert [str(block) for block in cover(31, 6)] == ["turns 1-24", "turns 25-30", "turn 31"]


def test_a_thousand_turns_take_about_a_dozen():
    assert max(len(cover(number, 6)) for number in range(1000)) == 11


@given(NUMBERS, TURNS)
def test_every_turn_is_covered_once(number, turns):
    assert [turn for block in cover(number, turns) for turn in range(block.first, block.last + 1)] == [
        *range(1, number + 1)
    ]


@given(NUMBERS, TURNS)
def test_there_are_few(number, turns):
    lengths = [block.length for block in cover(number, turns)]

    assert all(lengths.count(length) < FAN for length in lengths if length >= turns)
    assert sum(length < turns for length in lengths) <= 1
    assert len(lengths) <= 1 + (FAN - 1) * (1 + log(max(1, number / turns), FAN))


@given(NUMBERS, NUMBERS, TURNS)
def test_a_whole_block_stays_or_becomes_part_of_a_larger_one(number, more, turns):
    later = {within for one in cover(number + more, turns) for within in _all_within(one, turns)}

    assert {block for block in cover(number, turns) if block.length >= turns} <= later


@given(NUMBERS, TURNS)
def test_a_larger_block_is_made_of_exactly_four(number, turns):
    for block in cover(number, turns):
        parts = block.made_of(turns)
        assert bool(parts) == (block.length > turns)
        if parts:
            assert len(parts) == FAN
            assert parts == tuple(
                Block(block.first + at * block.length // FAN, block.first + (at + 1) * block.length // FAN - 1)
                for at in range(FAN)
            )


def _all_within(block, turns):
    yield block
    for part in block.made_of(turns):
        yield from _all_within(part, turns)


def test_a_digest_tells_turns_and_who_is_told_apart():
    turns = [[Message("user", "a")], [Message("assistant", "b")]]
    others = [
        digest(turns, "other"),
        digest(turns[:1], "told"),
        digest([[*turns[0], *turns[1]]], "told"),
        digest([turns[0], [Message("user", "b")]], "told"),
    ]

    assert digest(turns, "told") not in others
    assert len(set(others)) == 4


def test_a_digest_is_the_same_everywhere():
    assert digest([[Message("user", "\ud83d é", extra={"seen": 1})]], "told") == digest(
        [(Message("user", "\ud83d é"),)], "told"
    )
    assert digest([[Message("user", "a")]], "told") == "914d293b35277b45"
