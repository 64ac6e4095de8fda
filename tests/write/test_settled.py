from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.errors import RedactionError
from pytest_convo.redaction import Redactor
from pytest_convo.write.settled import Settled, settled

PASSWORD = "hunter2hunter2"
PHRASE = "correct horse battery staple"
KEY = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEF\n-----END PRIVATE KEY-----"
REDACTOR = Redactor({PASSWORD: "PASSWORD", PHRASE: "PHRASE"})


def arrives(*pieces: str, redactor: Redactor = REDACTOR) -> list[str]:
    """What is shown after each piece."""
    one = Settled(redactor)
    shown, seen = "", []
    for piece in pieces:
        one._next_look = 0.0
        void, text = one.add(piece)
        shown = text if void else shown + text
        assert shown == one.text
        seen.append(shown)
    return seen


def test_a_word_is_shown_when_it_is_whole():
    assert arrives("Glad", "ly, wi", "thin 30 ", " ", "days") == ["", "Gladly,", *["Gladly, within 30"] * 3]


def test_no_half_of_a_secret_is_ever_shown():
    assert arrives("It is hunter2", "hunter2 and ", "so on. ")[-1] == "It is [secret PASSWORD] and so on."
    assert not any("hunter2" in shown for shown in arrives("It is hunter2", "hunter2", " and"))


def test_nor_of_one_of_several_words():
    pieces = ["Say corr", "ect ", "horse ", "battery ", "st", "aple ", "and ", "go"]
    assert arrives(*pieces) == [*["Say"] * 5, "Say [secret PHRASE]", *["Say [secret PHRASE] and"] * 2]


def test_what_only_begins_like_one_is_shown_with_the_next_word():
    assert arrives("A correct ", "horse ", "rides. ") == ["A", "A", "A correct horse rides."]


def test_a_private_key_is_not_shown_line_by_line():
    shown = arrives(*(f"{line}\n" for line in f"Here:\n{KEY}\nKeep it.".split("\n")), "\n", redactor=Redactor())
    assert not any("MII" in text or "kqh" in text for text in shown)
    assert shown[-1] == "Here:\n[secret]\nKeep it."


@pytest.mark.parametrize(
    "redactor",
    [Redactor(patterns=(r"\d{4} \d{4}",)), Redactor(functions=(lambda text: text.replace("1234 5678", "[secret]"),))],
    ids=["pattern", "function"],
)
def test_where_a_user_says_what_is_secret_whole_lines_are_shown(redactor):
    assert arrives("It is 1234 ", "5678. ", "\nBye", redactor=redactor) == ["", "", "It is [secret]."]


def test_a_redactor_that_fails_lets_nothing_through():
    def broken(text: str) -> str:
        raise ValueError

    with pytest.raises(RedactionError):
        arrives("One line.\n", redactor=Redactor(functions=(broken,)))


def test_a_slow_redactor_is_not_asked_at_every_piece(monkeypatch):
    monkeypatch.setattr("pytest_convo.write.settled._SLOW", 0.0)
    monkeypatch.setattr("pytest_convo.write.settled._REST", 1e9)
    asked = []
    one = Settled(Redactor(functions=(asked.append,)))
    for _ in range(20):
        one.add("line\n")
    assert len(asked) == 1


def test_what_broke_off_ends_with_its_last_whole_word():
    assert settled("It is hunter2hun", REDACTOR) == "It is"


TEXTS = st.lists(
    st.sampled_from(
        [PASSWORD, PHRASE, KEY, "sk-abcdef1234567890abcd", " ", "\n", "a", "correct ", "horse", "é", "\r\n"]
    )
    | st.text(max_size=4),
    max_size=12,
).map("".join)


@given(TEXTS, st.data())
def test_however_it_is_cut_into_pieces_what_is_shown_is_what_the_whole_shows(text, data):
    pieces = []
    while text[sum(map(len, pieces)) :]:
        rest = text[sum(map(len, pieces)) :]
        pieces.append(rest[: data.draw(st.integers(1, len(rest)))])
    shown, whole = arrives("", *pieces, "\n"), REDACTOR.text(text.rstrip())
    for seen in shown:
        assert not any(word in seen and word not in whole for word in (PASSWORD, "correct horse", "hunter2h", "MIIE"))
    if not text.rstrip().endswith(("correct", "horse")):
        assert shown[-1] == whole
