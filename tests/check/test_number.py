from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_convo.check.number import Number, last_number

if TYPE_CHECKING:
    from .conftest import Judge


def last(text: str) -> Decimal | None:
    found = last_number(text)
    return None if found is None else found[0]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("42", 42),
        ("It is 41, no: 42.", 42),
        ("**42**", 42),
        (r"\boxed{42}", 42),
        ("_42_", 42),
        ("共42元", 42),
        ("= 42!", 42),
        ("1,234.5", "1234.5"),
        ("1,234", 1234),
        ("1,234,567", 1234567),
        ("12,34,567", 1234567),
        ("1.234", "1.234"),
        ("1.234,5", "1234.5"),
        ("1.234.567", 1234567),
        ("1.234.567,89", "1234567.89"),
        ("1,50 Euro", "1.5"),
        ("0,333", "0.333"),
        ("1'234.5", "1234.5"),
        ("1’234", 1234),
        ("1\u202f234,5", "1234.5"),
        ("1\u00a0234\u00a0567", 1234567),
        ("1_000_000", 1000000),
        ("12 345", 345),
        ("a list: 1,2,3", 3),
        ("a pair: 1.5,2.5", "2.5"),
        ("31.12.2024", 2024),
        ("-3", -3),
        ("(-3)", -3),
        ("x=-3", -3),
        ("\u22123", -3),
        ("-$3.50", "-3.5"),
        ("$-3.50", "-3.5"),
        ("+3", 3),
        ("_-3_", -3),
        ("10-20", 20),
        ("2024-01-15", 15),
        ("pages 5–7", 7),
        ("step-2", 2),
        ("- 3 apples", 3),
        ("wait --3 more", 3),
        (".5", "0.5"),
        ("-.5", "-0.5"),
        ("1e6", 1000000),
        ("1.5E-3", "0.0015"),
        ("1e\u22123", "0.001"),
        ("1.5 × 10^6", 1500000),
        (r"1.5 \times 10^{6}", 1500000),
        ("1.5×10⁻³", "0.0015"),
        ("2*10^3", 2000),
        ("50%", 50),
        ("42kg", 42),
        ("the 3rd", 3),
        ("3/4", 4),
        ("10:30", 30),
        ("order A17 costs 5", 5),
        ("5 for order A17", 5),
        ("3 since v2.5", 3),
        ("7 of item_42", 7),
        ("... 42...", 42),
        ("2 and 3,", 3),
    ],
)
def test_the_last_number_is_read(text: str, number: int | str) -> None:
    assert last(text) == Decimal(number)


@pytest.mark.parametrize("text", ["", "none", "A17", "v2.5", "H2O", "x²", "−", "forty-two", "…"])
def test_where_no_number_is_none_is_found(text: str) -> None:
    assert last(text) is None


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**12), max_value=10**12))
@example(Decimal("-0.001"))
@example(Decimal(1234))
def test_every_usual_way_of_writing_a_number_is_read_back(number: Decimal) -> None:
    sign, plain = ("-" if number < 0 else ""), f"{abs(number):,f}"
    for group, point in ((",", "."), ("'", "."), ("\u202f", ","), ("_", ".")):
        if point == "," and "," not in plain:
            continue  # 1,234 for 1.234 is no usual way in English
        written = sign + plain.replace(",", "G").replace(".", point).replace("G", group)
        assert last(f"It is {written}.") == number, written
    assert last(f"It is {number:f} kg") == number
    assert last(f"It is {number:E}!") == number


@given(st.integers(-(10**9), 10**9))
def test_a_whole_number_is_read_with_and_without_groups(number: int) -> None:
    assert last(f"about {number}") == number
    assert last(f"about {number:,}") == number
    assert last(f"({number:,}%)") == number


@given(st.text("0123456789.,'-−+eE×x*10^ {}⁶⁻$A_\u202f ", max_size=30))
def test_no_text_is_too_odd(text: str) -> None:
    found = last_number(text)
    assert found is None or text[slice(*found[1])]


@pytest.mark.parametrize(
    "text",
    ["1" * 200_000 + ",", "1," * 100_000, "a_" * 100_000, "1.1" * 70_000, "-" * 200_000, "1e" * 100_000, "$" * 200_000],
)
def test_a_long_reply_takes_no_longer_than_its_length(text: str, judge: Judge) -> None:
    judge(Number(Decimal(42)), text)


@pytest.mark.parametrize("text", ["1e999999999", "1e99999999999999999999999", "9" * 10_000])
def test_what_is_too_large_to_tell_is_not_the_number(judge: Judge, text: str) -> None:
    assert not judge.passes(Number(Decimal(42), Decimal(1)), text)


@pytest.mark.parametrize(
    ("value", "within", "text", "holds"),
    [
        ("42", "0", "42.0", True),
        ("42", "0", "42.001", False),
        ("42", "0.5", "42.5", True),
        ("42", "0.5", "41.5", True),
        ("42", "0.5", "42.51", False),
        ("1.0", "0.1", "1.1", True),
        ("0.3", "0.1", "0.2", True),
    ],
)
def test_the_tolerance_is_decimal(judge: Judge, value: str, within: str, text: str, holds: bool) -> None:
    assert judge.passes(Number(Decimal(value), Decimal(within)), text) is holds


def test_a_number_that_is_off_is_marked(judge: Judge) -> None:
    assert judge.why(Number(Decimal(42), Decimal("0.5")), "It is 41,000 or so (order A17).") == (
        "turn 1, number: the last number is 41000; expected 42 ± 0.5\n    It is «41,000» or so (order A17)."
    )


def test_a_reply_without_a_number_is_shown(judge: Judge) -> None:
    assert judge.why(Number(Decimal(42)), "I do not know.") == (
        "turn 1, number: there is no number in the reply; expected 42\n  the reply:\n    | I do not know."
    )
