"""What people get wrong in a conversation directory: each is one error that says where it is and what to do."""

import os
from pathlib import Path
from typing import NamedTuple

import pytest

from pytest_convo.conversation.conversation import read
from pytest_convo.errors import FormatErrors

HI = {"0000_user.md": "hi"}
CALL = {"0000_user.md": "hi", "0001_assistant.yaml": "tool_calls:\n  - {id: call_1, name: lookup}\n"}
RESULT = {"0002_tool.yaml": "tool_call_id: call_1\ncontent: ok\n"}
ANSWER = {"0001_assistant.md": "done"}
BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{here}: &{here} [{','.join([f'*{above}'] * 9)}]\n" for above, here in zip("abcdefgh", "bcdefghi", strict=True)
)


class Bad(NamedTuple):
    case: str
    files: dict
    where: str
    says: str
    do: str


def user(case, text, where, says, do, ext="yaml"):
    return Bad(case, {f"0000_user.{ext}": text}, f"0000_user.{ext}{where}", says, do)


def bot(case, text, where, says, do):
    return Bad(case, {**HI, "0001_assistant.yaml": text}, f"0001_assistant.yaml{where}", says, do)


def part(case, text, says, do, **others):
    files = {"0000_user.yaml": f"content:\n  - {text}\n"} | {
        key.replace("_", "."): data for key, data in others.items()
    }
    return Bad(case, files, "0000_user.yaml:2", says, do)


def steps(case, text, where, says, do):
    files = {**HI, **ANSWER, "0001_assistant_steps.yaml": text}
    return Bad(case, files, f"0001_assistant_steps.yaml{where}", says, do)


TEXTS = [
    Bad("latin-1", {"0000_user.md": b"ok\ncaf\xe9"}, "0000_user.md:2", "is not UTF-8: byte 0xe9", "save it as UTF-8"),
    Bad("utf-16", {"0000_user.md": "hi".encode("utf-16")}, "0000_user.md:1", "is UTF-16", "save it as UTF-8"),
    Bad("nul", {"0000_user.md": b"a\nb\nc\0"}, "0000_user.md:3", "holds a NUL byte", "save it as UTF-8"),
    Bad("nul in yaml", {"0000_user.yaml": b"content: a\0"}, "0000_user.yaml:1", "holds a NUL byte", "save it as UTF-8"),
    Bad("bad system", {**HI, "0001_system.txt": b"\xff"}, "0001_system.txt:1", "is not UTF-8", "save it as UTF-8"),
    Bad(
        "blank in the middle",
        {"0000_user.md": " \n", "0002_user.md": "hi"},
        "0000_user.md",
        "is blank, and messages",
        "content: ''",
    ),
    Bad("blank before an answer", {"0000_user.md": "", **ANSWER}, "0000_user.md", "is blank", "write it or delete it"),
    Bad("blank bom", {"0000_user.md": b"\xef\xbb\xbf", **ANSWER}, "0000_user.md", "is blank", "write it or delete it"),
    Bad(
        "undefined",
        {"0000_user.md.j2": "a\n{{ oder }}"},
        "0000_user.md.j2:2",
        "'oder' is undefined",
        "did you mean 'order'?",
    ),
    Bad(
        "template syntax",
        {"0000_user.md.j2": "{% if x"},
        "0000_user.md.j2:1",
        "cannot be rendered",
        "correct the template",
    ),
    Bad(
        "missing include",
        {"0000_user.md.j2": "{% include 'x.md' %}"},
        "0000_user.md.j2:1",
        "no 'x.md' to include",
        "directory",
    ),
    Bad(
        "forbidden", {"0000_user.md.j2": "{{ ''.__class__ }}"}, "0000_user.md.j2:1", "is unsafe", "correct the template"
    ),
]

