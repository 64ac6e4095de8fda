from __future__ import annotations

from pytest_convo.check.show import around, clip_lines, listed, quoted, said


def test_many_lines_keep_their_head_and_their_tail() -> None:
    lines = clip_lines([str(number) for number in range(100)], 6)
    assert lines == ["0", "1", "2", "3", "…94 more lines…", "98", "99"]


def test_a_passage_is_marked_amid_its_surroundings() -> None:
    text = "x" * 100 + " the word " + "y" * 100
    start = text.index("word")
    assert around(text, start, start + 4, margin=8) == "…xxx the «word» yyyyyyy…"
    assert around("all of it", 0, 9) == "«all of it»"


def test_what_was_said_is_a_block_of_lines() -> None:
    assert said("one\n\ntwo\n") == "  the reply:\n    | one\n    |\n    | two"


def test_an_empty_reply_is_quoted() -> None:
    assert said("") == '  the reply: ""'
    assert said(" \n") == r'  the reply: " \n"'


def test_a_long_reply_is_bounded_in_characters_and_lines() -> None:
    assert len(said("word " * 10_000)) < 700
    assert len(said("\n".join("abc" for _ in range(150))).splitlines()) < 20


def test_a_list_says_how_many_more_there_are() -> None:
    assert listed(["a", "b", "c"], 2) == "    a\n    b\n    and 1 more"
    assert listed([]) == ""


def test_a_quotation_is_on_one_line() -> None:
    assert quoted("one\ntwo") == r'"one\ntwo"'
