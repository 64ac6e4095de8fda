"""The examples in a page of the documentation: files to write and commands to run, in the order of the page.

A file is a fenced block below a line that begins with its name in backticks and ends with a colon. A command is a
`console` block: `$ pytest …`, or `$ cat …` of one file, and what it prints, where `...` stands for any number of lines,
or for the rest of one. Variables may be set before the command, as in a shell.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

_BLOCK = re.compile(
    r"^(?:`(?P<file>[\w./-]+)`[^\n]*:\n\n)?(?P<fence>```+)(?P<kind>\w*)\n(?P<text>.*?)^(?P=fence)$", re.M | re.S
)
_VARYING = {
    r"\d+\.\d+ ?s\b": "# s",
    r"\d+ tokens \(\d+ in, \d+ out\)": "# tokens",
    r"\d+ answers replayed": "# answers replayed",
    r"seconds: .* a run": "seconds: # a run",
    r"seconds: \d+\.\d+$": "seconds: #",
    r"\.convo/runs/\S+": ".convo/runs/#",
    r"127\.0\.0\.1:\d+": "127.0.0.1:#",
    r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\dZ)?": "# date",
    r"=+": "=",
}

EVERY_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
ENGINE = ("agent_tools", "tasks")
"""Pages whose examples need a container engine, and `busybox:1.36`."""
NOT_RUN = ("sh", "yaml", "text")
"""Set-up, which .ci/run does; files of other programs; no code at all."""
NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__")


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem not in ENGINE], ids=lambda page: page.stem)
def test_the_examples_of_a_page_work(page: Path, tmp_path: Path) -> None:
    _do(page, tmp_path)


@pytest.mark.engine
@pytest.mark.parametrize("page", [page for page in PAGES if page.stem in ENGINE], ids=lambda page: page.stem)
def test_the_examples_of_a_page_with_sandboxes_work(page: Path, tmp_path: Path, busybox_1_36: str) -> None:
    _do(page, tmp_path)


def _do(page: Path, tmp_path: Path) -> None:
    """Write the files of a page and run its commands, in their order."""
    for block in blocks(page):
        if block.file:
            path = tmp_path / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
        elif block.kind == "console":
            command, _, expected = block.text.partition("\n")
            if "example_project" in command:
                shutil.copytree(ROOT / "example_project", tmp_path / "example_project", ignore=NOT_COPIED)
            output = says(command, tmp_path)
            assert shows(expected, output), f"{page.name}:{block.line}: {command}\nprints\n{output}"


@EVERY_PAGE
def test_every_example_is_run(page: Path) -> None:
    others = [block for block in blocks(page) if not block.file and block.kind not in ("console", *NOT_RUN)]
    assert not others, [f"{page.name}:{block.line}: neither a file with a name nor a command" for block in others]


@EVERY_PAGE
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_readme_lists_every_option(tmp_path: Path) -> None:
    table = re.findall(r"^\| `(--convo-[a-z-]+)", (ROOT / "README.md").read_text(), re.M)
    assert sorted(table) == sorted(re.findall(r"^  (--convo-[a-z-]+)", says("$ pytest --help", tmp_path), re.M))


def test_the_quick_start_is_two_commands() -> None:
    section = re.search(r"^## Quick start$(.*?)^## ", (ROOT / "README.md").read_text(), re.M | re.S)
    assert section is not None
    commands = re.findall(r"^```sh\n(.*?)^```$", section[1], re.M | re.S)
    assert [command.count("\n") for command in commands] == [1, 1]
    assert "example_project" in commands[0]


@dataclass(frozen=True)
class Block:
    """A fenced block; `file` is the name above it, empty where there is none, and `line` where its text begins."""

    file: str
    kind: str
    text: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page."""
    text = page.read_text()
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("text")) + 1
        yield Block(match["file"] or "", match["kind"], match["text"], line)


def shows(expected: str, output: str) -> bool:
    """Whether `expected` stands in `output`, but for figures that vary."""
    lines = _settled(expected).splitlines()
    pieces = ["(?:.*\n)*?" if line == "..." else f"{re.escape(line)}\n".replace(r"\.\.\.", ".*") for line in lines]
    return re.search(f"^{''.join(pieces)}", _settled(output), re.M) is not None


def _settled(text: str) -> str:
    for varying, settled in _VARYING.items():
        text = re.sub(varying, settled, text, flags=re.M)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def says(command: str, directory: Path) -> str:
    """What a command prints in `directory`."""
    words = shlex.split(command.removeprefix("$ "))
    given = dict(word.split("=", 1) for word in takewhile(_sets_a_variable, words))
    program, *arguments = words[len(given) :]
    if program == "cat":
        (file,) = arguments
        return (directory / file).read_text()
    assert program == "pytest", f"the examples run pytest, not {program}"
    return pytest_says(arguments, directory, given)


def _sets_a_variable(word: str) -> bool:
    return re.match(r"[A-Z_]+=", word) is not None


def pytest_says(arguments: Sequence[str], directory: Path, given: Mapping[str, str]) -> str:
    """What pytest prints on a terminal of 80 columns, with no plugin but ours and xdist."""
    others = ("PYTEST_", "OPENAI_", "CI", "GITHUB_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(others)}
    environment = {
        **kept,
        "COLUMNS": "80",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_PLUGINS": "xdist.plugin,syrupy,pytest_convo.plugin",
        **given,
    }
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    ).stdout
