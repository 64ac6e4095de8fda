from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from pytest_convo.check.loading import PACKAGE, load
from pytest_convo.errors import CheckError


def write(path: Path, text: str) -> Path:
    """A file with a time of change of its own, however fast the test."""
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text)
    os.utime(path, ns=(before + 1_000_000_000,) * 2)
    return path


def test_a_file_is_loaded_once(tmp_path: Path) -> None:
    path = write(tmp_path / "checks.py", "answer = []")
    assert load(path) is load(path)
    assert load(path).answer == []


def test_a_changed_file_is_loaded_again(tmp_path: Path) -> None:
    path = write(tmp_path / "checks.py", "answer = 1")
    assert load(path).answer == 1
    write(path, "answer = 2")
    assert load(path).answer == 2


def test_a_change_of_the_same_size_within_a_second_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "checks.py"
    for number in range(3):
        path.write_text(f"answer = {number}")
        os.utime(path, ns=(10**18 + number,) * 2)
        assert load(path).answer == number


def test_a_changed_neighbour_is_loaded_again(tmp_path: Path) -> None:
    path = write(tmp_path / "checks.py", "from .helpers import answer")
    write(tmp_path / "helpers.py", "answer = 1")
    assert load(path).answer == 1
    write(tmp_path / "helpers.py", "answer = 2")
    assert load(path).answer == 2


def test_two_files_of_one_folder_share_their_neighbours(tmp_path: Path) -> None:
    write(tmp_path / "helpers.py", "made = []")
    one = load(write(tmp_path / "one.py", "from .helpers import made"))
    other = load(write(tmp_path / "other.py", "from . import helpers"))
    assert one.made is other.helpers.made


def test_files_of_one_name_in_two_folders_are_two_modules(tmp_path: Path) -> None:
    modules = []
    for name in ("tea", "coffee"):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "helpers.py", f"answer = {name!r}")
        modules.append(load(write(tmp_path / name / "checks.py", "from .helpers import answer")))
    assert [module.answer for module in modules] == ["tea", "coffee"]


def test_nothing_of_the_user_s_is_shadowed_and_nothing_written(tmp_path: Path) -> None:
    path, modules, paths = write(tmp_path / "json.py", "import json, sys"), set(sys.modules), list(sys.path)
    assert load(path).json.dumps([]) == "[]"
    assert all(name.split(".")[0] == PACKAGE for name in set(sys.modules) - modules)
    assert sys.path == paths
    assert [file.name for file in tmp_path.iterdir()] == ["json.py"]


def test_a_file_that_is_not_there_is_an_error_that_lists_those_that_are(tmp_path: Path) -> None:
    write(tmp_path / "checks.py", "")
    with pytest.raises(CheckError) as caught:
        load(tmp_path / "cheks.py")
    assert str(caught.value) == (
        f"{tmp_path / 'cheks.py'}: there is no such file of checks\n  Python files in {tmp_path}: checks.py"
    )


@pytest.mark.parametrize("name", ["checks.v2.py", "checks.txt"])
def test_a_file_that_is_not_named_like_a_module_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(CheckError, match="named like a module"):
        load(write(tmp_path / name, ""))


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("x = 1\ndef f(:\n", 2, "SyntaxError: "),
        ("\n\n1 / 0\n", 3, "ZeroDivisionError while it was loaded: division by zero"),
        ("import nothing_like_that", 1, "ModuleNotFoundError while it was loaded: No module named 'nothing_like_that'"),
        ("from .nothing import x", 1, "ModuleNotFoundError while it was loaded: No module named '.nothing'"),
    ],
)
def test_a_file_that_cannot_be_loaded_is_an_error_with_its_line(
    tmp_path: Path, text: str, line: int, what: str
) -> None:
    path = write(tmp_path / "checks.py", text)
    with pytest.raises(CheckError) as caught:
        load(path)
    assert (Path(str(caught.value.path)), caught.value.line) == (path, line)
    assert caught.value.what.startswith(what)


def test_a_file_that_was_broken_is_loaded_once_it_is_mended(tmp_path: Path) -> None:
    path = write(tmp_path / "checks.py", "from .helpers import answer")
    write(tmp_path / "helpers.py", "answer = = 1")
    with pytest.raises(CheckError, match=r"helpers\.py:1: SyntaxError"):
        load(path)
    write(tmp_path / "helpers.py", "answer = 1")
    assert load(path).answer == 1


def test_a_neighbour_imported_by_its_bare_name_gets_a_hint(tmp_path: Path) -> None:
    write(tmp_path / "helpers_of_mine.py", "answer = 1")
    with pytest.raises(CheckError, match=r"from \.helpers_of_mine import"):
        load(write(tmp_path / "checks.py", "from helpers_of_mine import answer"))
