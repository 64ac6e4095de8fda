from __future__ import annotations

import math
from fractions import Fraction

import pytest

from pytest_convo.agreement.threshold import needed, parse_threshold


@pytest.mark.parametrize(
    "value, share",
    [
        ("2/3", Fraction(2, 3)),
        (" 4/5 ", Fraction(4, 5)),
        ("0.8", Fraction(4, 5)),
        (".8", Fraction(4, 5)),
        ("1.", Fraction(1)),
        ("1e-3", Fraction(1, 1000)),
        (0.8, Fraction(4, 5)),
        (0.1, Fraction(1, 10)),
        (1e-07, Fraction(1, 10**7)),
        (0.6666666666666666, Fraction(6666666666666666, 10**16)),
        (1, Fraction(1)),
        (1.0, Fraction(1)),
    ],
)
def test_a_threshold_is_read_exactly_as_written(value, share):
    assert parse_threshold(value) == share


@pytest.mark.parametrize(
    "value",
    [0, 0.0, -1, -0.5, 1.5, 2, "0", "0/3", "3/2", "-1/2", "1/0", "1/00", "", " ", "4 of 5", "many", "nan", "1e-9999",
     "1e-999999999", "²/3", "٤/٥", "1_0/1_1", True, False, None, [], float("nan"), float("inf"), "9" * 5000],
    ids=lambda value: repr(value)[:20],
)  # fmt: skip
def test_what_is_no_share_is_refused_with_an_example(value):
    with pytest.raises(ValueError, match=r'above 0 and at most 1; write 0\.8 or "4/5"') as caught:
        parse_threshold(value)
    assert len(str(caught.value)) < 140


@pytest.mark.parametrize(
    "value, hint",
    [("80%", "write 0.8 for 80 %"), ("75 %", "write 0.75 for 75 %"), (80, "write 0.8 for 80 %"),
     (66.0, "write 0.66 for 66 %"), (100, "write 1 for 100 %")],
)  # fmt: skip
def test_a_percentage_is_answered_with_the_number_it_means(value, hint):
    with pytest.raises(ValueError, match=f"^{value!r} is not a share of the runs.*; {hint}$"):
        parse_threshold(value)


def test_needed_is_the_exact_ceiling_for_every_number_of_runs():
    shares = {Fraction(passes, runs) for runs in range(1, 41) for passes in range(1, runs + 1)}
    for n in range(1, 201):
        for share in shares:
            assert needed(n, share) == -(-share.numerator * n // share.denominator)


def test_needed_of_decimals_is_what_their_decimal_ceiling_is():
    for n in range(1, 201):
        for percent in range(1, 101):
            assert needed(n, parse_threshold(percent / 100 if percent < 100 else 1)) == -(-percent * n // 100)


@pytest.mark.parametrize("n", [3, 6, 33, 150])
@pytest.mark.parametrize("written", ["0.666666666667", 0.6666666666666667, 0.6666666666666666, "2/3"])
def test_a_fraction_written_out_asks_for_no_run_more(n, written):
    assert needed(n, parse_threshold(written)) == n * 2 // 3


def test_a_fraction_cut_short_and_rounded_up_does():
    assert needed(3, parse_threshold(0.67)) == 3


@pytest.mark.parametrize("share", [Fraction(1, 10**12), Fraction(1, 10**9)])
def test_at_least_one_run_is_needed(share):
    assert needed(1, share) == 1


def test_all_runs_are_needed_at_one():
    assert [needed(n, Fraction(1)) for n in (1, 2, 7)] == [1, 2, 7]


@pytest.mark.parametrize("n", [0, -1])
def test_a_group_has_at_least_one_run(n):
    with pytest.raises(ValueError, match=f"at least one run, not {n}"):
        needed(n, Fraction(1, 2))


def test_needed_grows_with_the_runs_and_with_the_share():
    shares = [Fraction(step, 97) for step in range(1, 98)]
    for n in range(1, 60):
        asked = [needed(n, share) for share in shares]
        assert asked == sorted(asked)
        assert all(math.isclose(k, share * n, abs_tol=1) for k, share in zip(asked, shares, strict=True))
        assert all(needed(n + 1, share) - k in (0, 1) for k, share in zip(asked, shares, strict=True))
