import os
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.conversation import scan as scanning
from pytest_convo.conversation.scan import Scan, scan


def link_to(target):
    return lambda path: path.symlink_to(target)


def test_the_message_files_of_a_conversation_come_in_name_order(make):
    found = scan(
        make({"0002_user.md": "b", "0000_user_b.md": "", "0000_user.yaml": "", "0000_user_a.md": "", "notes.md": ""})
    )

    assert [file.name for file in found.files] == [
        "0000_user.yaml",
        "0000_user_a.md",
        "0000_user_b.md",
        "0002_user.md",
    ]
    assert found.is_conversation
    assert found.concerns_us
    assert found.config is None


def test_a_convo_toml_alone_concerns_us_and_is_no_conversation(make):
    directory = make({"convo.toml": "", "0001_refund/0000_user.md": "hi"})
    found = scan(directory)

    assert found == Scan(config=directory / "convo.toml")
    assert found.concerns_us
    assert not found.is_conversation


@pytest.mark.parametrize(
    "files",
    [
        {"0001_initial.py": "", "0002_user.py": "", "__init__.py": ""},
        {"0000_User.md": ""},
        {"2023-notes.md": "", "00000_user.md": ""},
        {"0000_user.md": Path.mkdir},
        {"0000_user.md.partial": ""},
        {},
    ],
    ids=["migrations", "upper case", "notes", "directory", "unfinished", "empty"],
)
def test_the_names_of_other_projects_are_not_judged(make, files):
    assert scan(make(files)) == Scan()
    assert not Scan().concerns_us


@pytest.mark.parametrize("marker", ["convo.toml", "0000_user.md"])
def test_names_are_judged_beside_a_convo_toml_or_a_message_file(make, marker):
    directory = make({marker: "", "0002_usr.md": "", "0001_initial.py": "", "2023-notes.md": ""})
    found = scan(directory)

    assert [miss.name for miss in found.near_misses] == ["0001_initial.py", "2023-notes.md"]
    assert [str(error) for error in found.errors] == [
        f"{directory}/0002_usr.md: unknown role 'usr' in the file name\n"
        "  did you mean 'user'? known: system, user, assistant, tool"
    ]


def test_leftovers_of_editors_are_no_warning(make):
    found = scan(
        make({"0000_user.md": "", "0000_user.md~": "", "0001_assistant.md.partial": "", "0000_user.md.orig": ""})
    )

    assert len(found.files) == 1
    assert not found.near_misses
    assert not found.errors


def test_numbered_directories_below_are_no_near_misses(make):
    found = scan(make({"convo.toml": "", "0001_refund/x": "", "0002_user.v2/x": "", "2023/x": ""}))

    assert not found.near_misses
    assert not found.errors


def test_a_file_behind_a_symbolic_link_is_a_message_file(make):
    found = scan(make({"text": "hi", "0000_user.md": link_to("text")}))

    assert [file.name for file in found.files] == ["0000_user.md"]


@pytest.mark.parametrize(
    ("put", "what"),
    [
        (link_to("0002_user.md"), "cannot be followed to a file: Too many levels of symbolic links"),
        (link_to("nowhere"), "is a symbolic link to nothing"),
        (Path.mkdir, "is a directory, but its name is that of a file"),
        (os.mkfifo, "is not a regular file"),
    ],
    ids=["loop", "dangling", "directory", "pipe"],
)
@pytest.mark.parametrize("name", ["0002_user.md", "convo.toml"])
def test_what_is_no_file_under_a_files_name_is_an_error(make, name, put, what):
    put = link_to(name) if "Too many" in what else put
    directory = make({"0000_user.md": "hi", name: put})
    (error,) = scan(directory).errors

    assert error.path == str(directory / name)
    assert error.what == what
    assert error.hint == "put a file in its place, or delete it"


def test_a_link_in_a_circle_under_a_message_files_name_is_told_even_alone(make):
    found = scan(make({"0000_user.md": link_to("0000_user.md")}))

    assert found.concerns_us
    assert not found.is_conversation
    assert "Too many levels" in found.errors[0].what


def test_files_of_one_index_must_have_one_role(make):
    directory = make({"0000_user.md": "", "0000_system.md": "", "0000_user_b.md": "", "0001_assistant.md": ""})
    errors = scan(directory).errors

    assert [Path(error.path).name for error in errors] == ["0000_user.md", "0000_user_b.md"]
    assert errors[0].what == "files of one index have one role, and 0000_system.md is the system's"
    assert errors[0].hint == "give one of them another index than 0000"


def test_a_name_that_is_not_utf8_is_a_near_miss_that_can_be_printed(make, non_utf8_name):
    (miss,) = scan(make({"convo.toml": "", non_utf8_name: ""})).near_misses

    assert miss.name.encode()
    assert "not UTF-8" in miss.reason


def test_a_directory_that_cannot_be_listed_is_one_error(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    (error,) = scan(tmp_path / "loop").errors

    assert error.path == str(tmp_path / "loop")
    assert error.what.startswith("the directory cannot be listed: ")
    assert "read permission" in error.hint


def test_a_directory_that_has_gone_holds_nothing(tmp_path):
    assert scan(tmp_path / "gone") == Scan()


NAMES = (
    "convo.toml",
    "0000_user.md",
    "0000_user_a.txt",
    "0001_assistant.md",
    "0001_usr.md",
    "2023-x",
    "0001_tool.yaml",
    "x",
)


class Entry:
    """As much of an os.DirEntry as is looked at."""

    def __init__(self, name):
        self.name = name
        self.path = f"/d/{name}"

    def is_file(self):
        return True

    def is_dir(self):
        return False


@given(st.lists(st.sampled_from(NAMES), unique=True), st.randoms())
def test_what_is_found_does_not_depend_on_the_order_of_the_directory(names, shuffle: random.Random):
    def look(order):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(scanning.os, "scandir", lambda _: Listing(map(Entry, order)))
            found = scan("/d")
        return found.files, found.near_misses, [str(error) for error in found.errors], found.config

    shuffled = list(names)
    shuffle.shuffle(shuffled)

    assert look(shuffled) == look(sorted(names))


class Listing(list):
    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass
