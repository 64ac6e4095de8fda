import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_convo.conversation.holes import turns
from pytest_convo.conversation.message import ROLES
from pytest_convo.errors import FormatError, SettingsError

ROLE = {letter: role for role in ROLES for letter in role[0]}


def of(text: str):
    """The roles of "u0 a1 u4"."""
    return {int(word[1:]): ROLE[word[0]] for word in text.split()}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("u0 u2 u4", (1, 3, 5)),
        ("u0", (1,)),
        ("u7", (8,)),
        ("s0 u1", (2,)),
        ("s0", (1,)),
        ("s0 u5", (6,)),
        ("u0 u1", (2,)),
        ("u0 a1", ()),
        ("a0", ()),
        ("a0 u1", (2,)),
        ("u0 a1 u2 u4 a5", (3,)),
        ("u0 u9", (1, 10)),
        ("u0 a5", ()),
        ("u0 a5 u9", (10,)),
        ("u0 a1 t2", (3,)),
        ("u0 a1 t2 u4", (3, 5)),
        ("u0 a1 t2 a9", ()),
        ("u0 s2", (1, 3)),
        ("s0 a4 u9 a20 u21 u24", (22, 25)),
        ("u9998", (9999,)),
        ("", ()),
    ],
)
def test_a_hole_is_a_gap_after_a_user_or_a_tool_or_the_end_after_anybody_but_the_bot(said, expected):
    assert turns(of(said)) == expected


@pytest.mark.parametrize(
    ("said", "regenerate", "expected"),
    [
        ("u0 a1 u2 a3", "last", (3,)),
        ("u0 a1 u2 a3", "all", (1, 3)),
        ("u0 a1 u2 a3", [1], (1,)),
        ("u0 a1 u2 a3", (3, 1, 3), (1, 3)),
        ("u0 a1 u2", "last", (3,)),
        ("u0 a1 u2", "all", (1, 3)),
        ("u0 a1 u2", [1], (1, 3)),
        ("u0 a1 u2", [3], (3,)),
        ("u0 u2 a3", "last", (1, 3)),
        ("u0 a5", "last", (5,)),
        ("u0 a5", [5], (5,)),
        ("a0 u1 a2", "all", (2,)),
        ("u0 a1 a2", "all", (1,)),
        ("a0", "all", ()),
        ("a0", "last", ()),
        ("s0 a1", "all", (1,)),
        ("u0", "all", (1,)),
    ],
)
def test_regenerate_answers_again_where_an_answer_stands_and_never_leaves_a_hole(said, regenerate, expected):
    assert turns(of(said), regenerate) == expected


def test_calls_that_are_spelled_out_are_given_context_and_the_answer_after_them_is_a_turn():
    said = of("u0 a1 t2 a3 u4 a5")

    assert turns(said, "all", calling={1}) == (3, 5)
    with pytest.raises(SettingsError, match="regenerate names 1, where the bot has no answer to give"):
        turns(said, [1], calling={1})


@pytest.mark.parametrize(
    ("said", "regenerate", "what", "hint"),
    [
        ("u0 a1 u2", [4], "regenerate names 4,", "it can answer at: 1, 3"),
        ("u0 a1 u2 a3", [1, 2], "regenerate names 2,", "it can answer at: 1, 3"),
        ("a0", [0], "regenerate names 0,", "it can answer at: no index"),
        (
            "u0",
            "hole",
            "unknown regenerate 'hole'",
            "did you mean 'holes'? known: holes, last, all, or a list of indexes",
        ),
    ],
)
def test_a_regenerate_that_does_not_fit_names_what_does(said, regenerate, what, hint):
    with pytest.raises(SettingsError) as caught:
        turns(of(said), regenerate)

    assert what in caught.value.what
    assert caught.value.hint == hint


def test_after_the_last_index_nothing_can_be_answered():
    assert turns(of("u0 a9999")) == ()
    with pytest.raises(FormatError, match=r"no index is left for the answer to 9999"):
        turns(of("u9999"))


ANY = st.dictionaries(st.integers(0, 30), st.sampled_from(ROLES), max_size=12)


@given(st.integers(1, 20))
def test_a_script_at_even_indexes_is_answered_at_the_odd_ones(length):
    assert turns({2 * n: "user" for n in range(length)}) == tuple(2 * n + 1 for n in range(length))


@given(st.integers(1, 20), st.data())
def test_deleting_an_answer_of_a_complete_conversation_redoes_that_turn_and_only_that(length, data):
    complete = {n: "assistant" if n % 2 else "user" for n in range(2 * length)}
    gone = data.draw(st.sampled_from(range(1, 2 * length, 2)))

    assert turns(complete) == ()
    assert turns({n: role for n, role in complete.items() if n != gone}) == (gone,)


@given(ANY)
def test_a_hole_never_stands_where_a_message_is_and_follows_one_that_is_not_the_bots(said):
    for hole in turns(said):
        assert hole not in said
        assert said[hole - 1] != "assistant"


@given(ANY)
def test_once_its_holes_are_answered_a_conversation_has_none(said):
    answered = said | dict.fromkeys(turns(said), "assistant")

    assert turns(answered) == ()


@given(ANY, st.sampled_from(["holes", "last", "all"]))
def test_holes_are_always_answered_and_all_answers_the_most(said, regenerate):
    found = turns(said, regenerate)

    assert set(turns(said)) <= set(found) <= set(turns(said, "all"))
    assert list(found) == sorted(set(found))
    assert turns(said, [*found]) == found


@given(ANY)
def test_last_is_the_last_turn_of_all(said):
    every = turns(said, "all")
    assume(every)

    assert turns(said, "last")[-1] == every[-1]
