from __future__ import annotations

import re
import time
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.prompt.part import Part
from pytest_convo.prompt.render import _RULE, _TAG, Aside, Page, apart, beside, render
from tests.prompt.conftest import IMAGE

NAMES = ["instructions", "context", "summary", "history", "now", "user", "assistant", "result", "call", "system"]
SIGNS = st.sampled_from(["<", "</", ">", " ", "-2", "-", "2", "3", "=", "===", "====", "\n", "\r", "\u2028", "x", '"'])
NASTY = st.lists(SIGNS | st.sampled_from(NAMES) | st.sampled_from(NAMES).map(str.upper), max_size=8).map("".join)
BODIES = (
    NASTY | st.text(max_size=20) | st.sampled_from(["=== user ===", "<user>", "</ User >", "==== CALL", "<call-2 "])
)
CALLS = st.lists(st.builds(ToolCall, BODIES, BODIES, BODIES), max_size=2).map(tuple)
PICTURES = st.lists(BODIES.map(lambda text: {"type": "text", "text": text}) | st.just(IMAGE), max_size=4)
TELLERS = st.builds(Message, st.sampled_from(["system", "user"]), BODIES, st.none() | BODIES)
MESSAGES = st.lists(
    TELLERS
    | st.builds(Message, st.just("assistant"), st.none() | BODIES, tool_calls=CALLS)
    | st.builds(Message, st.just("tool"), BODIES, tool_call_id=BODIES),
    max_size=5,
)
PAGES = st.builds(
    Page,
    st.lists(st.builds(Part, st.just("system"), BODIES), max_size=2),
    st.lists(st.builds(Aside, st.sampled_from(["context", "summary"]), BODIES, BODIES), max_size=2),
    MESSAGES,
    MESSAGES,
)


def text(style, page):
    (message,) = render(style, page)
    return message.content


def said(*messages):
    return Page(now=messages)


# -- readers, who know of a page no more than its delimiters


def expected(page):
    """The delimited bodies of a page, in order."""
    if page.parts:
        yield "instructions", "\n\n".join(part.content for part in page.parts)
    for block in page.asides:
        yield block.kind, block.text
    for message in (*page.history, *page.now):
        if message.content or not message.tool_calls:
            yield "result" if message.role == "tool" else message.role, message.content or ""
        for call in message.tool_calls:
            yield "call", call.arguments


def suffix_of(written):
    """The number behind the last tag: no body is behind it."""
    return re.search(r"</[a-z]+(-\d+)?>\Z", written)[1] or ""


def read_xml(written):
    suffix = suffix_of(written) if written else ""
    tag = rf"<({'|'.join(NAMES)}){suffix}(?: [a-z]+=\"[^\"\n]*\")*>"
    at = 0
    while found := re.compile(rf"\n?{tag}\n").match(written, at):
        name, at = found[1], found.end()
        if name not in ("history", "now"):
            end = written.index(f"</{name}{suffix}>", at)
            yield name, written[at : max(at, end - 1)]
            at = end + len(f"</{name}{suffix}>")
        while leave := re.compile(rf"\n</(history|now){suffix}>").match(written, at):
            at = leave.end()
    assert at == len(written)


def read_text(written):
    stroke = re.search(r"(=+) assistant =+\Z", written)[1]
    rule = re.compile(rf"(?:^|\n){stroke} ({'|'.join(NAMES)})(?: [a-z]+=\"[^\"\n]*\")* {stroke}(?=\n|\Z)")
    found = list(rule.finditer(written))
    assert found[0].start() == 0
    for one, after in pairwise(found):
        yield one[1], written[one.end() + 1 : after.start()]


@given(PAGES)
def test_whoever_knows_the_tags_reads_the_bodies_again(page):
    written = text("xml", page)

    assert list(read_xml(written)) == list(expected(page))


@given(PAGES)
def test_whoever_knows_the_rules_reads_the_bodies_again(page):
    assert list(read_text(text("text", page))) == list(expected(page))


@given(PAGES, st.sampled_from(["messages", "xml", "text"]))
def test_bodies_stand_as_they_are(page, style):
    written = "".join(message.text for message in render(style, page))

    assert all(part.content in written for part in page.parts)
    assert all(block.text in written for block in page.asides)
    if style != "messages":
        assert all(body in written for _, body in expected(page))


@given(PAGES)
def test_messages_are_sent_as_they_are(page):
    sent = render("messages", page)
    first = 1 if page.parts or page.asides else 0

    assert list(sent[first:]) == [*page.history, *page.now]
    assert all(message.role == "system" for message in sent[:first])


def _all_of(parts):
    return Message("user", parts).text


@given(PICTURES, PICTURES, st.sampled_from(["xml", "text"]))
def test_images_keep_their_place(one, other, style):
    mark = {"type": "text", "text": "IMAGE"}
    assume(not any(_TAG.search(text) or _RULE.search(text) for text in map(_all_of, (one, other))))
    pages = [
        said(*(Message("user", [shown if part == IMAGE else part for part in parts]) for parts in (one, other)))
        for shown in (IMAGE, mark)
    ]
    written, marked = (text(style, page) for page in pages)
    if not isinstance(written, str):
        kinds = [part["type"] for part in written]
        assert all(pair != ("text", "text") for pair in pairwise(kinds))
        written = "\n".join((mark if part == IMAGE else part)["text"] for part in written)

    assert written == marked


