from __future__ import annotations

import pytest

from pytest_convo.agreement.regression import Arm
from pytest_convo.baseline.compare import compare, entry_of
from pytest_convo.baseline.file import Baseline
from pytest_convo.baseline.words import notes
from pytest_convo.run.results import Results

ALL = lambda id_: True  # noqa: E731


def results(cases: dict[str, str], *, sample: str = "", **said) -> Results:
    """Groups whose runs passed (y), failed (n), measured nothing (e) or were skipped (s)."""
    outcomes = {"y": "pass", "n": "fail", "e": "error", "s": "skipped"}
    found = Results()
    identity = {"messages": said.pop("messages", "m"), "checks": said.pop("checks", {"contains": "c"})}
    for id_, votes in cases.items():
        common = {"group": id_, "n": len(votes), "declared": len(votes), "full": True, "identity": identity}
        common |= {"agreement": "4/5", "good": 0.95, "bad": 0.7, "models": ["m-1"], **said}
        for number, vote in enumerate(votes, 1):
            told = {**common, "outcome": outcomes[vote], "sample": f"{sample}{id_}{number}" if sample else None}
            found.add(f"{id_}::run-{number}", told)
    return found


def baseline(cases: dict[str, str], **said) -> Baseline:
    groups = results(cases, **said).groups.values()
    return Baseline(date="2026-11-21", cases={group.id: entry_of(group) for group in groups})


def test_the_runs_of_a_baseline_are_kept_in_two_halves():
    entry = baseline({"a": "yyynn"}).cases["a"]
    assert (entry.passes, entry.runs) == ((1, 2), (2, 3))


def test_errors_are_in_neither_arm_and_listed():
    found = compare(baseline({"a": "yyeyy"}), results({"a": "yen"}).groups.values(), ALL)
    (case,) = found.cases
    assert (case.screen, case.rest, case.now) == (Arm(2, 2), Arm(2, 2), Arm(1, 2))
    assert found.errors == (("a", 1),)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"models": ["m-2"]}, "another model answered: m-2, not m-1"),
        ({"messages": "other"}, "the user's messages are others"),
        ({"checks": {"contains": "other"}}, "the checks are others: contains"),
        ({"checks": {"contains": "c", "matches": "new"}}, "the checks are others: matches"),
    ],
)
def test_what_is_not_the_same_case_is_not_compared(said, why):
    found = compare(baseline({"a": "yy"}), results({"a": "nn"}, **said).groups.values(), ALL)
    assert found.cases == ()
    assert found.unlike == (("a", why),)
    assert found.gone_checks == ()


def test_a_check_that_has_gone_is_told():
    found = compare(baseline({"a": "yy"}), results({"a": "yy"}, checks={}).groups.values(), ALL)
    assert found.gone_checks == (("a", "contains"),)


def test_a_case_that_has_gone_is_told_where_it_would_have_been_seen():
    before = baseline({"a": "yy", "b": "yy", "c": "yy"})
    found = compare(before, results({"a": "yy"}).groups.values(), lambda id_: id_ != "c")
    assert found.gone == ("b",)


def test_a_case_of_which_all_runs_were_skipped_is_neither_found_nor_compared():
    found = compare(baseline({"a": "yy"}), results({"a": "ss"}).groups.values(), lambda id_: False)
    assert found == type(found)()


def test_the_same_recordings_are_no_evidence():
    before = baseline({"a": "yyyy"}, sample="first-")
    again = compare(before, results({"a": "yyyy"}, sample="first-").groups.values(), ALL)
    assert again.cases[0].now == Arm(0, 0)
    assert again.same == (("a", 4),)
    fresh = compare(before, results({"a": "yyyy"}, sample="second-").groups.values(), ALL)
    assert fresh.cases[0].now == Arm(4, 4)


def test_a_new_case_is_listed():
    assert compare(baseline({}), results({"a": "yy"}).groups.values(), ALL).new == ("a",)


def test_long_lists_are_cut():
    found = compare(baseline({}), results({f"c{number:02}": "y" for number in range(30)}).groups.values(), ALL)
    lines = list(notes(found))
    assert lines[0] == "not in the baseline yet:"
    assert lines[-1] == "  and 20 more"
    assert len(lines) == 12


@pytest.mark.parametrize(
    ("now", "said", "nothing_new"),
    [
        ({"a": "yy", "b": "yy"}, {"sample": "then"}, True),
        ({"a": "yy", "b": "yy", "c": "y"}, {"sample": "then"}, True),
        ({"a": "yy", "b": "yy"}, {"sample": "now"}, False),
        ({"a": "yy", "b": "yyy"}, {"sample": "then"}, False),
        ({"a": "yy", "b": "yy"}, {"sample": "then", "models": ["m-2"]}, False),
        ({"c": "yy"}, {}, False),
    ],
)
def test_replays_of_the_baselines_own_recordings_are_nothing_new(now, said, nothing_new):
    then = baseline({"a": "yy", "b": "yy"}, sample="then")
    assert compare(then, results(now, **said).groups.values(), ALL).is_nothing_new is nothing_new