NAMES = [
    Bad(
        "unknown role",
        {**HI, "0002_usr.md": ""},
        "0002_usr.md",
        "unknown role 'usr'",
        "did you mean 'user'? known: system",
    ),
    Bad("upper case", {**HI, "0002_User.md": ""}, "0002_User.md", "unknown role 'User'", "did you mean 'user'?"),
    Bad(
        "upper case ending", {**HI, "0002_user.MD": ""}, "0002_user.MD", "unknown extension 'MD'", "did you mean 'md'?"
    ),
    Bad(
        "unknown ending",
        {**HI, "0002_user.docx": ""},
        "0002_user.docx",
        "unknown extension 'docx'",
        "known: md, txt, yaml",
    ),
    Bad(
        "steps of a user",
        {**HI, "0002_user_steps.yaml": ""},
        "0002_user_steps.yaml",
        "'steps' is kept",
        "another label",
    ),
    Bad("two roles", {**HI, "0000_system.md": ""}, "0000_user.md", "files of one index have one role", "another index"),
    Bad("directory", {**HI, "0002_user.md": Path.mkdir}, "0002_user.md", "is a directory", "put a file in its place"),
    Bad(
        "dangling link",
        {**HI, "0002_user.md": lambda p: p.symlink_to("x")},
        "0002_user.md",
        "link to nothing",
        "put a file",
    ),
    Bad(
        "link in a circle",
        {**HI, "0002_user.md": lambda p: p.symlink_to(p.name)},
        "0002_user.md",
        "Too many levels",
        "put a file",
    ),
    Bad("pipe", {**HI, "0002_user.md": os.mkfifo}, "0002_user.md", "is not a regular file", "put a file in its place"),
    Bad(
        "convo.toml loop",
        {**HI, "convo.toml": lambda p: p.symlink_to(p.name)},
        "convo.toml",
        "Too many levels",
        "put a file",
    ),
    Bad(
        "no index left",
        {"9999_user.md": "hi"},
        "",
        "no index is left for the answer to 9999",
        "number the message files",
    ),
    Bad("nothing here", {"prompt.md": "x"}, "", "no message files are here", "0000_user.md"),
    Bad("five digits alone", {"00000_user.md": "x"}, "", "no message files are here", "0000_user.md"),
]

RECORDS = [
    user("empty yaml", "", ":1", "is empty", "content: ..."),
    user("empty json", "", ":1", "is empty", '{"content"', ext="json"),
    user("empty toml", "", "", "has no content", "content: ...", ext="toml"),
    user("empty mapping", "{}", ":1", "has no content", "content: ''"),
    user("yaml syntax", "content: a: b", ":1", "is not YAML", "stands in quotes"),
    user("tab", "content:\n\t- x", ":2", "is not YAML", "indented"),
    user("json syntax", '{"content": "a",\n}', ":2", "is not JSON", "one object", ext="json"),
    user("toml syntax", "content = hi", ":1", "is not TOML", "stands in quotes", ext="toml"),
    user("bomb", BOMB + "content: *i", ":6", "its aliases repeat more than", "write the values out"),
    user("recursive alias", "content: &a [*a]", ":1", "alias *a has no anchor", "in quotes"),
    user("code tag", "content: !!python/object/new:os.system [ls]", ":1", "tag", "write the plain value"),
    user("deep yaml", "content: " + "[" * 5000, ":1", "nested more than 50 deep", "no such depth"),
    user("deep json", "[" * 200_000, "", "nested more than 50 deep", "no such depth", ext="json"),
    user(
        "twice in yaml", "content: a\nname: x\ncontent: b", ":3", "'content' stands twice, first on line 1", "keep one"
    ),
    user(
        "twice in json",
        '{"content": "a",\n"content": "b"}',
        ":2",
        "'content' stands twice, first on line 1",
        "keep one",
        ext="json",
    ),
    user("twice in toml", 'content = "a"\ncontent = "b"', ":2", "Cannot overwrite a value", "key = value", ext="toml"),
    user("two documents", "content: a\n---\ncontent: b", ":2", "holds a second document", "take out the line `---`"),
    user("a list", "- content: a", ":1", "a message record must be a mapping, not a list", "its keys: content"),
    user("a word", "hello", ":1", "a message record must be a mapping, not text", "its keys: content"),
    user("unknown key", "content: a\ncontents: b", ":2", "unknown key 'contents'", "did you mean 'content'?"),
    user(
        "other role",
        "content: a\nrole: system",
        ":2",
        "the role 'system' contradicts the file name's, 'user'",
        "take the line out",
    ),
    user(
        "content is a number", "content: 5", ":1", "content must be text or a list of parts, not a number", "in quotes"
    ),
    user(
        "content is a mapping",
        "content: {a: 1}",
        ":1",
        "content must be text or a list of parts, not a mapping",
        "in quotes",
    ),
    user("content is true", '{"content": true}', ":1", "not true", "in quotes", ext="json"),
    user("content is null", "content: null", ":1", "has no content", "content: ''"),
    user("no parts", "content: []", ":1", "not an empty one", "in quotes"),
    user("name is a list", "content: a\nname: [b]", ":2", "name must be text, not a list", "in quotes"),
    user("empty name", "content: a\nname: ''", ":2", "name must be text, not empty", "in quotes"),
    user(
        "calls of a user",
        "content: a\ntool_calls: []",
        ":2",
        "tool_calls belongs to a message of the assistant",
        "NNNN_assistant",
    ),
    user("a user's tool_call_id", "content: a\ntool_call_id: b", ":2", "belongs to a message of the tool", "NNNN_tool"),
    user("a date", "content = 2026-01-01", ":1", "2026-01-01 is not a value that JSON has", "in quotes", ext="toml"),
    user(
        "half a character",
        '{"content": "\\ud800"}',
        ":1",
        "half of a surrogate pair",
        "the character itself",
        ext="json",
    ),
    Bad(
        "rendered",
        {"0000_user.yaml.j2": "content: a\nnam: {{ order }}"},
        "0000_user.yaml.j2",
        "(line 2 of the rendered text)",
        "'name'",
    ),
    Bad(
        "content twice",
        {**HI, "0000_user_a.yaml": "content: a"},
        "0000_user_a.yaml:1",
        "and so does a text file",
        "keep one",
    ),
]

