from __future__ import annotations

import multiprocessing
import tempfile
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.conversation.message import ToolCall
from pytest_convo.conversation.reply import Reply, Usage
from pytest_convo.errors import FormatError
from pytest_convo.record.digest import Entry, Outline
from pytest_convo.record.exchange import FAILURES, Exchange, Failure
from pytest_convo.record.format import read, write

ANY = st.text(st.characters(exclude_categories=()))
DIGESTS = st.text("0123456789abcdef", min_size=32, max_size=32)
COUNTS = st.integers(0, 10**6)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | ANY,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY, inner, max_size=3),
    max_leaves=6,
)
USAGES = st.none() | st.builds(Usage, COUNTS, COUNTS, COUNTS)
CALLS = st.builds(ToolCall, ANY, ANY.filter(bool), ANY)
REPLIES = st.builds(
    Reply,
    text=ANY,
    calls=st.lists(CALLS, max_size=2).map(tuple),
    finish_reason=st.none() | ANY,
    usage=USAGES,
    billed=USAGES,
    seconds=st.integers(0, 10**5).map(lambda hundredths: hundredths / 100),
    model=st.none() | ANY,
    attempts=st.integers(1, 9),
    extra=st.dictionaries(ANY, JSON, max_size=3),
)
FAILED = st.builds(Failure, st.sampled_from(sorted(FAILURES)), ANY, ANY)
ENTRIES = st.builds(
    Entry, st.sampled_from(["system", "user", "assistant", "tool"]), DIGESTS, st.none() | ANY, st.none() | ANY
)
OUTLINES = st.builds(
    Outline,
    st.none() | ANY,
    st.dictionaries(ANY, JSON, max_size=3),
    st.lists(ENTRIES, max_size=3).map(tuple),
    st.dictionaries(ANY, DIGESTS, max_size=2),
)
EXCHANGES = st.builds(Exchange, DIGESTS, OUTLINES, REPLIES | FAILED, st.just("2026-05-04T10:11:12Z"))

DIGEST = "9f0c" * 8
SHORT = f"""\
version: 1
exchanges:
  - request: {DIGEST}
    messages:
      - user: {DIGEST}
    reply:
      text: Hello
"""


def written(tmp_path, text):
    path = tmp_path / "run-1.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def error(tmp_path, text):
    with pytest.raises(FormatError) as caught:
        read(written(tmp_path, text))
    assert caught.value.path == str(tmp_path / "run-1.yaml")
    return caught.value


@given(st.lists(EXCHANGES, max_size=3))
def test_whatever_is_written_is_read_back_as_it_was(exchanges):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run-1.yaml")
        write(path, exchanges)
        assert repr(read(path)) == repr(exchanges)
        assert yaml.load(path.read_text(), Loader=yaml.CSafeLoader)["version"] == 1


def test_a_file_is_read_by_people(tmp_path):
    reply = Reply(
        "We refund within **30 days**.\n\nSee above.",
        (ToolCall("call_1", "look", '{"id": "A17"}'),),
        usage=Usage(12, 7),
        billed=Usage(24, 7),
        seconds=0.53,
        model="gpt-4o-mini-2024-07-18",
        attempts=2,
    )
    messages = (Entry("system", "3ba1" * 8), Entry("tool", "77d0" * 8, tool_call_id="call_0"))
    outline = Outline("gpt-4o-mini", {"temperature": 0}, messages, {"look": "c02e" * 8})
    path = tmp_path / "run-1.yaml"

    write(path, [Exchange(DIGEST, outline, reply, "2026-05-04T10:11:12Z")])

    assert (
        path.read_text()
        == f"""\
version: 1
exchanges:
  - request: {DIGEST}
    model: gpt-4o-mini
    parameters:
      temperature: 0
    messages:
      - system: {"3ba1" * 8}
      - tool: {"77d0" * 8}
        tool_call_id: call_0
    tools:
      look: {"c02e" * 8}
    reply:
      text: |-
        We refund within **30 days**.

        See above.
      calls:
        - id: call_1
          name: look
          arguments: |-
            {{"id": "A17"}}
      finish_reason: stop
      model: gpt-4o-mini-2024-07-18
    usage:
      prompt_tokens: 12
      completion_tokens: 7
    billed:
      prompt_tokens: 24
      completion_tokens: 7
    attempts: 2
    seconds: 0.53
    when: 2026-05-04T10:11:12Z
"""
    )


def test_no_file_is_no_exchange(tmp_path):
    assert read(tmp_path / "run-1.yaml") == []


