from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_convo.agreement.outcome import Outcome
from pytest_convo.agreement.verdict import Verdict
from pytest_convo.refine.attempts import Attempt
from pytest_convo.refine.items import Item, Score, Shown
from pytest_convo.refine.journal import LOOP, Journal, Standing, identity
from pytest_convo.refine.reading import score_of
from pytest_convo.refine.split import Split

OLD = "Be kind.\nBe brief.\n"
SPLIT = Split(("a", "b"), ("c",), ("d",))
RUN = Shown(Outcome.FAIL, (("user", "é"), ("assistant", "\r\n")), "rude")
SCORE = Score(Verdict.FAIL, 0, 3, 0, (RUN,) * 3)
ITEM = Item("a", "u", ("Hello",), ("Hi",))


def begun(tmp_path: Path, *attempts: Attempt, standing: Standing | None = None) -> Journal:
    journal = Journal(tmp_path / "loop", OLD, Path("clerk.md"))
    journal.begin()
    for attempt in attempts:
        journal.keep(attempt, f"reason {attempt.number}")
    journal.stand("d", standing or Standing(SPLIT))
    return journal


# --- where a loop stands


@pytest.mark.parametrize("end", [None, "limit"])
def test_a_loop_is_found_as_it_was_left(tmp_path, end):
    attempts = [Attempt(1, "Be kind.\r\nÄ", {"a": SCORE}), Attempt(2, "", {}, ("it is empty",)), Attempt(3, "x", {})]
    standing = Standing(SPLIT, {"calls": 7.0, "usd": 0.5, "tokens": 900.0, "seconds": 3.5}, end)
    assert begun(tmp_path, *attempts, standing=standing).resume("d") == standing


def test_another_loop_is_not_gone_on_with(tmp_path):
    assert begun(tmp_path).resume("other") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        "7",
        '"identity"',
        '["identity"]',
        '{"identity": "d"}',
        '{"identity": "d", "new": 1}',
        '{"identity": "d", "split": null, "spent": {}, "end": null}',
        '{"identity": "d", "split": [], "spent": {}, "end": null}',
    ],
)
def test_what_cannot_be_read_is_no_loop(tmp_path, text):
    journal = begun(tmp_path)
    (journal.root / LOOP).write_text(text)
    assert journal.resume("d") is None


def test_half_a_file_is_no_loop_wherever_it_ends(tmp_path):
    journal = begun(tmp_path, standing=Standing(SPLIT, {"calls": 7.0}, "limit"))
    whole = (journal.root / LOOP).read_bytes()
    assert journal.resume("d") is not None
    for size in range(len(whole.rstrip())):
        (journal.root / LOOP).write_bytes(whole[:size])
        assert journal.resume("d") is None, size


def test_bytes_that_are_no_text_are_no_loop(tmp_path):
    journal = begun(tmp_path)
    (journal.root / LOOP).write_bytes(b'{"identity": "\xff"}')
    assert journal.resume("d") is None


def test_a_loop_of_an_earlier_version_is_none(tmp_path):
    journal = begun(tmp_path)
    told = json.loads((journal.root / LOOP).read_text())
    (journal.root / LOOP).write_text(json.dumps({**told, "merges": [], "asked": 3, "again": {}}))
    assert journal.resume("d") is None


def test_none_is_there_before_it_begins(tmp_path):
    assert Journal(tmp_path / "loop", OLD, Path("clerk.md")).resume("d") is None


def test_where_a_loop_stands_does_not_depend_on_its_attempts(tmp_path):
    """Attempts are there for who reads of them: one that is missing, or was not written to its end, is no matter."""
    journal = begun(tmp_path, Attempt(1, "x", {}), Attempt(3, "y", {}))
    (journal.folder(2) / "prompt.md").write_text("half")
    (journal.folder(2) / "scores.json.partial").write_text("{")
    assert journal.resume("d") == Standing(SPLIT)


def test_a_new_loop_keeps_the_last_one_beside_it(tmp_path):
    begun(tmp_path, Attempt(1, "first", {}))
    begun(tmp_path, Attempt(1, "second", {}))
    begun(tmp_path)
    assert (tmp_path / "loop.before" / "001" / "prompt.md").read_text() == "second"
    assert sorted(path.name for path in (tmp_path / "loop").iterdir()) == [LOOP]


def test_nothing_unfinished_is_left(tmp_path):
    begun(tmp_path, Attempt(1, "x", {"a": SCORE}))
    assert not list(tmp_path.rglob("*.partial"))


# --- an attempt


def test_an_attempt_is_kept_with_its_text_its_diff_and_why(tmp_path):
    journal = begun(tmp_path)
    journal.keep(Attempt(1, "Be kind.\nBe exact.\n", {"a": SCORE}), "it was vague", cost={"calls": 3.0})
    folder = journal.folder(1)
    assert (folder / "prompt.md").read_text() == "Be kind.\nBe exact.\n"
    assert (folder / "prompt.diff").read_text() == (
        "--- a/clerk.md\n+++ b/clerk.md\n@@ -1,2 +1,2 @@\n Be kind.\n-Be brief.\n+Be exact.\n"
    )
    told = json.loads((folder / "scores.json").read_text())
    assert (told["reason"], told["cost"], list(told["scores"])) == ("it was vague", {"calls": 3.0}, ["a"])
    assert score_of(told["scores"]["a"]) == SCORE