PARTS = [
    part(
        "part is a number", "5", "a part of the content must be text or a mapping, not a number", "- image: photo.png"
    ),
    part("part of no kind", "{tex: a}", "neither text nor image nor file", "- text: ..."),
    part("unknown part", "{type: picture, picture: a}", "unknown type 'picture'", "known: text, image_url, file"),
    part("type is a mapping", "{type: {a: b}}", "unknown type a mapping of a part", "known: text, image_url, file"),
    part("unknown key in part", "{image: a.png, detial: low}", "unknown key 'detial'", "did you mean 'detail'?"),
    part("unknown detail", "{image: 'https://x/a.png', detail: lo}", "unknown detail 'lo'", "did you mean 'low'?"),
    part("text of a part", "{text: 5}", "'text' of a part must be text, not a number", "in quotes"),
    part(
        "url without mapping", "{type: image_url, image_url: 'https://x'}", "must be a mapping, not text", "detail, url"
    ),
    part("no url", "{type: image_url, image_url: {detail: low}}", "'image_url' of a part lacks 'url'", "detail, url"),
    part("no image", "{image: gone.png}", "'gone.png' cannot be read: No such file", "relative to the message file"),
    part("image is a directory", "{image: .}", "'.' cannot be read: Is a directory", "relative to the message file"),
    part(
        "image is text",
        "{image: a.png}",
        "'a.png' is no PNG, JPEG, GIF or WebP image",
        "fetched first",
        a_png="version 1",
    ),
    part("ftp", "{image: 'ftp://x/a.png'}", "neither a path nor an https URL", "relative to this one"),
    part("nul in a path", '{image: "a\\0b"}', "cannot be read: embedded null byte", "relative to the message file"),
    part("no file", "{file: gone.pdf}", "'gone.pdf' cannot be read: No such file", "relative to the message file"),
    part(
        "empty file part",
        "{type: file, file: {}}",
        "'file' of a part lacks 'file_data'",
        "file_data, file_id, filename",
    ),
]

