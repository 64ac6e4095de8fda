"""One turn being written, with real files, and with somebody else at them."""

from __future__ import annotations

import asyncio
import errno
import os
from contextlib import contextmanager

import pytest

from pytest_convo.conversation.disk import digest
from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.conversation.reply import Reply
from pytest_convo.errors import BotFailure, ConvoError, ProviderError
from pytest_convo.redaction import Redactor
from pytest_convo.write.paper import Paper
from pytest_convo.write.scribe import Writer

CALL = ToolCall("c1", "lookup", '{"order": "A17"}')
STEPS = (Message("assistant", tool_calls=(CALL,)), Message("tool", "late", tool_call_id="c1"))


@contextmanager
def writing(place, *, redactor: Redactor | None = None, **more):
    writer = Writer(place.path, None, redactor or Redactor(), place.hear, holes={1}, **more)
    with writer.turn(1) as sheet:
        yield sheet


def finish(sheet, text: str = "Yes, gladly.", *steps: Message, **reply) -> None:
    made = Reply(text, **reply)
    sheet.finish(made, (*steps, made.to_message()))


def attempt(place, *deeds, **more) -> None:
    """Do one thing after the other while turn 1 is being written."""
    with writing(place, **more) as sheet:
        for deed in deeds:
            deed(sheet)


def says(piece: str):
    return lambda sheet: sheet.say(piece)


def finishes(*args, **reply):
    return lambda sheet: finish(sheet, *args, **reply)


def tried_again(sheet) -> None:
    sheet.observe({"kind": "retry"})


def somebody(write, *args):
    return lambda _: write(*args)


def breaks(error: BaseException):
    def breaks(_) -> None:
        raise error

    return breaks


def partial(place) -> str:
    return (place.path / "0001_assistant.md.partial").read_text()


def test_an_answer_grows_and_gets_its_name_when_it_is_whole(place):
    with writing(place) as sheet:
        assert partial(place) == ""
        sheet.say("Yes, gl")
        assert partial(place) == "Yes,"
        sheet.say("adly, within")
        assert partial(place) == "Yes, gladly,"
        finish(sheet, "Yes, gladly, within 30 days.")
    assert place.files == {"0001_assistant.md": "Yes, gladly, within 30 days.\n"}
    assert place.read().messages[1] == (Message("assistant", "Yes, gladly, within 30 days."),)


def test_a_listener_hears_all_of_it_and_of_a_file_before_it_is_there(place):
    there = []

    def hear(event):
        place.hear(event)
        if event["kind"] == "writes":
            there.append((place.path / "0001_assistant.md").exists())

    with Writer(place.path, "late", Redactor(), hear, holes={1}).turn(1) as sheet:
        sheet.say("Yes, gladly.")
        finish(sheet)
    path = str(place.path / "0001_assistant.md")
    whose = {"directory": str(place.path), "case": "late", "index": 1}
    assert place.heard == [
        {"kind": "turn", **whose},
        {"kind": "piece", **whose, "text": "Yes,"},
        {"kind": "writes", "path": path, "digest": digest(b"Yes, gladly.\n")},
        {"kind": "whole", **whose, "text": "Yes, gladly.", "file": path},
    ]
    assert there == [False]


def test_the_file_has_the_mode_that_new_files_have(place):
    with writing(place) as sheet:
        finish(sheet)
    (place.path / "other").touch()
    assert (place.path / "0001_assistant.md").stat().st_mode == (place.path / "other").stat().st_mode


@pytest.mark.parametrize("kind", ["request", "retry"])
def test_what_was_said_before_a_retry_or_a_further_round_is_void(place, kind):
    with writing(place) as sheet:
        sheet.observe({"kind": "request"})
        sheet.say("One moment, ")
        sheet.observe({"kind": kind})
        sheet.observe({"kind": "request"})
        assert partial(place) == "One moment,"
        sheet.say("Yes, gladly.")
        assert partial(place) == "Yes,"
        finish(sheet)
    assert place.files == {"0001_assistant.md": "Yes, gladly.\n"}
    assert place.kinds == ["turn", "piece", "again", "piece", "writes", "whole"]