def test_an_attempt_that_is_kept_again_without_a_cost_keeps_the_one_it_had(tmp_path):
    """In a session that goes on nothing of it is asked anew."""
    journal = begun(tmp_path)
    journal.keep(Attempt(1, "x", {"a": SCORE}), "it was vague", cost={"calls": 3.0})
    journal.keep(Attempt(1, "x", {"a": SCORE, "b": SCORE}), "it was vague")
    told = json.loads((journal.folder(1) / "scores.json").read_text())
    assert (told["cost"], sorted(told["scores"])) == ({"calls": 3.0}, ["a", "b"])


@pytest.mark.parametrize(
    "new", ["Be kind.\nBe exact.", "Be kind.\n", "\n", "Be kind.\r\nBe brief.\r\n", "Be\x0ckind.\n"]
)
def test_git_can_apply_the_diff(tmp_path, new):
    journal = begun(tmp_path, Attempt(1, new, {}))
    prompt = tmp_path / "clerk.md"
    prompt.write_bytes(OLD.encode())
    patch = journal.folder(1) / "prompt.diff"
    subprocess.run(["git", "apply", "--whitespace=nowarn", str(patch)], cwd=tmp_path, check=True)
    assert prompt.read_bytes() == new.encode()


writable = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@settings(derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(writable, writable, st.lists(writable, max_size=2))
def test_texts_are_kept_to_the_character(tmp_path, text, reason, refused):
    journal = Journal(tmp_path / "loop", OLD, Path("clerk.md"))
    journal.begin()
    journal.keep(Attempt(1, text, {"a": SCORE}, tuple(refused)), reason)
    folder = journal.folder(1)
    assert (folder / "prompt.md").read_bytes().decode() == text
    told = json.loads((folder / "scores.json").read_bytes())
    assert (told["number"], told["reason"], told["refused"]) == (1, reason, refused)
    assert score_of(told["scores"]["a"]) == SCORE


# --- what is remembered


@settings(derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(writable, writable, writable)
def test_what_was_measured_and_answered_is_remembered_to_the_character(tmp_path, text, problem, reply):
    journal = Journal(tmp_path / "loop", OLD, Path("clerk.md"))
    journal.begin()
    journal.keep_measured(1, 0, text, ["a", "b"], {"a": SCORE}, problem)
    journal.keep_reply(1, 4, [("system", text), ("user", problem)], reply)
    journal = Journal(tmp_path / "loop", OLD, Path("clerk.md"))
    assert journal.measured(1, 0, text) == (["a", "b"], {"a": SCORE}, problem)
    assert journal.reply(1, 4) == reply
    told = json.loads((journal.folder(1) / "asked-4.json").read_bytes())
    assert told["messages"] == [["system", text], ["user", problem]]


def test_nothing_is_remembered_of_another_round_attempt_text_or_question(tmp_path):
    journal = begun(tmp_path)
    journal.keep_measured(1, 0, "x", ["a"], {"a": SCORE}, "")
    journal.keep_reply(1, 1, [], "y")
    nothing = ([], {}, "")
    assert journal.measured(1, 0, "x") != nothing
    assert [journal.measured(*where) for where in [(1, 1, "x"), (2, 0, "x"), (1, 0, "x ")]] == [nothing] * 3
    assert (journal.reply(1, 2), journal.reply(2, 1)) == (None, None)


def test_the_scores_with_which_a_loop_began_are_those_of_its_first_session(tmp_path):
    journal = begun(tmp_path)
    other = {"a": Score(Verdict.PASS, 1, 0, 0, (Shown(Outcome.PASS),))}
    assert journal.first({"a": SCORE}) == {"a": SCORE}
    assert journal.first(other) == {"a": SCORE}
    assert Journal(journal.root, OLD, Path("clerk.md")).first(other) == {"a": SCORE}
    assert begun(tmp_path).first(other) == other


# --- which loop it is


def test_a_loop_is_about_a_prompt_its_cases_and_its_settings_but_for_limits():
    known = identity(OLD, [ITEM], {"model": "m", "attempts": 8})
    assert identity(OLD, [ITEM], {"model": "m", "attempts": 9, "minutes": 3, "max_calls": 1, "max_usd": 2}) == known
    others = [
        identity("Be kind.", [ITEM], {"model": "m"}),
        identity(OLD, [], {"model": "m"}),
        identity(OLD, [Item("a", "u", ("Hello",), ("Hey",))], {"model": "m"}),
        identity(OLD, [ITEM], {"model": "other"}),
    ]
    assert len({known, *others}) == 5


def test_the_order_of_the_cases_is_no_matter():
    other = Item("b", "b", ("Hello",))
    assert identity(OLD, [ITEM, other], {}) == identity(OLD, [other, ITEM], {})
