from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_convo.agreement.outcome import Outcome
from pytest_convo.agreement.verdict import Agreement, Verdict
from pytest_convo.refine.items import Score, Shown
from pytest_convo.refine.reading import (
    failing_prompts,
    items_of,
    score_of,
    scores_in,
    scores_of,
    settings_of,
    told_again,
    told_of,
)
from pytest_convo.run.results import GroupResult, Results

PASS, FAIL, ERROR = Outcome
RULE = Agreement(3, 2)


def run(outcome: str, *prompts: str, **given: Any) -> dict[str, Any]:
    """What a run tells that read these prompts."""
    refine = {
        "prompts": list(prompts),
        "declared": given.pop("declared", {}),
        "messages": given.pop("messages", []),
        "unit": "the unit",
        "inputs": given.pop("inputs", ["a question"]),
        "expected": ["an answer"],
        "literals": ["Well?"],
        "tools": ["look"],
        "asks_judge": False,
        "made_of": "a digest",
        "reason": given.pop("reason", ""),
        "settings": given.pop("settings", {}),
        "directory": given.pop("directory", "/root/cases"),
    }
    return {"outcome": outcome, **given, **({"refine": refine} if prompts else {})}


def group(id_: str, verdict: Verdict | None, *runs: dict[str, Any]) -> GroupResult:
    return GroupResult(id_, RULE, 3, runs={f"{id_}[{place}]": told for place, told in enumerate(runs)}, verdict=verdict)


def failing(id_: str, *prompts: str, **given: Any) -> GroupResult:
    return group(id_, Verdict.FAIL, run("fail", *prompts, **given))


def results(*groups: GroupResult) -> Results:
    return Results({each.id: each for each in groups})


texts = st.text(max_size=20)
shown = st.builds(Shown, st.sampled_from(Outcome), st.lists(st.tuples(texts, texts), max_size=3).map(tuple), texts)


@st.composite
def scores(draw: st.DrawFn) -> Score:
    runs = tuple(draw(st.lists(shown, max_size=5)))
    counts = [sum(each.outcome is outcome for each in runs) for outcome in Outcome]
    return Score(draw(st.none() | st.sampled_from(Verdict)), *counts, runs)


# --- scores


@settings(derandomize=True, deadline=None)
@given(scores())
def test_a_score_is_told_and_read_again_by_way_of_json(score):
    assert score_of(told_again(score)) == score
    assert score_of(json.loads(json.dumps(told_again(score)))) == score


@settings(derandomize=True, deadline=None)
@given(st.dictionaries(texts, scores()))
def test_the_scores_are_those_of_the_groups_that_ran(known):
    told = {id_: told_again(score) for id_, score in known.items()}
    assert scores_of(told) == {id_: score for id_, score in known.items() if score.runs}


def test_a_group_tells_its_verdict_and_what_its_runs_are_judged_by():
    said = [["user", "Hello"], ["assistant", "No."]]
    told = told_of(
        group(
            "a", Verdict.FAIL, run("fail", "p", reason="rude", messages=said), run("error", transient=1), run("skipped")
        )
    )
    assert told == {
        "verdict": "fail",
        "runs": [
            {"outcome": "fail", "reason": "rude", "transient": False, "messages": said},
            {"outcome": "error", "reason": "", "transient": True, "messages": []},
        ],
    }
    assert score_of(told) == Score(
        Verdict.FAIL,
        0,
        1,
        1,
        (Shown(FAIL, (("user", "Hello"), ("assistant", "No.")), "rude"), Shown(ERROR, transient=True)),
    )


def test_a_group_that_was_not_decided_has_a_score_without_a_verdict():
    assert score_of(told_of(group("a", None, run("pass")))) == Score(None, 1, 0, 0, (Shown(PASS),))


def test_what_did_not_run_has_no_score():
    found = results(failing("a", "p"), group("b", None, run("skipped", "p")))
    assert list(scores_in(found, items_of(found, "p", ""))) == ["a"]


# --- prompts


def test_the_prompts_that_most_fail_with_come_first_and_passing_groups_ask_for_none():
    found = results(failing("a", "p"), failing("b", "q"), failing("c", "q"), group("d", Verdict.PASS, run("pass", "r")))
    assert failing_prompts(found) == ["q", "p"]


def test_a_group_of_several_prompts_asks_for_the_one_that_it_shares_with_most():
    found = results(failing("a", "own-a", "shared"), failing("b", "own-b", "shared"), failing("c", "first", "second"))
    assert failing_prompts(found) == ["shared", "first"]


def test_a_prompt_that_is_declared_is_meant_alone():
    found = results(failing("a", "p", "q", declared={"q": {}}), failing("b", "p"), failing("c"))
    assert failing_prompts(found) == ["p", "q"]


def test_the_first_run_that_read_a_prompt_speaks_for_its_group():
    found = results(group("a", Verdict.FAIL, run("error"), run("fail", "p")))
    assert failing_prompts(found) == ["p"]
    assert [item.id for item in items_of(found, "p", "")] == ["a"]


# --- items


def test_an_item_is_what_its_group_tells():
    runs = [run("fail", "p", requests=2, replayed=1), run("pass", "p", requests=1)]
    (item,) = items_of(results(group("a", Verdict.FAIL, *runs)), "p", "")
    assert (item.id, item.unit, item.inputs, item.expected) == ("a", "the unit", ("a question",), ("an answer",))
    assert (item.tools, item.n, item.k, item.calls, item.made_of) == (("look",), 3, 2, 3, "a digest")


def test_the_prompt_itself_and_empty_texts_are_no_inputs():
    found = results(failing("a", "p", inputs=["You are kind.", " ", "Hello"]))
    assert items_of(found, "p", "You are kind.\n")[0].inputs == ("Hello",)


def test_groups_of_other_prompts_are_no_items():
    found = results(failing("a", "p"), group("b", Verdict.PASS, run("pass", "q", "p")), failing("c", "q"))
    assert [item.id for item in items_of(found, "p", "")] == ["a", "b"]


# --- settings


def test_of_settings_the_first_that_says_something_counts():
    one = {"correction": "", "attempts": 3}
    other = {"correction": "", "model": "m", "attempts": 5}
    found = results(
        failing("a", "p", settings=one, directory="/root/one"), failing("b", "p", settings=other, directory="/root/b")
    )
    assert settings_of(found, "p") == ("/root/one", {"correction": "", "model": "m", "attempts": 3})


def test_corrections_are_put_together_and_what_is_declared_comes_first():
    plain = {"correction": "Be kind."}
    found = results(
        failing("a", "p", settings=plain),
        failing("b", "p", settings=plain),
        failing("c", "p", settings=plain, declared={"p": {"correction": "Be brief."}}),
    )
    assert settings_of(found, "p")[1]["correction"] == "Be kind.\nBe brief."
