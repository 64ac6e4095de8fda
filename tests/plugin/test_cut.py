"""`--convo-trunc`, `--convo-trunc-all` and `--convo-fork` on the command line."""

from __future__ import annotations

import pytest

from pytest_convo.conversation.fork import Before, fork

TALK = {
    "0001_assistant.md": "Hello.\n",
    "0002_user.md": "My order is late.\n",
    "0003_assistant.md": "Oh.\n",
    "0004_user.md": "And now?\n",
    "0005_assistant.md": "Wait.\n",
}
TURNS = "def test_turns(convo): assert [turn.index for turn in convo.turns] == [3, 5]"


@pytest.fixture
def talk(convos):
    return convos.say("talk", {**TALK, "test_turns.py": TURNS})


@pytest.fixture
def cut(convos):
    return lambda *args: convos.run("--convo-write", "-p", "no:cacheprovider", *args)


def messages(directory) -> list[str]:
    return sorted(path.name for path in directory.glob("0*"))


def original(directory) -> dict[str, str]:
    return {path.name: path.read_text() for path in directory.glob("0*")}


@pytest.fixture(params=[[], ["-p", "xdist.plugin", "-n2"]], ids=["one", "xdist"])
def workers(request) -> list[str]:
    return request.param


def test_the_answers_after_the_message_are_given_anew(talk, cut, workers):
    result = cut("--convo-trunc=2", "talk", *workers)
    assert result.ret == 0
    lines = ["convo: after 0002_user.md these go: 0003_assistant.md, 0005_assistant.md", "*test session starts*"]
    result.stdout.fnmatch_lines(lines)
    result.assert_outcomes(passed=2)
    assert result.stdout.str().count("these go") == 1
    anew = {"0003_assistant.md": "Yes.\n", "0005_assistant.md": "Yes.\n"}
    assert original(talk) == {"0000_user.md": "Hello?\n", **TALK, **anew}
    assert not (talk.parent / "talk-0001").exists()


def test_the_old_line_is_kept(talk, cut, workers):
    was = original(talk)
    result = cut("--convo-fork=2", "--convo-trunc-all", "talk/convo.toml", *workers)
    files = "0003_assistant.md, 0004_user.md, 0005_assistant.md"
    result.stdout.fnmatch_lines([f"convo: after 0002_user.md these go: {files}", "convo: kept as talk-0001"])
    assert original(talk.with_name("talk-0001")) == was
    assert not (talk / "0004_user.md").exists()
    assert sorted(path.name for path in talk.parent.glob("*talk*")) == ["talk", "talk-0001"]


@pytest.mark.parametrize(
    "argument",
    ["talk", "talk/", "./talk/../talk", "talk/0003_assistant.md", "talk/convo.toml::run-1", "talk/test_turns.py"],
)
def test_it_may_be_named_by_anything_in_it(talk, cut, argument):
    result = cut("--convo-trunc=4", argument, "--collect-only")
    result.stdout.fnmatch_lines(["convo: after 0004_user.md these go: 0005_assistant.md"])


def test_a_conversation_that_was_read_before_is_read_anew(talk, cut):
    (talk / "convo.toml").rename(talk.parent / "convo.toml")
    result = cut("--convo-trunc=2", "talk/0003_assistant.md", "talk/test_turns.py")
    assert result.ret == 0
    result.assert_outcomes(passed=2)


def test_the_working_directory(talk, convos, cut, monkeypatch):
    monkeypatch.chdir(talk)
    cut("--convo-fork=4").stdout.fnmatch_lines(["convo: kept as talk-0001"])


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["talk", "other"], "*cut one conversation, and these are 2: talk, other"),
        (["."], "*cut one conversation, and this is none: ."),
        ([], "*cut one conversation, and this is none: *"),
        (["talk", "nowhere"], "*cut one conversation, and this is none: nowhere"),
        (["talk/nowhere.py"], "*cut one conversation, and this is none: talk/nowhere.py"),
    ],
    ids=["several", "above", "nothing", "one of them", "no file"],
)
def test_it_must_be_clear_which_conversation_is_meant(talk, convos, cut, args, told):
    convos.say("other", TALK)
    was = original(talk)
    result = cut("--convo-trunc=2", *args)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {told}", "  name its directory, or a file in it; nothing was removed"])
    assert original(talk) == was


@pytest.mark.parametrize("index", [7, 6, 3])
def test_there_must_be_a_message_at_the_index(talk, cut, index):
    (talk / "0003_assistant.md").unlink()
    result = cut(f"--convo-fork={index}", "talk")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    told = f"ERROR: *talk: there is no message at index {index} after which it could be cut"
    result.stderr.fnmatch_lines([told, "  there are: 0, 1, 2, 4, 5; nothing was removed"])
    assert len(messages(talk)) == 5


def test_where_nothing_goes_nothing_is_kept(talk, cut):
    result = cut("--convo-fork=5", "talk")
    result.stdout.fnmatch_lines(["convo: nothing goes after 0005_assistant.md"])
    assert not talk.with_name("talk-0001").exists()


@pytest.mark.parametrize(
    "only",
    ["--convo-dry", "--collect-only", "--convo-explain", "--setup-plan", "--fixtures", "--help", "--convo-schema"],
)
def test_a_session_without_tests_removes_nothing(talk, convos, only):
    was = original(talk)
    result = convos.pytester.runpytest_inprocess("--convo-write", "--convo-fork=2", "talk", only)
    assert result.ret == 0
    assert original(talk) == was
    assert not talk.with_name("talk-0001").exists()
    listed = only in ("--convo-dry", "--collect-only", "--setup-plan", "--fixtures")
    assert ("these go: 0003_assistant.md, 0005_assistant.md" in result.stdout.str()) == listed


def test_nothing_is_removed_where_the_fork_fails(talk, cut, monkeypatch):
    was = original(talk)
    talk.with_name("talk-9999").touch()
    result = cut("--convo-fork=2", "talk")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *talk: there is a talk-9999 already*", "*nothing was removed"])
    assert original(talk) == was


def test_nothing_is_removed_from_what_is_not_sound(talk, cut):
    (talk / "0003_usr.md").touch()
    result = cut("--convo-trunc=2", "talk")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: talk/0003_usr.md: unknown role 'usr' in the file name"])
    assert len(messages(talk)) == len(TALK) + 2


def test_without_the_terminal_it_is_done_in_silence(talk, cut):
    result = cut("--convo-trunc=2", "talk", "-p", "no:terminal")
    assert "these go" not in result.stdout.str()
    assert "Oh.\n" not in original(talk).values()


def test_a_fork_is_a_conversation_like_any_other(talk, cut, convos):
    kept = fork(talk, {talk / "0005_assistant.md": None, talk / "0004_user.md": Before(b"Well?\n", 0o644, 1)})
    result = convos.run("-v", kept.name)
    assert result.ret != pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(["talk-0001/convo.toml::run-1 PASSED*"])


@pytest.mark.parametrize("args", [["-k", "nosuch"], ["-m", "slow"]], ids=" ".join)
def test_nothing_goes_where_the_conversation_may_be_deselected(talk, cut, args):
    was = original(talk)
    result = cut("--convo-trunc=2", "talk", *args)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {args[0]} may deselect the conversation*", "  select by node id*"])
    assert original(talk) == was


def test_nothing_goes_where_the_settings_are_wrong(talk, cut):
    (talk / "convo.toml").write_text("rnus = 3\n")
    was = original(talk)
    result = cut("--convo-trunc=2", "talk")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *rnus*"])
    assert original(talk) == was
