from __future__ import annotations

from pathlib import Path

import pytest

from pytest_convo.errors import FormatError, FormatErrors
from pytest_convo.sandbox.tool import AgentTool, ToolFile, ToolVariable
from pytest_convo.sandbox.tool_file import read_tool

WHOLE = """
name = "teatime"
description = "says when tea is ready"
usage = "teatime MINUTES"
install = ["apk add tea", "tea --warm"]
verify = "teatime --version"
setup = "teatime --fill"
uninstall = ["teatime --wash"]
variables = ["TEA_HOUSE"]
command = 'teatime "$(printf %s "$ARGUMENTS")"'

[[variable]]
name = "TEA_TOKEN"
secret = true
optional = true

[[file]]
source = "files/teatime"
target = "/usr/local/bin/teatime"
mode = "0755"

[[file]]
source = "files/leaves"
target = "/etc/leaves"

[parameters]
type = "object"
properties = { minutes = { type = "integer" } }
"""


def written(folder: Path, text: str) -> Path:
    (folder / "files").mkdir(exist_ok=True)
    for name in ("teatime", "leaves"):
        (folder / "files" / name).touch()
    path = folder / "tea.toml"
    path.write_text(text)
    return path


def test_a_whole_tool_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, WHOLE)
    assert read_tool(path) == AgentTool(
        name="teatime",
        description="says when tea is ready",
        usage="teatime MINUTES",
        install=("apk add tea", "tea --warm"),
        verify=("teatime --version",),
        setup=("teatime --fill",),
        uninstall=("teatime --wash",),
        variables=(ToolVariable("TEA_HOUSE"), ToolVariable("TEA_TOKEN", secret=True, optional=True)),
        files=(
            ToolFile(tmp_path / "files/teatime", "/usr/local/bin/teatime", 0o755),
            ToolFile(tmp_path / "files/leaves", "/etc/leaves", 0o644),
        ),
        parameters={"type": "object", "properties": {"minutes": {"type": "integer"}}},
        command='teatime "$(printf %s "$ARGUMENTS")"',
        path=path,
    )


def test_a_name_is_enough(tmp_path: Path) -> None:
    path = written(tmp_path, 'name = "tea"\n')
    assert read_tool(path) == AgentTool(name="tea", path=path)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('verify = "x"\n', None, "name is needed"),
        ('name = "a"\ninstal = "x"\n', 2, 'unknown key "instal"\n  did you mean install?'),
        ('name = "a"\n[[variable]]\nname = "X"\nsecrit = true\n', 4, 'unknown key "secrit" in [[variable]]'),
        ('name = "a"\n[[file]]\nsource = "files/leaves"\n', 2, "file.target is needed"),
        ('name = "a b"\n', 1, "name must be letters"),
        ('name = "a"\ninstall = 5\n', 2, "install must be a command, or a list of commands, not 5"),
        ('name = "a"\nverify = ["x", ""]\n', 2, "verify must be a command"),
        ('name = "a"\nusage = 5\n', 2, "usage must be text, not 5"),
        ('name = "a"\n[variable]\nname = "X"\n', 2, "each begins with [[variable]]"),
        ('name = "a"\nvariables = ["A-B"]\n', 2, "must be the name of an environment variable"),
        ('name = "a"\n[[file]]\nsource = "absent"\ntarget = "/x"\n', 3, 'a file that is not there: "absent"'),
        ('name = "a"\n[[file]]\nsource = "files/leaves"\ntarget = "x"\n', 4, "must be an absolute path"),
        ('name = "a"\n[[file]]\nsource = "files/leaves"\ntarget = "/tmp/x"\n', 4, "must not be in /tmp"),
        ('name = "a"\n[[file]]\nsource = "files/leaves"\ntarget = "/usr/../workspace"\n', 4, "must not be in"),
        ('name = "a"\n[[file]]\nsource = "files/leaves"\ntarget = "/x"\nmode = "999"\n', 5, "permissions"),
        ('name = "a"\ninstall = "curl -H \'Authorization: Bearer abcdef123456789\' x"\n', 2, "install holds a secret"),
        ('name = "a"\ncommand = "x"\n', 2, "command is of no use without parameters"),
        ('name = "a"\nname = "b"\n', 2, "is not TOML"),
    ],
)
def test_a_mistake_is_said_with_its_line(tmp_path: Path, text: str, line: int | None, said: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(FormatError) as caught:
        read_tool(path)
    assert said in str(caught.value)
    assert (caught.value.path, caught.value.line) == (path, line)
    assert "abcdef123456789" not in str(caught.value)


def test_several_mistakes_are_said_in_one_go(tmp_path: Path) -> None:
    with pytest.raises(FormatErrors) as caught:
        read_tool(written(tmp_path, 'name = "a"\nusage = 5\nsetap = "x"\n'))
    assert [error.line for error in caught.value.errors] == [2, 3]  # type: ignore[attr-defined]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"tea\.toml: is not there"):
        read_tool(tmp_path / "tea.toml")