CALLS = [
    bot(
        "calls are no list",
        "tool_calls: {id: a}",
        ":1",
        "tool_calls must be a list of calls, not a mapping",
        "as `{id: call_1",
    ),
    bot("no calls", "tool_calls: []", ":1", "not an empty one", "as `{id: call_1"),
    bot("call is a word", "tool_calls:\n  - lookup", ":2", "a call must be a mapping, not text", "as `{id: call_1"),
    bot("no id", "tool_calls:\n  - {name: f}", ":2", "a call lacks its id", "as `{id: call_1"),
    bot("empty id", "tool_calls:\n  - {id: '', name: f}", ":2", "must be text, not empty", "as `{id: call_1"),
    bot(
        "id is a number",
        "tool_calls:\n  - id: 1\n    name: f",
        ":2",
        "the id of a call must be text, not a number",
        "in quotes",
    ),
    bot(
        "unknown key in call",
        "tool_calls:\n  - {id: a, name: f, args: {}}",
        ":2",
        "unknown key 'args'",
        "did you mean 'arguments'?",
    ),
    bot(
        "mixed forms",
        "tool_calls:\n  - {id: a, name: f, function: {name: f}}",
        ":2",
        "unknown key 'name'",
        "known: id, type",
    ),
    bot(
        "other type",
        "tool_calls:\n  - {id: a, type: custom, name: f}",
        ":2",
        "unknown type 'custom'",
        "known: function",
    ),
    bot(
        "function is a word",
        "tool_calls:\n  - {id: a, function: f}",
        ":2",
        "function of a call must be a mapping",
        "function: {",
    ),
    bot(
        "arguments are a list", "tool_calls:\n  - {id: a, name: f, arguments: [1]}", ":2", "not a list", "arguments: {"
    ),
    bot(
        "arguments are no JSON",
        "tool_calls:\n  - id: a\n    function:\n      name: f\n      arguments: '{x: 1}'",
        ":5",
        "the arguments of a call are not a JSON object: '{x: 1}'",
        "write them as a mapping",
    ),
    bot(
        "arguments are no object",
        "tool_calls: [{id: a, name: f, arguments: '5'}]",
        ":1",
        "not a JSON object: '5'",
        "mapping",
    ),
    bot("extra is a word", "content: a\nextra: b", ":2", "extra must be a mapping, not text", "extra: {"),
    bot("neither", "name: bot", ":1", "has neither content nor tool_calls", "content: ..."),
    Bad(
        "dangling call",
        CALL,
        "0001_assistant.yaml:2",
        "the call 'call_1' of 'lookup' is not answered",
        "`tool_call_id: call_1`",
    ),
    Bad(
        "call before a user",
        {**CALL, "0002_user.md": "hi"},
        "0001_assistant.yaml:2",
        "is not answered",
        "take the call out",
    ),
    Bad(
        "result without call",
        {**HI, "0001_tool.yaml": "content: a\ntool_call_id: b"},
        "0001_tool.yaml:2",
        "no call before",
        "none",
    ),
    Bad(
        "id twice",
        {**CALL, **RESULT, "0003_assistant.yaml": "tool_calls: [{id: call_1, name: f}]"},
        "0003_assistant.yaml:1",
        "is used twice, first in 0001_assistant.yaml:2",
        "of its own",
    ),
    Bad(
        "answered twice",
        {**CALL, **RESULT, "0003_tool.yaml": "content: a\ntool_call_id: call_1"},
        "0003_tool.yaml:2",
        "is answered twice",
        "keep one",
    ),
    Bad(
        "other tool",
        {**CALL, "0002_tool.yaml": "tool_call_id: call_1\ncontent: a\nname: x"},
        "0002_tool.yaml:3",
        "is one of 'lookup'",
        "leave the name out",
    ),
    Bad(
        "result as text",
        {**CALL, **RESULT, "0003_tool.md": "ok"},
        "0003_tool.md",
        "has no tool_call_id",
        "in 0003_tool.yaml",
    ),
    Bad(
        "result without content",
        {**CALL, "0002_tool.yaml": "tool_call_id: call_1"},
        "0002_tool.yaml:1",
        "has no content",
        "content: ...",
    ),
    steps(
        "steps are a mapping",
        "content: a",
        ":1",
        "must be a list of the turn's calls and results",
        "as `- {role: assistant",
    ),
    steps("no steps", "[]", ":1", "must be a list of the turn's calls", "as `- {role: assistant"),
    steps("step without role", "- content: a", ":1", "the record has no role", "known: system, user, assistant, tool"),
    steps(
        "step of a user",
        "- {role: user, content: a}",
        ":1",
        "a step is the assistant's or a tool's, not the user's",
        "of its own",
    ),
    steps("step is a word", "- hello", ":1", "a message record must be a mapping, not text", "its keys: content"),
    steps(
        "step without calls", "- {role: assistant, content: a}", ":1", "this one has no tool_calls", "NNNN_assistant.md"
    ),
    steps(
        "dangling step",
        "- {role: assistant, tool_calls: [{id: a, name: f}]}",
        ":1",
        "is not answered",
        "`tool_call_id: a`",
    ),
    Bad(
        "two files of steps",
        {
            **HI,
            **ANSWER,
            "0001_assistant_steps.json": '[{"role": "tool", "tool_call_id": "a", "content": ""}]',
            "0001_assistant_steps.yaml": "- {role: tool, tool_call_id: a, content: ''}",
        },
        "0001_assistant_steps.yaml:1",
        "stand in 0001_assistant_steps.json already",
        "keep one of the two",
    ),
    Bad(
        "steps where nobody answers",
        {**HI, **ANSWER, "0002_assistant_steps.yaml": "- {role: assistant, tool_calls: [{id: a, name: f}]}"},
        "0002_assistant_steps.yaml",
        "these steps lead to no answer",
        "NNNN_assistant.md",
    ),
]