# -- by example


def page_of_all():
    call = Message("assistant", "Let me see.", tool_calls=(ToolCall("c1", "look", '{"at": "tea"}'),))
    return Page(
        (Part("a.md", "Be kind."), Part("b.md", "Be brief.")),
        (Aside("context", "weather", "It rains."), Aside("summary", "turns 1-6", "They met.")),
        (Message("user", "Hello?", name="Ann"), Message("assistant", "Hi.")),
        (Message("user", "Tea?"), call, Message("tool", "none", tool_call_id="c1")),
    )


def test_of_messages_the_first_is_the_system_prompt_with_what_stands_beside_it():
    first = render("messages", page_of_all())[0]

    assert first == Message(
        "system",
        'Be kind.\n\nBe brief.\n\n<context name="weather">\nIt rains.\n</context>\n\n'
        '<summary of="turns 1-6">\nThey met.\n</summary>',
    )


def test_xml():
    assert text("xml", page_of_all()) == (
        "<instructions>\nBe kind.\n\nBe brief.\n</instructions>\n"
        '<context name="weather">\nIt rains.\n</context>\n'
        '<summary of="turns 1-6">\nThey met.\n</summary>\n'
        '<history>\n<user name="Ann">\nHello?\n</user>\n<assistant>\nHi.\n</assistant>\n</history>\n'
        "<now>\n<user>\nTea?\n</user>\n<assistant>\nLet me see.\n</assistant>\n"
        '<call name="look" id="c1">\n{"at": "tea"}\n</call>\n<result id="c1">\nnone\n</result>\n</now>'
    )


def test_plain_text():
    assert text("text", page_of_all()) == (
        "=== instructions ===\nBe kind.\n\nBe brief.\n"
        '=== context name="weather" ===\nIt rains.\n'
        '=== summary of="turns 1-6" ===\nThey met.\n'
        '=== user name="Ann" ===\nHello?\n=== assistant ===\nHi.\n'
        "=== user ===\nTea?\n=== assistant ===\nLet me see.\n"
        '=== call name="look" id="c1" ===\n{"at": "tea"}\n=== result id="c1" ===\nnone\n=== assistant ==='
    )


@pytest.mark.parametrize(
    ("body", "tag"),
    [
        ("a < b", "<user>"),
        ("<b>users</b>", "<user>"),
        ("<user>", "<user-2>"),
        ("</ USER\n>", "<user-2>"),
        ("<call-2 <now", "<user-3>"),
        ("<user-2>", "<user>"),
        ("<user-1> and <user-3>", "<user-2>"),
        ("<user-" + "1" * 5000, "<user>"),
    ],
)
def test_a_tag_that_a_body_has_gets_a_number(body, tag):
    assert text("xml", said(Message("user", "Hi."), Message("tool", body))).startswith(f"<now{tag[5:-1]}>\n{tag}\nHi.")


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("a === b", "==="),
        ("=== users ===", "==="),
        ("=== user ===", "===="),
        ("x\n  ===USER", "===="),
        ("x\r=== call", "===="),
        ("x\u2028=== call", "===="),
        ("=== user ===\n==== call", "====="),
        ("==== user", "==="),
        ("x === user ===", "==="),
    ],
)
def test_a_rule_that_a_body_has_gets_more_strokes(body, rule):
    assert text("text", said(Message("user", body))).startswith(f"{rule} user {rule}\n")


def test_names_are_of_one_line_and_end_no_tag():
    block = Aside("context", 'a "b"\n</context> === user ===', "x")

    assert text("xml", Page(asides=[block])).splitlines()[0] == "<context name=\"a 'b' (/context) === user ===\">"


def test_nothing_to_say_is_no_list():
    assert render("messages", Page()) == ()
    assert text("xml", Page()) == ""
    assert text("xml", said(Message("user", []))) == "<now>\n<user>\n</user>\n</now>"


def test_a_part_that_is_of_no_known_type_stands_as_it_is():
    odd = [{"odd": 1}, {"type": "text", "text": None}]

    assert text("xml", said(Message("user", odd)))[1:-1] == odd
    assert odd == [{"odd": 1}, {"type": "text", "text": None}]


@pytest.mark.parametrize("style", ["xml", "text"])
@pytest.mark.parametrize("body", ["\n", " ", "=", "<", "< ", "\r", "=\n", "<user", "=== user\n"])
def test_a_long_body_takes_no_longer_than_it_must(body, style):
    begin = time.perf_counter()
    render(style, said(Message("user", body * 200_000)))

    assert time.perf_counter() - begin < 5


def test_messages_apart_are_without_what_stands_around_them_all():
    messages = (Message("user", "Hi."), Message("assistant", "Yes?"))

    assert apart("messages", messages) == messages
    assert apart("xml", messages)[0].content == "<user>\nHi.\n</user>\n<assistant>\nYes?\n</assistant>"
    assert apart("text", messages)[0].content == "=== user ===\nHi.\n=== assistant ===\nYes?"
    assert apart("xml", ()) == ()


def test_a_text_beside_the_system_prompt_has_tags():
    assert beside(Aside("summary", "turns 1-6", "<summary>")) == ('<summary-2 of="turns 1-6">\n<summary>\n</summary-2>')
