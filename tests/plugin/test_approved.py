"""Approved replies as a user meets them: what `--snapshot-update` writes, and that it touches nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_convo.testing import ScriptedReply, ScriptedServer

SYRUPY = ["-p", "syrupy"]
UPDATE = "--snapshot-update"
WORKERS = ["-p", "xdist.plugin", "-n2"]
WAYS = pytest.mark.parametrize("args", [[], WORKERS], ids=["one process", "two workers"])
OURS = (".convo", ".pytest_cache", "__pycache__", "stdout", "stderr")


def says(*texts: str) -> str:
    """A script of these texts, each as likely as it is often."""
    return "".join(
        f"[[reply]]\nweight = {texts.count(text)}\ntext = {json.dumps(text)}\n" for text in dict.fromkeys(texts)
    )


class Desk:
    """A project of conversations whose answers are to be approved."""

    def __init__(self, convos) -> None:
        self.convos = convos
        self.path: Path = convos.path

    def case(self, name: str, *texts: str, mode: str | None = "normalized", toml: str = "", **files: str) -> None:
        """A conversation with a run for each text; `files` are message files, by names without an ending."""
        expect = f'[expect]\napproved = "{mode}"\n' if mode is not None else ""
        head = "" if "regenerate" in toml else 'regenerate = "all"\n'
        bot = '[bot]\nprovider = "scripted"\n'
        named = {f"{file.lstrip('_')}.md": text for file, text in files.items()}
        self.convos.say(
            name, {**named, "script.toml": says(*texts)}, toml=f"{head}runs = {len(texts)}\n{toml}\n{bot}{expect}"
        )

    def tree(self) -> Mapping[str, tuple[bytes, int, int]]:
        """Each file of the project but those that every session writes: what it holds, its mode, when it changed."""
        found = {}
        for path in sorted(self.path.rglob("*")):
            name = path.relative_to(self.path)
            if path.is_file() and not set(name.parts) & set(OURS):
                stat = path.stat()
                found[name.as_posix()] = (path.read_bytes(), stat.st_mode, stat.st_mtime_ns)
        return found

    def run(self, *args: str) -> pytest.RunResult:
        return self.convos.run(*SYRUPY, *args)

    def update(self, *args: str) -> tuple[pytest.RunResult, set[str]]:
        """The result, and the files that are other ones now."""
        before = self.tree()
        result = self.run(UPDATE, *args)
        after = self.tree()
        assert before.keys() <= after.keys(), "a file was removed"
        return result, {name for name in after if after[name] != before.get(name)}

    def text(self, name: str) -> str:
        return (self.path / name).read_text(encoding="utf-8")


@pytest.fixture
def desk(convos) -> Desk:
    return Desk(convos)


# -- what is written


@WAYS
def test_what_is_new_is_added_what_changed_is_updated_and_nothing_else_is_touched(desk, args):
    desk.case("new", "Yes.", "Yes.", "No.")
    desk.case("other", "Yes.", "Yes.", "No.", _0001_assistant="Perhaps.\n")
    desk.case("same", "Yes.", "Yes.", "No.", _0001_assistant="yes.\n")
    desk.case("plain", "Hm.", mode=None)
    files = ("same/0001_assistant.md~", "new/notes.txt", "new/0001_assistant.md.tmp", "new/__snapshots__/0001_x.md")
    desk.convos.write(dict.fromkeys(files, "keep me"))
    result, changed = desk.update(*args)
    assert result.ret == 0, result.stdout.str()
    assert changed == {"new/0001_assistant.md", "other/0001_assistant.md"}
    assert {desk.text(name) for name in changed} == {"Yes.\n"}
    result.stdout.fnmatch_lines(["approved replies: 1 added, 1 updated, 1 unchanged"])


def test_the_session_after_an_update_passes(desk):
    desk.case("a", "Yes.", "yes.", "Yes.", "No.", toml='agreement = "3/4"')
    result = desk.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*approved: no reply of this turn is approved yet*", "*--snapshot-update*"])
    result, changed = desk.update()
    assert (result.ret, changed) == (0, {"a/0001_assistant.md"}), result.stdout.str()
    result = desk.run()
    assert result.ret == 0, result.stdout.str()
    result, changed = desk.update()
    assert (result.ret, changed) == (0, set())
    result.stdout.fnmatch_lines(["approved replies: 1 unchanged"])


def test_a_group_that_fails_is_left_alone_and_the_reason_is_said(desk):
    desk.case("a", "Yes.", "Yes.", "No.", _0001_assistant="Perhaps.\n")
    desk.convos.write({"a/convo.toml": f'{desk.text("a/convo.toml")}contains = "never said"\n'})
    desk.case("b", "Yes.")
    result, changed = desk.update()
    assert (result.ret, changed) == (1, {"b/0001_assistant.md"})
    result.stdout.fnmatch_lines(
        ["approved replies: 1 added, 1 left alone", "  a/0001_assistant.md: left alone: stable fail: 0 of 3 runs*"]
    )


def test_answers_that_disagree_are_not_approved(desk):
    desk.case("a", "Yes.", "No.", "Perhaps.", toml="[agree]\nat_least = 1\n")
    result, changed = desk.update()
    assert (result.ret, changed) == (1, set())
    result.stdout.fnmatch_lines(["  a/0001_assistant.md: left alone: *1 of 3 answers alike, 3 needed*"])


def test_all_runs_are_made_for_an_update(desk):
    desk.case("a", *["Yes."] * 2, *["No."] * 3, toml="agreement = 0.2")
    desk.update()
    assert desk.text("a/0001_assistant.md") == "No.\n"


def test_a_tie_is_said(desk):
    desk.case("a", "Yes.", "No.")
    result, changed = desk.update()
    assert changed == {"a/0001_assistant.md"}
    result.stdout.fnmatch_lines(["*2 answers are as frequent (1 × each), and the first of them is approved"])


TURNS = {
    '"holes"': {"0001_assistant.md"},
    '"last"': {"0005_assistant.md"},
    '"all"': {"0001_assistant.md", "0003_assistant.md", "0005_assistant.md"},
    "[1, 3]": {"0001_assistant.md", "0003_assistant.md"},
}


@pytest.mark.parametrize(("regenerate", "expected"), TURNS.items(), ids=TURNS)
def test_the_turns_that_are_answered_again_are_approved(desk, regenerate, expected):
    """Where a turn is a hole it is approved if its reply is to be like an approved one."""
    given = {
        "_0002_user": "And?\n",
        "_0003_assistant": "Old 3.\n",
        "_0004_user": "And?\n",
        "_0005_assistant": "Old 5.\n",
    }
    if regenerate != '"holes"':
        given["_0001_assistant"] = "Old 1.\n"
    desk.case("a", "New.", mode=None, toml=f"regenerate = {regenerate}\n", **given)
    if regenerate == '"holes"':
        desk.convos.write({"a/convo.toml": f'{desk.text("a/convo.toml")}[expect.1]\napproved = "exact"\n'})
    result, changed = desk.update()
    assert result.ret == 0, result.stdout.str()
    assert changed == {f"a/{name}" for name in expected}
    assert {desk.text(name) for name in changed} == {"New.\n"}


@pytest.mark.parametrize(
    "text",
    [
        "ä \N{SNOWMAN} \u202e",
        "x" * 200_000,
        "line\r\nline\r",
        "{{ x }}",
        "\ufeffmark",
        "--- \n",
        "\n\nYes.\n\n",
        "\x1b[31m",
    ],
    ids=["unicode", "long", "carriage returns", "braces", "mark", "dashes", "newlines", "escape"],
)
def test_any_answer_is_kept_as_it_is(desk, text):
    desk.case("a", text, mode="exact")
    result, changed = desk.update()
    assert (result.ret, changed) == (0, {"a/0001_assistant.md"}), result.stdout.str()
    result = desk.run()
    assert result.ret == 0, result.stdout.str()


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"], ids=["NUL", "half a character"])
def test_an_answer_that_no_file_can_hold_is_left_and_it_is_said(desk, text):
    desk.convos.write({"conftest.py": f"def pytest_convo_model(settings):\n    return lambda messages: {text!r}\n"})
    desk.case("a", "unused", mode="exact")
    result, changed = desk.update()
    if changed:  # what cannot travel was spelt out
        assert desk.text("a/0001_assistant.md").startswith("a\\")
    else:
        result.stdout.fnmatch_lines(["*left alone: the answer holds *"])


def test_an_empty_answer_is_no_reply_to_approve(desk):
    desk.case("a", "", _0001_assistant="Yes.\n")
    result, changed = desk.update()
    assert (result.ret, changed) == (1, set())


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"0001_assistant.md.j2": "{{ 1 }}"}, "template"),
        ({"0001_assistant.yaml": "content: Old."}, "record"),
        ({"0001_assistant_a.md": "Old.", "0001_assistant_b.md": "One."}, "2 files make up this reply"),
    ],
)
def test_what_is_no_plain_file_is_left_alone(desk, files, why):
    desk.case("a", "New.")
    desk.convos.write({f"a/{name}": text for name, text in files.items()})
    result, changed = desk.update()
    assert (result.ret, changed) == (0, set())
    result.stdout.fnmatch_lines([f"  a/0001_assistant*: left alone: *{why}*"])


def test_a_folder_that_cannot_be_written_is_told(desk):
    desk.case("a", "New.")
    (desk.path / "a/0001_assistant.md").mkdir()
    result, changed = desk.update()
    assert (result.ret, changed) == (2, set())
    result.stdout.fnmatch_lines(["*a/0001_assistant.md: *"])


def test_cases_that_share_a_file_must_answer_alike(desk):
    desk.case("a", "Yes.", toml="")
    desk.convos.write({"a/convo.toml": desk.text("a/convo.toml") + '[[case]]\nid = "one"\n[[case]]\nid = "two"\n'})
    result, changed = desk.update()
    assert (result.ret, changed) == (0, {"a/0001_assistant.md"})
    desk.convos.write({"a/script.toml": says("No.")})
    result, changed = desk.update("a/convo.toml::one")
    assert changed == set()
    result.stdout.fnmatch_lines(["*left alone: its 2 cases share the file, and only 1 of them ran"])


def test_a_selection_approves_what_it_ran(desk):
    desk.case("a", "Yes.", "Yes.")
    desk.case("b", "Yes.", "Yes.")
    _, changed = desk.update("-k", "run-2", "b")
    assert changed == {"b/0001_assistant.md"}


def test_nothing_is_approved_when_the_session_breaks_off(desk):
    desk.case("a", "Yes.", _0001_assistant="Old.\n")
    desk.convos.write({"a/convo.toml": f'{desk.text("a/convo.toml")}contains = "never"\n'})
    desk.case("b", "Yes.")
    result, changed = desk.update("-x")
    assert (result.ret, changed) == (1, set())


def test_a_dry_run_and_collecting_write_nothing(desk):
    desk.case("a", "Yes.")
    for option in ("--collect-only", "--convo-dry"):
        _, changed = desk.update(option)
        assert changed == set()


def test_secrets_are_not_in_an_approved_reply(desk, monkeypatch):
    monkeypatch.setenv("SHOP_KEY", "sk-very-secret-0123456789")
    desk.case("a", "unused", mode="exact")
    application = "def pytest_convo_model(settings):\n    return lambda messages: 'sk-very-' + 'secret-0123456789'\n"
    desk.convos.write({"conftest.py": application})
    _, changed = desk.update()
    assert changed == {"a/0001_assistant.md"}
    assert "secret-0123" not in desk.text("a/0001_assistant.md")


# -- how replies are compared


@pytest.mark.parametrize(
    ("mode", "approved", "reply", "passes"),
    [
        ("exact", "Yes.\n", "Yes.", True),
        ("exact", "Yes.\n", "yes.", False),
        ("normalized", "Yes.\n", "**yes**.", True),
        ("normalized", "Yes.\n", "No.", False),
        ("json", '{"a": [1]}\n', '```json\n{"a": [1.0]}\n```', True),
        ("json", '{"a": [1]}\n', '{"a": [2]}', False),
        ("similar", "Within 30 days, gladly.\n", "Gladly within 30 days", True),
        ("similar", "Within 30 days, gladly.\n", "Elephants fly.", False),
    ],
)
def test_a_reply_is_like_the_approved_one(desk, mode, approved, reply, passes):
    desk.case("a", reply, mode=mode, _0001_assistant=approved)
    result = desk.run()
    result.assert_outcomes(passed=passes, failed=not passes)
    if not passes:
        result.stdout.fnmatch_lines(["*turn 1, approved: *", "*--snapshot-update approves the new answer*"])


@WAYS
def test_a_judge_tells_whether_a_reply_says_what_the_approved_one_says(desk, args, monkeypatch):
    judged = []

    def answer(request) -> ScriptedReply | str:
        if request.messages[0].role != "system":
            return "A month."
        judged.append(request)
        verdict = "fail" if "Never" in request.messages[1].text else "pass"
        return json.dumps({"reason": "So it is.", "evidence": "", "verdict": verdict})

    with ScriptedServer(answer) as server:
        desk.convos.write({"convo.toml": f'regenerate = "all"\n[bot]\nmodel = "t"\nbase_url = "{server.url}"\n'})
        for name, text in {"a": "30 days.", "b": "Never.", "c": "**A month.**"}.items():
            toml = 'runs = 2\n[expect]\napproved = "judge"\n'
            desk.convos.write({f"{name}/0000_user.md": "Well?", f"{name}/convo.toml": toml})
            desk.convos.write({f"{name}/0001_assistant.md": f"{text}\n"})
        result = desk.run("--convo-record=new", *args)
        assert result.parseoutcomes()["passed"] == 2
        assert result.parseoutcomes()["failed"] == 1
        result.stdout.fnmatch_lines(
            ["*the reply does not say what the approved one says*", "*[[]-Never-]{+A month+}.*"]
        )
        assert len(judged) == 2 * 2 + 2  # what is equal in words needs no judge, and what is denied once is denied
    monkeypatch.setenv("CI", "true")
    result = desk.run(*args)
    assert (result.parseoutcomes()["passed"], result.parseoutcomes()["failed"]) == (2, 1), result.stdout.str()
    assert result.parseoutcomes().get("errors") is None


def test_a_judge_is_not_asked_while_replies_are_approved(desk):
    desk.convos.write({"judge_script.toml": "[[reply]]\nerror = 400\n"})
    desk.case("a", "A month.", mode="judge", _0001_assistant="30 days.\n")
    result, changed = desk.update()
    assert (result.ret, changed) == (0, {"a/0001_assistant.md"}), result.stdout.str()


def test_a_judge_of_approved_replies_that_cannot_be_made_is_told_with_its_place(desk):
    desk.case("a", "A month.", mode="judge", _0001_assistant="30 days.\n")
    result = desk.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["a/convo.toml:7: *judge_script.toml*"])


def test_the_approved_reply_of_a_turn_is_a_probe_of_the_judge_of_that_turn_alone(desk):
    verdicts = "".join(
        f'[[reply]]\nwhen = \'{when}\'\ntext = \'{{"reason": "So.", "evidence": "", "verdict": "{verdict}"}}\'\n'
        for when, verdict in (("30 days", "pass"), (".", "fail"))
    )
    desk.convos.write({"judge_script.toml": verdicts})
    desk.case(
        "a",
        "30 days.",
        mode=None,
        _0001_assistant="30 days.\n",
        _0002_user="Thanks!\n",
        _0003_assistant="You are welcome.\n",
    )
    desk.convos.write({"a/convo.toml": f'{desk.text("a/convo.toml")}[expect.1]\njudge = "It names a time."\n'})
    result = desk.run("--convo-judge-check")
    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines(["*passed: 3 of 3 judgements right*"])


def test_without_syrupy_there_is_no_such_option(desk):
    desk.case("a", "Yes.")
    result = desk.convos.pytester.runpytest_inprocess("--snapshot-update")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