def test_what_is_left_out_is_as_it_mostly_is(tmp_path):
    (exchange,) = read(written(tmp_path, SHORT))
    assert exchange == Exchange(DIGEST, Outline(messages=(Entry("user", DIGEST),)), Reply("Hello", finish_reason=None))


def test_line_ends_of_another_system_change_nothing(tmp_path):
    text = SHORT.replace("text: Hello", "text: |-\n        a\n        b")
    (exchange,) = read(written(tmp_path, text.replace("\n", "\r\n")))
    assert exchange.answer.text == "a\nb"


@pytest.mark.parametrize("version", ["2", "0", '"1"', "true", "1.5"])
def test_another_version_is_told_before_anything_else(tmp_path, version):
    caught = error(tmp_path, f"format: new\nversion: {version}\n")
    assert "of recordings is not read here" in caught.what
    assert caught.line == 2
    assert "known: 1; update pytest-convo" in caught.hint


@pytest.mark.parametrize("text", ["", "[]", "Hello", "exchanges: []"])
def test_what_is_no_recording_is_told(tmp_path, text):
    assert "--convo-record=all" in error(tmp_path, text).hint


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("text: Hello", "text: Hello: World", 7, "is not YAML"),
        ("text: Hello", "text: [a]", 7, "text must be text, not a list"),
        ("text: Hello", "text: 7", 7, "text must be text, not a number"),
        ("text: Hello", "txet: Hello", 7, "unknown key 'txet'"),
        ("text: Hello", "calls: [{id: c1}]", 7, "a call lacks its name"),
        ("text: Hello", "extra: none", 7, "extra must be a mapping, not text"),
        ("reply:", "replay:", 6, "unknown key 'replay'"),
        ("    reply:\n      text: Hello\n", "", 3, "an exchange has either a reply or an error"),
        ("    reply:\n      text: Hello", "    error: {kind: Crash}", 6, "unknown kind 'Crash'"),
        ("    reply:", "    attempts: true\n    reply:", 6, "attempts must be a whole number, not true"),
        ("    reply:", "    usage: {prompt_tokens: many}\n    reply:", 6, "prompt_tokens must be a whole number"),
        ("    reply:", "    seconds: soon\n    reply:", 6, "seconds must be a number, not text"),
        ("    reply:", "    tools: {look: 7}\n    reply:", 6, "look must be a digest"),
        (f"request: {DIGEST}", "request: ../../etc/passwd", 3, "request must be a digest of 32 hexadecimal digits"),
        (f"- user: {DIGEST}", "- user: hello", 5, "user must be a digest"),
        (f"- user: {DIGEST}", f"- {{user: {DIGEST}, tool: {DIGEST}}}", 5, "a message has one role"),
        (f"- user: {DIGEST}", f"- {DIGEST}", 5, "must be a mapping, not text"),
        ("version: 1\n", "version: 1\nversion: 1\n", 2, "stands twice"),
        ("version: 1\n", "version: 1\nmode: new\n", 2, "unknown key 'mode'"),
        ("text: Hello", "text: !!python/object:os.system Hello", 7, "the tag"),
        (SHORT.partition("\n")[2], "exchanges: 7\n", 2, "exchanges must be a list, not a number"),
        (SHORT.partition("\n")[2], "exchanges: ['{']\n", 2, "is not the JSON of an exchange"),
        (SHORT.partition("\n")[2], "exchanges: ['{}']\n", 2, "an exchange has either a reply or an error"),
    ],
)
def test_what_was_edited_to_nonsense_is_told_with_its_line(tmp_path, old, new, line, what):
    assert SHORT.count(old) == 1
    caught = error(tmp_path, SHORT.replace(old, new))
    assert what in caught.what
    assert caught.line == line
    assert caught.hint


@pytest.mark.parametrize("data", [b"version: 1\xff\n", b"version: 1\n\0"])
def test_what_is_no_text_is_told(tmp_path, data):
    error(tmp_path, data)


def rewrite(path, text, times):
    exchange = Exchange(DIGEST, Outline(), Reply(text))
    for _ in range(times):
        write(path, [exchange])


def test_several_processes_that_write_one_run_leave_a_whole_file_at_every_moment(tmp_path):
    path = tmp_path / "case" / "run-1.yaml"
    texts = {"a b\n" * 20_000, "b c\n" * 19_999}
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=rewrite, args=(path, text, 25)) for text in texts]
    for writer in writers:
        writer.start()
    seen = set()
    while any(writer.is_alive() for writer in writers):
        seen |= {exchange.answer.text for exchange in read(path)}
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert seen | {read(path)[0].answer.text} <= texts