def test_what_is_streamed_need_not_be_what_is_answered(place):
    with writing(place) as sheet:
        sheet.say("Something else was said. ")
        finish(sheet)
    assert place.files == {"0001_assistant.md": "Yes, gladly.\n"}


def test_nothing_secret_is_ever_in_the_file(place):
    with writing(place, redactor=Redactor({"hunter2hunter2": "PASSWORD"})) as sheet:
        for piece in ("It is hunter2", "hunter2", "."):
            sheet.say(piece)
            assert "hunter2" not in partial(place)
        finish(sheet, "It is hunter2hunter2.")
    assert place.files == {"0001_assistant.md": "It is [secret PASSWORD].\n"}
    assert "hunter2" not in str(place.heard)


def test_pieces_that_come_late_are_of_no_interest(place):
    with writing(place) as sheet:
        finish(sheet)
        sheet.say("and more ")
    assert place.files == {"0001_assistant.md": "Yes, gladly.\n"}


# -- steps and records


def test_steps_are_there_before_the_answer_is(place):
    with writing(place) as sheet:
        finish(sheet, "Late.", *STEPS)
    assert list(place.files) == ["0001_assistant.md", "0001_assistant_steps.yaml"]
    assert place.read().messages[1] == (*STEPS, Message("assistant", "Late."))
    assert [path.rpartition("/")[2] for path in place.told("writes", "path")] == [
        "0001_assistant_steps.yaml",
        "0001_assistant.md",
    ]


@pytest.mark.parametrize("steps", [(), STEPS])
def test_steps_to_an_answer_that_was_deleted_are_not_taken_for_its_own(place, steps):
    (place.path / "0001_assistant_steps.yaml").write_text("- role: assistant\n  tool_calls: []\n")
    with writing(place) as sheet:
        finish(sheet, "Late.", *steps)
    assert place.read().messages[1] == (*steps, Message("assistant", "Late."))
    assert place.told("writes", "digest")[0] is None


def test_what_is_more_than_a_text_is_written_as_a_record(place):
    with writing(place) as sheet:
        sheet.say("Yes, gladly.")
        finish(sheet, extra={"reasoning": "hm"})
    assert place.files == {"0001_assistant.yaml": "content: |-\n  Yes, gladly.\nextra:\n  reasoning: hm\n"}
    assert place.told("whole", "file") == [str(place.path / "0001_assistant.yaml")]


def test_calls_that_end_the_turn_are_written_as_a_record(place):
    with writing(place, offers_after=1) as sheet:
        finish(sheet, "", calls=(CALL,))
    assert list(place.files) == ["0001_assistant.yaml"]


def test_steps_that_no_file_can_hold_leave_the_answer_beside_its_place(place):
    bad = (Message("assistant", tool_calls=(ToolCall("c1", "look", "{"),)), STEPS[1])
    with pytest.raises(
        ConvoError, match=r"the steps to it cannot be written: .* so the answer is in 0001_assistant\.md\.new"
    ):
        attempt(place, finishes("Late.", *bad))
    assert place.files == {"0001_assistant.md.new": "Late.\n"}


# -- somebody else writes, too


def edited(place, text: str) -> None:
    (place.path / "0001_assistant.md.partial").write_text(text)


def replaced(place, text: str) -> None:
    (place.path / "saved").write_text(text)
    (place.path / "saved").replace(place.path / "0001_assistant.md.partial")


