"""`convo_snapshot`: one snapshot for all runs of a group, through syrupy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import Convos

# pytest 9.1 warns of a plugin that an earlier session in the same process has loaded.
SECOND = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
STRICT = ["-p", "syrupy", "-W", "error", *SECOND, "-o", "strict=true"]
WORKERS = ["-p", "xdist.plugin", "-n2"]

TEST = """
def test_same(convo, convo_snapshot):
    assert convo == convo_snapshot
"""

FUZZY = """
from pytest_convo import Message

TEXTS = {texts}

def test_same(convo, convo_snapshot):
    said = Message("assistant", TEXTS[convo.run - 1])
    assert [*convo.messages[:-1], said] == convo_snapshot({options})
"""

HELLO = """- role: user
  text: "Hello?"
- role: assistant
  text: Yes.
"""


class Project:
    """A conversation, and tests of it beside it."""

    def __init__(self, convos: Convos) -> None:
        self.convos = convos
        self.path = convos.path
        self.has(runs=3)

    def has(self, *, runs: int, agreement: str = "2/3") -> None:
        self.convos.say(".", toml=f'runs = {runs}\nagreement = "{agreement}"\n')

    def tests(self, code: str = TEST, name: str = "test_same") -> None:
        self.convos.write({f"{name}.py": code})

    def says(self, *texts: str, agreement: str = "2/3", options: str = "") -> None:
        """Run i of the test says the i-th text."""
        self.has(runs=len(texts), agreement=agreement)
        self.tests(FUZZY.format(texts=texts, options=options))

    def run(self, *args: str) -> pytest.RunResult:
        self.convos.pytester.plugins.clear()
        return self.convos.pytester.runpytest_inprocess(*STRICT, *args)

    def run_apart(self, *args: str) -> pytest.RunResult:
        """In a process of its own, where syrupy's errors are the ones that ours know."""
        return self.convos.pytester.runpytest_subprocess(*STRICT, *args, timeout=60)

    def keeps(self, text: str, name: str = "test_same/test_same.run.yaml") -> None:
        self.convos.write({f"__snapshots__/{name}": HELLO.replace("Yes.", text)})

    @property
    def snapshots(self) -> dict[str, str]:
        root = self.path / "__snapshots__"
        return {path.relative_to(root).as_posix(): path.read_text() for path in sorted(root.rglob("*.*"))}


@pytest.fixture
def project(convos: Convos) -> Project:
    return Project(convos)


# -- what is kept, and where


def test_one_snapshot_is_kept_for_all_runs(project: Project) -> None:
    project.tests()
    result = project.run("--snapshot-update")
    result.stdout.fnmatch_lines(["1 snapshot generated.*"])
    assert project.snapshots == {"test_same/test_same.run.yaml": HELLO}
    result = project.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["1 snapshot passed."])


def test_without_a_snapshot_the_test_fails_and_nothing_is_written(project: Project) -> None:
    project.tests()
    result = project.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*Snapshot 'test_same.run' does not exist!"])
    assert project.snapshots == {}


@pytest.mark.parametrize(
    "compared",
    [
        "convo_snapshot == convo",
        "convo.last == convo_snapshot",
        "convo_snapshot == convo.last.text",
        "list(convo.messages) == convo_snapshot",
        "[{'role': 'user', 'content': 'Hi'}] == convo_snapshot",
        "convo.messages[0] == convo_snapshot",
    ],
)
def test_anything_that_was_said_can_be_compared(project: Project, compared: str) -> None:
    project.tests(f"def test_same(convo, convo_snapshot):\n    assert {compared}\n")
    assert project.run("--snapshot-update", "test_same.py").ret == 0
    assert project.run("test_same.py").ret == 0


def test_anything_else_is_an_error_in_words(project: Project) -> None:
    project.tests("def test_same(convo, convo_snapshot):\n    assert convo.run == convo_snapshot\n")
    result = project.run("test_same.py")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*test_same.py:2: a snapshot is taken of what was said, not of 'int'"])
    result.stdout.no_fnmatch_line("*portrait.py*")


def test_several_snapshots_of_a_test_are_numbered_or_named(project: Project) -> None:
    project.tests(
        "def test_same(convo, convo_snapshot):\n"
        "    assert convo == convo_snapshot\n"
        "    assert convo.last == convo_snapshot\n"
        "    assert convo.last.text == convo_snapshot(name='the answer?')\n"
    )
    assert project.run("--snapshot-update").ret == 0
    second, first, named = project.snapshots
    assert (first, second) == ("test_same/test_same.run.yaml", "test_same/test_same.run.1.yaml")
    assert named.startswith("test_same/test_same.run[the-answer-]-")
    result = project.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["3 snapshots passed."])


