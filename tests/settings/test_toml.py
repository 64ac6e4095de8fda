from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from pytest_convo.errors import FormatError
from pytest_convo.settings.toml import MAX_BYTES, read


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "convo.toml"


def test_there_need_not_be_a_file(file):
    assert read(file) is None


@pytest.mark.parametrize(
    "data",
    [b"runs = 3\nprompt = 'a'\n", b"\xef\xbb\xbfruns = 3\nprompt = 'a'\n", b"runs = 3\r\nprompt = 'a'\r\n"],
    ids=["plain", "byte-order mark", "windows"],
)
def test_the_usual_ways_to_save_a_file_are_all_read(file, data):
    file.write_bytes(data)
    toml = read(file)
    assert toml.values == {"runs": 3, "prompt": "a"}
    assert toml.line(("prompt",)) == 2


def test_the_line_of_what_has_none_is_that_of_the_table_around_it(file):
    file.write_text("runs = 1\n\n[bot]\nmodel = 'x'\n")
    toml = read(file)
    assert toml.line(("bot", "seed", "x")) == 3
    assert toml.line(("expect",)) is None


@pytest.mark.parametrize(
    "data, line, what, hint",
    [
        (b"runs = 3\nx = '\xff'\n", 2, "is not UTF-8", "save it as UTF-8"),
        (b"runs = 3\n\n\x00", 3, "holds a NUL byte", "save it as UTF-8"),
        ("runs = 3".encode("utf-16"), 1, "is UTF-16, not UTF-8", "save it as UTF-8"),
        (b"runs = 3\nruns = 4\n", 2, "is not TOML: Cannot overwrite a value, column 9", "already set above"),
        (b"\n[bot]\nmodel = gpt\n", 3, "is not TOML: Invalid value, column 9", "text stands in quotes"),
        (b"a = True", 1, "is not TOML: Invalid value, column 5", "true and false are written in lower case"),
        (b"[bot]\n[bot]\n", 2, "is not TOML: Cannot declare ('bot',) twice, column 5", "put its keys together"),
        (b'matches = "\\d"\n', 1, "is not TOML: Unescaped '\\' in a string, column 14", "single quotes"),
        (b'a = "x\nb = 1\n', 1, "is not TOML: Illegal character '\\n', column 7", "not closed on this line"),
        (b"runs 3\n", 1, "is not TOML: Expected '=' after a key in a key/value pair, column 6", "key = value"),
        (b"a = [1,\n2\n\n", 2, "is not TOML: Unclosed array", ""),
        (b"a = 1\rb = 2", 1, "is not TOML: Expected newline or end of document after a statement, column 6", ""),
        (b"a = " + b"9" * 5000, None, "is not TOML: holds a number with too many digits", ""),
        (b"a = " + b"[" * 5000, None, "is nested more than 50 deep", ""),
        (b"a = " + b"[" * 60 + b"]" * 60, None, "is nested more than 50 deep", ""),
        (b".".join([b"a"] * 5000) + b" = 1", None, "is nested more than 50 deep", ""),
        (b"#" * (MAX_BYTES + 1), None, "is larger than 1024 KiB", "files of their own"),
    ],
)
def test_what_cannot_be_read_says_where_and_what_to_do(file, data, line, what, hint):
    file.write_bytes(data)
    with pytest.raises(FormatError) as caught:
        read(file)
    assert (caught.value.path, caught.value.line, caught.value.what) == (file, line, what)
    assert hint in caught.value.hint
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_file_of_the_largest_size_is_read(file):
    file.write_bytes(b"a = 1".ljust(MAX_BYTES, b"\n"))
    assert read(file).values == {"a": 1}


def test_a_directory_of_that_name_is_an_error(file):
    file.mkdir()
    with pytest.raises(FormatError, match="cannot be read: Is a directory"):
        read(file)


def test_a_link_that_leads_nowhere_is_an_error(file):
    file.symlink_to("nowhere")
    with pytest.raises(FormatError, match="cannot be read: No such file"):
        read(file)


def test_links_that_lead_to_each_other_are_an_error(file):
    file.symlink_to(file)
    with pytest.raises(FormatError, match="cannot be read: Too many levels of symbolic links"):
        read(file)


def test_a_file_that_must_not_be_read_is_an_error(file):
    file.write_text("runs = 1")
    file.chmod(0)
    user = os.geteuid()
    for directory in (file.parent, *file.parents[1:4]):
        if user == 0 and str(directory).startswith(tempfile.gettempdir()):
            directory.chmod(0o755)
    try:
        if user == 0:
            os.seteuid(65534)  # root may read everything
        with pytest.raises(FormatError, match="cannot be read: Permission denied"):
            read(file)
    finally:
        os.seteuid(user)