@pytest.mark.parametrize("how", [edited, replaced])
@pytest.mark.parametrize("text", ["Mine.", "Mine, and that is quite a lot more.", "", "YES,"])
@pytest.mark.parametrize("goes_on", [False, True])
def test_an_edit_while_it_is_written_is_not_overwritten(place, how, text, goes_on):
    more = [says("adly and with pleasure ")] if goes_on else []
    with pytest.raises(ConvoError) as raised:
        attempt(place, says("Yes, gl"), somebody(how, place, text), *more, finishes())
    mine = partial(place)
    assert mine == text if not (goes_on and text == "YES,") else mine.startswith(text)
    assert place.files == {"0001_assistant.md.new": "Yes, gladly.\n", "0001_assistant.md.partial": mine}
    assert "0001_assistant.md.partial was changed meanwhile, so the answer is in 0001_assistant.md.new" in str(
        raised.value
    )
    assert place.told("whole", "file") == [str(place.path / "0001_assistant.md.new")]


def test_an_edit_survives_the_next_run(place):
    with pytest.raises(ConvoError):
        attempt(place, somebody(edited, place, "Mine."), finishes())
    attempt(place, finishes("Another one."))
    assert place.files["0001_assistant.md"] == "Another one.\n"
    assert place.files["0001_assistant.md.partial~"] == "Mine."


def test_a_file_that_was_removed_while_it_was_written_is_not_made_again(place):
    with pytest.raises(ConvoError, match="was changed meanwhile"):
        attempt(place, somebody((place.path / "0001_assistant.md.partial").unlink), finishes())
    assert place.files == {"0001_assistant.md.new": "Yes, gladly.\n"}


@pytest.mark.parametrize("name", ["0001_assistant.md", "0001_assistant.txt", "0001_assistant_mine.yaml"])
def test_an_answer_that_somebody_writes_meanwhile_stands(place, name):
    write = somebody((place.path / name).write_text, "content: Mine.")
    with pytest.raises(ConvoError, match=f"{name} was written meanwhile"):
        attempt(place, says("Yes, "), write, finishes("Yes, gladly.", *STEPS))
    assert list(place.files) == sorted([name, "0001_assistant.md.new", "0001_assistant_steps.yaml.new"])
    assert place.files[name] == "content: Mine."


def test_also_in_the_last_moment(place, monkeypatch):
    link = os.link

    def late(unfinished, path):
        if str(path).endswith(".md"):
            path.write_text("Mine.")
        link(unfinished, path)

    monkeypatch.setattr(os, "link", late)
    with pytest.raises(ConvoError, match=r"0001_assistant\.md was written meanwhile"):
        attempt(place, finishes("Late.", *STEPS))
    assert place.files["0001_assistant.md"] == "Mine."
    assert place.files["0001_assistant.md.new"] == "Late.\n"
    assert place.read().messages[1] == (Message("assistant", "Mine."),)


def test_steps_that_somebody_writes_meanwhile_stand(place):
    write = somebody((place.path / "0001_assistant_steps.yaml").write_text, "mine")
    with pytest.raises(ConvoError, match="its steps were changed meanwhile"):
        attempt(place, write, finishes())
    assert place.files["0001_assistant_steps.yaml"] == "mine"


def test_an_answer_that_nobody_has_taken_yet_stays_beside_the_next(place):
    (place.path / "0001_assistant.md.new").write_text("An old one.")
    with pytest.raises(ConvoError, match=r"so the answer is in 0001_assistant\.md\.1\.new"):
        attempt(place, somebody(edited, place, "Mine."), finishes())
    assert place.files["0001_assistant.md.new"] == "An old one."
    assert place.files["0001_assistant.md.1.new"] == "Yes, gladly.\n"


def test_a_turn_that_is_answered_by_now_is_not_asked_for(place):
    (place.path / "0001_assistant.md").write_text("Mine.")
    with pytest.raises(ConvoError, match=r"0001_assistant\.md: stands here"):
        attempt(place, breaks(AssertionError("it was asked for")))
    assert place.files == {"0001_assistant.md": "Mine."}
    assert place.heard == []


def test_a_turn_that_somebody_else_answers_is_not_asked_for(place):
    with writing(place) as sheet:
        with pytest.raises(ConvoError, match=r"0001_assistant\.md: is being written by another process"):
            attempt(place, breaks(AssertionError("it was asked for")))
        finish(sheet)
    assert place.files == {"0001_assistant.md": "Yes, gladly.\n"}