def test_cases_classes_and_parameters_have_snapshots_of_their_own(convos: Convos) -> None:
    project = Project(convos)
    cases = '[[case]]\nid = "late-order"\n[[case]]\nid = "early"\n'
    convos.say(".", toml=f'runs = 2\n{cases}[bot]\nprovider = "scripted"\n')
    project.tests(
        "import pytest\n"
        "class TestAll:\n"
        "    @pytest.mark.parametrize('way', ['to/the left', 'right' * 40])\n"
        "    def test_same(self, way, convo, convo_snapshot):\n"
        "        assert convo == convo_snapshot\n"
        "@pytest.mark.parametrize('way', ['to/the left', 'right' * 40])\n"
        "def test_plain(way, convo_snapshot):\n"
        "    assert way == convo_snapshot\n"
    )
    assert project.run("--snapshot-update").ret == 0
    names = [name.removeprefix("test_same/") for name in project.snapshots]
    assert "TestAll.test_same.to-the-left-late-order.run.yaml" in names
    assert len(names) == 6
    result = project.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["6 snapshots passed."])


def test_a_name_that_no_disk_takes_is_shortened_without_a_word_from_syrupy(project: Project) -> None:
    project.tests(TEST.replace("test_same", "test_" + "same" * 60))
    result = project.run("--snapshot-update")
    assert result.ret == 0, result.stdout.str()
    assert len(project.snapshots) == 1
    project.run().stdout.fnmatch_lines(["1 snapshot passed."])


def test_no_secret_is_kept(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "abracadabra-4711")
    project.says(*["It is abracadabra-4711."] * 2)
    assert project.run("--snapshot-update").ret == 0
    assert "text: It is [secret SHOP_TOKEN]." in project.snapshots["test_same/test_same.run.yaml"].replace(
        "|-\n    ", ""
    )
    assert project.run().ret == 0


def test_the_message_files_are_never_touched(project: Project) -> None:
    project.tests()
    project.convos.write({"0001_assistant.md": "Approved.\n", "0002_user.md": "And then?\n"})
    before = {path.name: path.read_bytes() for path in project.path.glob("0*")}
    assert project.run("--snapshot-update", "test_same.py").ret == 0
    assert {path.name: path.read_bytes() for path in project.path.glob("0*")} == before


# -- differences


def test_the_difference_is_shown_by_lines(project: Project) -> None:
    project.tests()
    project.convos.write(
        {"__snapshots__/test_same/test_same.run.yaml": "[{role: user, text: Hello?}, {role: assistant, text: No.}]"}
    )
    result = project.run("test_same.py")
    assert result.ret == 1
    result.stdout.no_fnmatch_line("*[-+]*Hello*")
    result.stdout.fnmatch_lines(["*[[]+ received[]] == [[]- snapshot[]]", "*-   text: No.", "*+   text: Yes."])


def test_a_dissenting_run_does_not_turn_the_session_red(project: Project) -> None:
    project.says("Yes.", "No.", "Yes.")
    project.keeps("Yes.")
    result = project.run("test_same.py")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["1 snapshot failed. 1 snapshot passed.", "*1 passed, 1 dissent*"])


def test_nor_does_one_with_workers(project: Project) -> None:
    project.says("Yes.", "No.", "Yes.")
    project.keeps("Yes.")
    result = project.run(*WORKERS, "--convo-record=all", "test_same.py")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["1 snapshot failed. 1 snapshot passed.", "*1 passed, 1 dissent*"])


def test_most_runs_that_differ_do(project: Project) -> None:
    project.says("Yes.", "No.", "No.")
    project.keeps("Yes.")
    assert project.run("test_same.py").ret == 1


@pytest.mark.parametrize(
    ("kept", "said", "options"),
    [
        ("'Yes,  gladly.'", "**yes**, gladly.", "alike='normalized'"),
        ("'[1, 2.0]'", "```\n[1.0, 2]\n```", "alike='json'"),
        ("within 30 days", "Within 30 days!", "alike='similar'"),
        ("Yes.", "Certainly.", "alike=lambda kept, said: (kept, said) == ('Yes.', 'Certainly.')"),
    ],
)
def test_texts_can_be_compared_by_an_equivalence(project: Project, kept: str, said: str, options: str) -> None:
    project.keeps(kept)
    project.says(said, agreement="1/1", options=options)
    assert project.run("test_same.py").ret == 0
    project.says(said, agreement="1/1")
    assert project.run("test_same.py").ret == 1