BAD = [*TEXTS, *NAMES, *RECORDS, *PARTS, *CALLS]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.case)
def test_each_bad_input_is_one_error_with_its_place_and_what_to_do(make, bad):
    directory = make(bad.files)
    with pytest.raises(FormatErrors) as caught:
        read(directory, variables={"order": "A17"})

    assert len(caught.value.errors) == 1, str(caught.value)
    (error,) = caught.value.errors
    place, _, message = str(error).partition(": ")
    assert place == (f"{directory}/{bad.where}" if bad.where else str(directory))
    assert bad.says in error.what
    assert bad.do in error.hint
    assert message.count("\n") <= 1
    assert error.__cause__ is None


@pytest.mark.parametrize(
    ("regenerate", "what", "hint"),
    [
        ([4], "regenerate names 4, where the bot has no answer to give", "it can answer at: 1, 3"),
        ("lasts", "unknown regenerate 'lasts'", "did you mean 'last'?"),
    ],
)
def test_a_regenerate_that_does_not_fit_is_an_error_of_the_directory(make, regenerate, what, hint):
    directory = make({**HI, **ANSWER, "0002_user.md": "ho"})
    with pytest.raises(FormatErrors) as caught:
        read(directory, variables={}, regenerate=regenerate)
    (error,) = caught.value.errors

    assert error.path == str(directory)
    assert error.what == what
    assert hint in error.hint


def test_a_directory_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(
        FormatErrors, match=r"gone: there is no such directory\n  a conversation begins with a file 0000_user.md"
    ):
        read(tmp_path / "gone", variables={})


def test_the_bad_inputs_are_many_and_different():
    assert len({bad.case for bad in BAD}) == len(BAD) > 100


def test_a_file_that_may_not_be_read_is_one_error(make, monkeypatch):
    def refuse(path, flags):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("pytest_convo.conversation.disk._open_at_once", refuse)
    directory = make(HI)
    with pytest.raises(FormatErrors) as caught:
        read(directory, variables={})

    assert (
        str(caught.value)
        == f"{directory}/0000_user.md: cannot be read: Permission denied\n  put a readable file in its place"
    )


def test_a_directory_that_may_not_be_listed_is_one_error(make, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    directory = make(HI)
    monkeypatch.setattr("pytest_convo.conversation.scan.os.scandir", refuse)
    with pytest.raises(
        FormatErrors, match="the directory cannot be listed: Permission denied\n  give it back its read"
    ):
        read(directory, variables={})