def test_who_comes_when_it_has_just_got_its_name_sees_that_it_has(place, monkeypatch):
    """The lock was on a file that is another one's by then."""
    paper = Paper(place.path, 1, place.teller())
    lstat, names = os.lstat, []

    def named_meanwhile(path):
        if not names:
            names.append(path)
            (place.path / "0001_assistant.md.partial").rename(place.path / "0001_assistant.md")
        return lstat(path)

    paper.close()
    monkeypatch.setattr(os, "lstat", named_meanwhile)
    with pytest.raises(ConvoError, match="stands here"):
        Paper(place.path, 1, place.teller())
    assert list(place.files) == ["0001_assistant.md"]


# -- what is not whole


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_an_answer_that_was_cut_off_is_marked_and_is_no_answer(place, reason):
    said = "Yes, gladly, with"
    with pytest.raises(BotFailure, match=f"finish_reason {reason}"):
        attempt(place, says(said), finishes(said, finish_reason=reason))
    marked = f"Yes, gladly,\n\n<!-- pytest-convo: cut off: finish_reason {reason} -->\n"
    assert place.files == {"0001_assistant.md.partial": marked}
    assert place.read().turns == (1,)
    with writing(place) as sheet:
        finish(sheet)
    assert place.files == {"0001_assistant.md": "Yes, gladly.\n"}


def test_a_stream_that_broke_off_for_good_is_marked(place):
    with pytest.raises(ProviderError):
        attempt(place, says("Yes, gladly, with"), breaks(ProviderError("the server broke off --> its answer")))
    marked = "Yes, gladly,\n\n<!-- pytest-convo: cut off: the server broke off -> its answer -->\n"
    assert place.files == {"0001_assistant.md.partial": marked}


def test_the_mark_holds_no_secret(place):
    error = ProviderError("the key hunter2hunter2 is wrong")
    with pytest.raises(ProviderError):
        attempt(place, says("Yes, gladly"), breaks(error), redactor=Redactor({"hunter2hunter2": "P"}))
    assert "cut off: the key [secret P] is wrong" in partial(place)


@pytest.mark.parametrize(
    "error",
    [asyncio.CancelledError(), KeyboardInterrupt(), ProviderError("refused")],
    ids=lambda error: type(error).__name__,
)
def test_what_was_called_off_or_never_came_leaves_nothing(place, error):
    said = [] if isinstance(error, ProviderError) else [says("Yes, gladly, with")]
    with pytest.raises(type(error)):
        attempt(place, *said, breaks(error))
    assert place.files == {}


def test_nor_does_what_was_void(place):
    with pytest.raises(ProviderError):
        attempt(place, says("Yes, gladly, with"), tried_again, breaks(ProviderError("refused")))
    assert place.files == {}


def test_an_edit_stays_whatever_ends_it(place):
    with pytest.raises(KeyboardInterrupt):
        attempt(place, somebody(edited, place, "Mine."), breaks(KeyboardInterrupt()))
    assert place.files == {"0001_assistant.md.partial": "Mine."}


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_answer_writes_nothing_and_says_so(place, text):
    with pytest.raises(
        BotFailure, match=r"the reply is empty \(finish_reason stop\), so 0001_assistant\.md is not written"
    ):
        attempt(place, finishes(text), offers_after=1)
    assert place.files == {}


def test_a_refusal_is_told(place):
    with pytest.raises(BotFailure, match="the model refused: I cannot"):
        attempt(place, finishes("", extra={"refusal": "I cannot."}))
    assert place.files == {}


# -- disks


def test_a_file_system_without_links_will_do(place, monkeypatch):
    def refused(*_):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    with writing(place) as sheet:
        finish(sheet, "Late.", *STEPS)
    assert place.read().messages[1] == (*STEPS, Message("assistant", "Late."))
    assert list(place.files) == ["0001_assistant.md", "0001_assistant_steps.yaml"]