def test_an_equivalence_holds_for_one_comparison(project: Project) -> None:
    project.keeps("'Yes.'")
    project.tests(
        "def test_same(convo_snapshot, convo):\n"
        "    assert 'yes.' != convo_snapshot(name='a', alike='normalized')\n"
        "    assert convo_snapshot.extension.like is None\n"
    )
    assert project.run("test_same.py", "--snapshot-warn-unused").ret == 0


def test_an_unknown_equivalence_is_told_in_words(project: Project) -> None:
    project.says("Yes.", options="alike='simlar'", agreement="1/1")
    result = project.run("test_same.py")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "*alike='simlar' is no equivalence",
            "*did you mean 'similar'? known: exact, normalized, json, similar; or a function of two texts",
        ]
    )


def test_an_equivalence_that_breaks_shows_where(project: Project) -> None:
    project.keeps("No.")
    project.says("Yes.", options="alike=lambda kept, said: 1 / 0", agreement="1/1")
    result = project.run("test_same.py")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*ZeroDivisionError*"])


# -- updates


def test_what_is_alike_is_not_rewritten(project: Project) -> None:
    project.keeps("yes.")
    project.says("**Yes.**", "YES.", options="alike='normalized'")
    before = project.snapshots
    assert project.run("--snapshot-update").ret == 0
    assert project.snapshots == before


def test_of_runs_that_differ_the_first_writes_and_the_others_pass(project: Project) -> None:
    project.says("One.", "Two.", "Three.", agreement="1")
    project.keeps("Zero.")
    result = project.run("--snapshot-update")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["1 snapshot updated."])
    assert project.snapshots["test_same/test_same.run.yaml"] == HELLO.replace("Yes.", "One.")


@pytest.mark.parametrize("option", ["--snapshot-update", "--snapshot-update-new-only"])
def test_with_workers_one_run_writes(project: Project, option: str) -> None:
    texts = [f"Number-{number}" for number in range(8)]
    project.says(*texts, agreement="1")
    result = project.run(*WORKERS, option, "test_same.py")
    assert result.ret == 0
    assert list(project.snapshots) == ["test_same/test_same.run.yaml"]
    (written,) = project.snapshots.values()
    assert written in [HELLO.replace("Yes.", text) for text in texts]
    result.stdout.fnmatch_lines(["1 snapshot generated.*"])


def test_one_that_stands_is_not_new(project: Project) -> None:
    project.says("One.", "Two.", "Two.")
    project.keeps("Two.")
    result = project.run("--snapshot-update-new-only", "test_same.py")
    result.stdout.fnmatch_lines(["*1 passed, 1 dissent*"])
    (project.path / "__snapshots__/test_same/test_same.run.yaml").unlink()
    project.says("One.", "Two.", "Three.", agreement="1")
    assert project.run("--snapshot-update-new-only", "test_same.py").ret == 0
    assert project.snapshots["test_same/test_same.run.yaml"] == HELLO.replace("Yes.", "One.")


def test_a_snapshot_that_was_broken_by_hand_is_written_anew(project: Project) -> None:
    project.tests()
    project.convos.write({"__snapshots__/test_same/test_same.run.yaml": "- role: [\n"})
    result = project.run_apart("test_same.py")
    assert result.ret == 1
    result.stdout.no_fnmatch_line("*Traceback*")
    assert project.run_apart("test_same.py", "--snapshot-update").ret == 0
    assert project.snapshots == {"test_same/test_same.run.yaml": HELLO}


def test_where_the_first_run_cannot_write_it_the_next_one_does(project: Project) -> None:
    project.keeps("Zero.")
    project.says("One.", "Two.", "Three.", options="alike=lambda kept, said: 1 / (said != 'One.') < 0")
    result = project.run("--snapshot-update", "test_same.py")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*1 passed, 1 dissent*"])
    assert project.snapshots["test_same/test_same.run.yaml"] == HELLO.replace("Yes.", "Two.")


def test_a_test_that_is_not_redundant_writes_as_ever(project: Project) -> None:
    project.tests("def test_same(convo_snapshot):\n    assert 'Yes.' == convo_snapshot\n")
    assert project.run("--snapshot-update").ret == 0
    assert project.snapshots == {"test_same/test_same.yaml": "text: Yes.\n"}


# -- what syrupy takes for unused


GONE = "test_same/test_gone.run.yaml"


def test_a_snapshot_of_a_test_that_is_gone_is_unused(project: Project) -> None:
    project.tests()
    project.keeps("Yes.")
    project.keeps("Yes.", GONE)
    result = project.run("--snapshot-details")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["1 snapshot passed. 1 snapshot unused.", "Unused test_gone.run (*"])
    assert project.run("--snapshot-update").ret == 0
    assert list(project.snapshots) == ["test_same/test_same.run.yaml"]


