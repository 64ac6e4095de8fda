"""What goes when a conversation is cut, in which order it is done, and what stands when it cannot be."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.conversation import branch as branching
from pytest_convo.conversation.branch import Branch, branch, cut, goes, unfinished
from pytest_convo.conversation.fork import Before
from pytest_convo.conversation.names import message_name
from pytest_convo.conversation.scan import scan
from pytest_convo.errors import ConvoError, FormatErrors

TALK = {
    "0000_user.md": "Hello?",
    "0001_assistant.md": "Yes?",
    "0002_user.md": "My order?",
    "0003_assistant.yaml": "tool_calls: [{id: a, name: lookup}]",
    "0004_tool.yaml": "{tool_call_id: a, content: late}",
    "0005_assistant.md": "It is late.",
    "0005_assistant_steps.yaml": "[]",
    "0006_user.md": "Oh.",
    "0006_user_b.md": "Well.",
    "convo.toml": "",
}


@pytest.fixture
def talk(make):
    return make(TALK, "talk")


@pytest.fixture
def said():
    return []


def names(directory):
    return sorted(path.name for path in directory.iterdir())


@pytest.mark.parametrize(
    ("after", "everything", "expected"),
    [
        (0, False, [1, 3, 4, 5, 5]),
        (1, False, [3, 4, 5, 5]),
        (2, True, [3, 4, 5, 5, 6, 6]),
        (5, False, []),
        (5, True, [6, 6]),
        (9, True, []),
    ],
)
def test_what_goes(talk, after, everything, expected):
    assert [file.index for file in goes(scan(talk), after, everything)] == expected


@given(
    st.dictionaries(st.integers(0, 9), st.sampled_from(["system", "user", "assistant", "tool"])),
    st.integers(0, 9),
    st.booleans(),
)
def test_it_is_the_bots_and_the_tools_after_the_message(roles, after, everything):
    with tempfile.TemporaryDirectory() as directory:
        for index, role in roles.items():
            Path(directory, message_name(index, role)).touch()
        result = branch(directory, after, everything=everything, say=str)
        stay = {
            message_name(index, role)
            for index, role in roles.items()
            if index <= after or (role in ("user", "system") and not everything)
        }
        assert set(names(Path(directory))) == stay
        assert set(result.gone) == {message_name(index, role) for index, role in roles.items()} - stay


def test_answers_that_are_not_whole_go_with_their_line(make, said):
    files = ["0001_assistant.md", "0001_assistant.md.partial", "0003_assistant.md.partial", "0003_assistant.md.new"]
    others = ["0003_user.md.new", "0003_assistant.md.orig", "0003_assistant.partial", "notes.new", "0003_assistant.md~"]
    talk = make(dict.fromkeys(["0000_user.md", "0003_assistant_steps.yaml.partial", *files, *others], ""), "talk")
    expected = ("0003_assistant.md.new", "0003_assistant.md.partial", "0003_assistant_steps.yaml.partial")

    assert unfinished(talk, 1) == expected
    assert branch(talk, 1, say=said.append) == Branch(expected)
    assert said == [f"after 0001_assistant.md these go: {', '.join(expected)}"]
    assert names(talk) == sorted(["0000_user.md", "0001_assistant.md", "0001_assistant.md.partial", *others])


def test_the_list_then_the_fork_then_the_cut(talk, said):
    events = []

    def say(line):
        said.append(line)
        events.append((len(names(talk)), len(names(talk.parent))))

    def announce(event):
        assert Path(event["path"]).exists() == (event["digest"] is None)
        events.append(Path(event["path"]).name if event["digest"] is None else "fork")

    result = branch(talk, 2, keep=True, say=say, announce=announce)
    went = ("0003_assistant.yaml", "0004_tool.yaml", "0005_assistant.md", "0005_assistant_steps.yaml")
    assert result == Branch(went, talk.with_name("talk-0001"))
    assert said == [f"after 0002_user.md these go: {', '.join(went)}", "kept as talk-0001"]
    assert events == [(10, 1), *["fork"] * 10, (10, 2), *reversed(went)]
    assert names(talk) == sorted(TALK.keys() - set(went))
    assert names(talk.with_name("talk-0001")) == sorted(TALK)


def test_the_old_line_is_kept_as_it_was_before_the_edit(talk):
    kept = branch(talk, 0, keep=True, before={talk / "0000_user.md": Before(b"Hi!", 0o600, 1)}, say=str).kept
    assert (kept / "0000_user.md").read_text() == "Hi!"
    assert (talk / "0000_user.md").read_text() == "Hello?"


def test_where_nothing_goes_nothing_is_done(talk, said):
    assert branch(talk, 6, keep=True, everything=True, say=said.append) == Branch(())
    assert branch(talk, 8, keep=True, say=said.append) == Branch(())
    assert branch(talk / "nowhere", 0, keep=True, say=said.append) == Branch(())
    assert said == [
        "nothing goes after 0006_user_b.md",
        "nothing goes after index 8",
        "nothing goes after index 0",
    ]
    assert names(talk.parent) == ["talk"]


def test_a_dry_session_only_lists(talk, said):
    assert branch(talk, 4, keep=True, say=said.append, dry=True).gone == (
        "0005_assistant.md",
        "0005_assistant_steps.yaml",
    )
    assert len(said) == 1
    assert names(talk) == sorted(TALK)
    assert names(talk.parent) == ["talk"]


def test_nothing_is_removed_where_the_fork_fails(talk, monkeypatch):
    def fails(*_args):
        raise ConvoError("the disk is full")

    monkeypatch.setattr(branching, "fork", fails)
    with pytest.raises(ConvoError, match="the disk is full"):
        branch(talk, 0, keep=True, say=str)
    assert names(talk) == sorted(TALK)


def test_nothing_is_removed_from_what_is_not_sound(talk):
    (talk / "0001_user.md").write_text("two roles at one index")
    with pytest.raises(FormatErrors, match="files of one index have one role"):
        branch(talk, 0, say=str)
    assert len(names(talk)) == len(TALK) + 1


def test_a_file_that_cannot_be_removed(talk, monkeypatch):
    unlink = Path.unlink

    def forbidden(path, **options):
        if path.name == "0002_user.md":
            raise PermissionError(1, "Operation not permitted")
        unlink(path, **options)

    monkeypatch.setattr(Path, "unlink", forbidden)
    with pytest.raises(ConvoError, match=r"0002_user.md: cannot be removed: Operation not permitted") as caught:
        cut(talk, ["0001_assistant.md", "0003_assistant.yaml", "0002_user.md"])
    assert caught.value.hint == "gone: 0003_assistant.yaml; still there: 0002_user.md, 0001_assistant.md"
    assert names(talk) == sorted(TALK.keys() - {"0003_assistant.yaml"})


def test_what_has_gone_by_itself_is_gone(talk):
    cut(talk, ["0007_assistant.md", "0005_assistant.md"])
    assert names(talk) == sorted(TALK.keys() - {"0005_assistant.md"})