def test_also_there_nothing_is_overwritten(place, monkeypatch):
    def refused(_, path):
        path.write_text("Mine.")
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    with pytest.raises(ConvoError, match="was written meanwhile"):
        attempt(place, finishes())
    assert place.files == {"0001_assistant.md": "Mine.", "0001_assistant.md.new": "Yes, gladly.\n"}


def test_a_full_disk_is_told_and_leaves_no_half_of_a_piece(place, monkeypatch):
    pwrite = os.pwrite

    def full(file, data, at):
        if at:
            pwrite(file, data[:2], at)
            raise OSError(errno.ENOSPC, "No space left on device")
        return pwrite(file, data, at)

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(ConvoError, match=r"0001_assistant\.md\.partial: cannot be written: No space left"):
        attempt(place, says("Yes, gladly "), says("and more "))
    assert partial(place).startswith("Yes, gladly")


def test_what_ended_a_turn_is_told_whatever_becomes_of_its_file(place, monkeypatch):
    def broken(*_):
        raise OSError(errno.EIO, "Input/output error")

    breaking = somebody(monkeypatch.setattr, os, "pread", broken)
    with pytest.raises(asyncio.CancelledError):
        attempt(place, says("Yes, gladly "), breaking, breaks(asyncio.CancelledError()))


def test_a_directory_that_has_gone_is_told(place):
    (place.path / "0000_user.md").unlink()
    place.path.rmdir()
    with pytest.raises(ConvoError, match="cannot be written: No such file or directory"):
        attempt(place, breaks(AssertionError("it was asked for")))


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda path: path.mkdir(), "Is a directory"),
        (lambda path: path.symlink_to("elsewhere"), "Too many levels of symbolic links"),
        (os.mkfifo, "is not a regular file"),
    ],
    ids=["directory", "link", "pipe"],
)
def test_what_is_no_file_is_left_alone(place, make, why):
    make(place.path / "0001_assistant.md.partial")
    with pytest.raises(ConvoError, match=why):
        attempt(place, breaks(AssertionError("it was asked for")))
    assert not (place.path / "elsewhere").exists()


# -- what is not to be written, and what comes next


def test_a_turn_that_is_answered_again_keeps_its_file(place):
    (place.path / "0001_assistant.md").write_text("Approved.\n")
    with Writer(place.path, None, Redactor(), place.hear, holes={3}).turn(1) as sheet:
        sheet.say("Yes, gladly.")
        finish(sheet)
    assert place.files == {"0001_assistant.md": "Approved.\n"}
    assert place.kinds == ["turn", "piece", "whole"]
    assert place.told("whole", "file") == [None]


def test_an_empty_next_message_is_offered(place):
    with writing(place, offers_after=1) as sheet:
        finish(sheet)
    assert place.files == {"0001_assistant.md": "Yes, gladly.\n", "0002_user.md": ""}
    assert place.heard[-1] == {"kind": "writes", "path": str(place.path / "0002_user.md"), "digest": digest(b"")}
    assert place.read().turns == ()


@pytest.mark.parametrize("name", ["0002_user.md", "0002_user.txt", "0003_user.md", "0002_system.md"])
def test_but_never_over_or_before_anything(place, name):
    (place.path / name).write_text("Mine.")
    with writing(place, offers_after=1) as sheet:
        finish(sheet)
    assert list(place.files) == ["0001_assistant.md", name]


def test_nor_where_it_is_not_asked_for(place):
    with writing(place, offers_after=3) as sheet:
        finish(sheet)
    assert list(place.files) == ["0001_assistant.md"]


def test_after_the_last_index_there_is_no_other(place):
    (place.path / "9998_user.md").write_text("The last.")
    with Writer(place.path, None, Redactor(), None, {9999}, 9999).turn(9999) as sheet:
        finish(sheet)
    assert list(place.files) == ["9998_user.md", "9999_assistant.md"]