def test_with_workers_too(project: Project) -> None:
    project.tests()
    project.keeps("Yes.")
    project.keeps("Yes.", GONE)
    result = project.run(*WORKERS, "--snapshot-details")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["1 snapshot passed. 1 snapshot unused.", "Unused test_gone.run (*"])
    (project.path / "__snapshots__" / GONE).unlink()
    assert project.run(*WORKERS).ret == 0


@pytest.mark.parametrize("selection", [["-k", "run-2"], ["-k", "test_same"], ["test_same.py::test_same::run-3"], ["."]])
def test_what_a_selection_leaves_out_is_not_unused(project: Project, selection: list[str]) -> None:
    project.tests(TEST + TEST.replace("test_same", "test_other"))
    project.keeps("Yes.")
    project.keeps("Yes.", "test_same/test_other.run.yaml")
    result = project.run(*selection)
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*snapshot* unused*")
    before = project.snapshots
    assert project.run("--snapshot-update", *selection).ret == 0
    assert project.snapshots == before


def test_nor_is_it_with_workers(project: Project) -> None:
    project.tests(TEST + TEST.replace("test_same", "test_other"))
    project.keeps("Yes.")
    project.keeps("Yes.", "test_same/test_other.run.yaml")
    result = project.run(*WORKERS, "-k", "test_other and run-2", "--snapshot-update")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["1 snapshot passed."])
    assert len(project.snapshots) == 2


def test_nor_what_was_no_failure_with_lf(project: Project) -> None:
    project.tests(TEST + TEST.replace("test_same", "test_other"))
    project.keeps("No.")
    project.keeps("Yes.", "test_same/test_other.run.yaml")
    assert project.run().ret == 1
    result = project.run("--lf", "--snapshot-update")
    assert result.ret == 0
    assert list(project.snapshots) == ["test_same/test_other.run.yaml", "test_same/test_same.run.yaml"]


def test_the_snapshots_of_skipped_tests_and_of_syrupy_itself_stay(project: Project) -> None:
    project.tests()
    project.tests(
        "import pytest\n"
        "@pytest.mark.skip\n"
        "def test_ours(convo, convo_snapshot): assert convo == convo_snapshot\n"
        "@pytest.mark.skip\n"
        "def test_theirs(snapshot): assert 1 == snapshot\n",
        "test_skipped",
    )
    project.keeps("Yes.", "test_skipped/test_ours.run.yaml")
    project.convos.write(
        {"__snapshots__/test_skipped.ambr": "# serializer version: 1\n# name: test_theirs\n  1\n# ---\n"}
    )
    assert project.run("--snapshot-update").ret == 0
    assert project.snapshots.keys() == {
        "test_same/test_same.run.yaml",
        "test_skipped.ambr",
        "test_skipped/test_ours.run.yaml",
    }


def test_syrupys_own_fixture_may_stand_beside_it(project: Project) -> None:
    project.tests(
        "def test_same(convo, convo_snapshot, snapshot):\n"
        "    assert convo == convo_snapshot\n"
        "    assert convo.last.text == snapshot\n"
        "def test_plain(convo_snapshot, snapshot):\n"
        "    assert 'a' == convo_snapshot\n"
        "    assert 'b' == snapshot\n"
    )
    assert project.run("--snapshot-update", "--convo-eager").ret == 0
    result = project.run("--convo-eager")
    assert "failed" not in result.stdout.str()
    assert {"test_same.ambr", "test_same/test_plain.yaml", "test_same/test_same.run.yaml"} == project.snapshots.keys()


# -- without syrupy


def test_without_syrupys_plugin_it_is_an_error_in_words(project: Project) -> None:
    project.tests(TEST + "\ndef test_other(convo):\n    assert convo.last.text == 'Yes.'\n")
    result = project.convos.pytester.runpytest_inprocess("-p", "no:syrupy", "-W", "error", *SECOND, "-v")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "*test_other PASSED*",
            "*`convo_snapshot` needs syrupy's plugin, which is not loaded",
            "*take out `-p no:syrupy`; where plugins are not loaded by themselves, add `-p syrupy`",
        ]
    )
    result.stdout.no_fnmatch_line("*snapshot.py*")


def test_nobody_who_takes_no_snapshot_loads_syrupy(project: Project) -> None:
    project.convos.pytester.makeconftest(
        "import sys\ndef pytest_unconfigure():\n    assert not any(name.startswith('syrupy') for name in sys.modules)\n"
    )
    project.convos.pytester.plugins.clear()
    assert project.convos.pytester.runpytest_subprocess(timeout=60).ret == 0
