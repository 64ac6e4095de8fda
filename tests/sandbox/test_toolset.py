from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_convo.errors import SandboxDied, ToolInstallError
from pytest_convo.sandbox.base import CommandResult, Sandbox, SandboxSpec
from pytest_convo.sandbox.cached import BASE, HOLDS, LABEL
from pytest_convo.sandbox.docker import DockerEnvironment
from pytest_convo.sandbox.tool import AgentTool, ToolFile, ToolVariable
from pytest_convo.sandbox.toolset import setup, uninstall, variables_of, with_tools

if TYPE_CHECKING:
    from docker import DockerClient

TOKEN = "earl-grey-hot"
USER = "4711:4711"


class Said:
    """A sandbox that answers as it is told, command by command."""

    def __init__(self, *answers: CommandResult | Exception) -> None:
        self.answers = list(answers)
        self.commands: list[str] = []

    def execute(self, command: str, timeout: float = 60.0, **_: object) -> CommandResult:
        self.commands.append(command)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def said(code: int = 0, output: str = "") -> CommandResult:
    return CommandResult(code, output, "")


def sandbox(*answers: CommandResult | Exception) -> Sandbox:
    return Said(*answers)  # type: ignore[return-value]


def test_variables_are_those_of_all_tools() -> None:
    tools = [
        AgentTool("a", variables=(ToolVariable("HOUSE"), ToolVariable("KEY", secret=True))),
        AgentTool("b", variables=(ToolVariable("KEY"), ToolVariable("CUP", optional=True))),
    ]
    assert variables_of(tools, {"HOUSE": "tea", "KEY": TOKEN, "OTHER": "x"}) == ({"HOUSE": "tea"}, {"KEY": TOKEN})
    assert variables_of(tools, {"HOUSE": "tea", "KEY": TOKEN, "CUP": "1"})[0] == {"HOUSE": "tea", "CUP": "1"}


@pytest.mark.parametrize("environ", [{}, {"HOUSE": ""}])
def test_a_variable_that_is_needed_and_not_set_is_named(environ: dict[str, str], tmp_path: Path) -> None:
    tool = AgentTool("teatime", variables=(ToolVariable("HOUSE"),), path=tmp_path / "tea.toml")
    with pytest.raises(ToolInstallError, match=r"(?s)tea\.toml: the tool teatime needs .* HOUSE.*export HOUSE="):
        variables_of([tool], environ)


def test_a_setup_that_fails_is_said_without_secrets() -> None:
    place = Said(said(), said(3, f"line\n{TOKEN} is no tea\n"))
    tool = AgentTool("teatime", setup=("fill", f"warm {TOKEN}", "never"))
    with pytest.raises(ToolInstallError) as caught:
        setup(place, [tool], secrets={"KEY": TOKEN})  # type: ignore[arg-type]
    assert place.commands == ["fill", f"warm {TOKEN}"]
    text = str(caught.value)
    assert "the tool teatime could not be set up: return code 3 of: warm" in text
    assert "is no tea" in text
    assert TOKEN not in text


def test_what_a_tool_calls_secret_is_taken_out_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEA_HOUSE", TOKEN)
    tool = AgentTool("teatime", setup=("fill",), variables=(ToolVariable("TEA_HOUSE", secret=True),))
    with pytest.raises(ToolInstallError) as caught:
        setup(sandbox(said(1, f"no {TOKEN}")), [tool])
    assert TOKEN not in str(caught.value)


def test_every_tool_is_uninstalled_whatever_the_others_do() -> None:
    place = Said(said(1, "stuck"), said(), SandboxDied("the sandbox has gone"))
    tools = [AgentTool("a", uninstall=("wash", "dry")), AgentTool("b", uninstall=("wash",))]
    notes = uninstall(place, tools)  # type: ignore[arg-type]
    assert place.commands == ["wash", "dry", "wash"]
    assert [("a could" in note, "b could" in note) for note in notes] == [(True, False), (False, True)]
    assert "return code 1" in notes[0]
    assert "has gone" in notes[1]


@pytest.fixture
def removed(client: DockerClient) -> Iterator[list[str]]:
    """Images that are removed when the test is over."""
    images: list[str] = []
    yield images
    for image in set(images):
        client.images.remove(image, force=True)


@pytest.fixture
def environment(removed: list[str]) -> Iterator[DockerEnvironment]:
    """Closed, and with it every container, before the images are removed."""
    made = DockerEnvironment()
    yield made
    made.close()


def spec_of(client: DockerClient, image: str, *tools: AgentTool) -> SandboxSpec:
    return SandboxSpec(image=client.images.get(image).id, tools=tools, user=USER)


def tool_with_file(folder: Path, data: bytes, **fields: tuple[str, ...]) -> AgentTool:
    (folder / "teatime").write_bytes(data)
    return AgentTool("teatime", files=(ToolFile(folder / "teatime", "/opt/tea/teatime", 0o755),), **fields)  # type: ignore[arg-type]


@pytest.mark.engine
def test_tools_are_in_an_image_that_else_starts_as_before(
    client: DockerClient, environment: DockerEnvironment, hostbin: str, tmp_path: Path, removed: list[str]
) -> None:
    data = b'#!/bin/sh\n# \xff\x00\necho "tea at $1"\n'
    tool = tool_with_file(
        tmp_path,
        data,
        install=("ln -s /opt/tea/teatime /bin/teatime", "id -u > /opt/tea/by; echo kept > /opt/tea/kept"),
        verify=("test $(teatime 5 | wc -w) = 3 && test $(id -u) = 4711 && test ! -w /opt/tea/kept",),
    )
    spec = spec_of(client, hostbin, tool)
    image = with_tools(client, environment.open, str(spec.image), spec, lock_dir=tmp_path / "locks")
    removed.append(image)
    with environment.open(replace(spec, image=image)) as place:
        assert place.execute("cat /opt/tea/by; teatime 5").output == "0\ntea at 5\n"
        assert place.read_file("/opt/tea/teatime") == data

    old, new = (client.images.get(name).attrs["Config"] for name in (hostbin, image))
    for key in ("Entrypoint", "Cmd"):
        assert (new[key] or None) == (old[key] or None)
    assert new["WorkingDir"] in ("/", old["WorkingDir"])
    assert new["User"] in ("0", old["User"])
    assert set(old["Env"]) <= set(new["Env"])
    labels = {name: value for name, value in new["Labels"].items() if value}
    assert (labels[LABEL], labels[HOLDS], labels[BASE]) == ("tools", "teatime", spec.image)
    assert labels.keys() <= {*old["Labels"], LABEL, HOLDS, BASE, "pytest-convo.created"}


@pytest.mark.engine
def test_the_same_tools_are_installed_once_and_others_anew(
    client: DockerClient, environment: DockerEnvironment, hostbin: str, tmp_path: Path, removed: list[str]
) -> None:
    opened: list[SandboxSpec] = []

    def open_counted(spec: SandboxSpec):
        opened.append(spec)
        return environment.open(spec)

    def image_of(data: bytes) -> str:
        spec = spec_of(client, hostbin, tool_with_file(tmp_path, data))
        removed.append(with_tools(client, open_counted, str(spec.image), spec, lock_dir=tmp_path / "locks"))
        return removed[-1]

    first = image_of(b"1")
    assert image_of(b"1") == first
    assert len(opened) == 1
    assert image_of(b"2") != first
    assert len(opened) == 2


@pytest.mark.engine
@pytest.mark.parametrize(("at", "done"), [("install", "installed"), ("verify", "verified")])
def test_a_tool_that_does_not_work_is_an_error_and_leaves_nothing(
    client: DockerClient, environment: DockerEnvironment, hostbin: str, tmp_path: Path, at: str, done: str
) -> None:
    command = 'echo "no water, $TEA_HOUSE"; exit 9'
    tool = replace(
        AgentTool("teatime", variables=(ToolVariable("TEA_HOUSE", secret=True),), path=tmp_path / "tea.toml"),
        **{at: (command,)},
    )
    spec = replace(spec_of(client, hostbin, tool), secrets={"TEA_HOUSE": TOKEN})
    before = {image.id for image in client.images.list(all=True)}
    with pytest.raises(ToolInstallError) as caught:
        with_tools(client, environment.open, str(spec.image), spec, lock_dir=tmp_path / "locks")
    text = str(caught.value)
    assert text.startswith(f"{tmp_path / 'tea.toml'}: the tool teatime could not be {done}: return code 9 of: echo")
    assert "no water" in text
    assert TOKEN not in text
    made = {image.id for image in client.images.list(all=True)} - before
    assert not [image for image in made if client.images.get(image).labels.get(HOLDS) == "teatime"]


@pytest.mark.engine
def test_a_secret_is_in_no_layer_and_no_label(
    client: DockerClient, environment: DockerEnvironment, hostbin: str, tmp_path: Path, removed: list[str]
) -> None:
    tool = AgentTool(
        "teatime",
        install=('test "$TEA_HOUSE$CUP" = earl-grey-hot2',),
        variables=(ToolVariable("TEA_HOUSE", secret=True), ToolVariable("CUP")),
    )
    spec = replace(spec_of(client, hostbin, tool), secrets={"TEA_HOUSE": TOKEN}, variables={"CUP": "2"})
    removed.append(with_tools(client, environment.open, str(spec.image), spec, lock_dir=tmp_path / "locks"))
    attrs = str(client.images.get(removed[0]).attrs) + str(client.images.get(removed[0]).history())
    assert TOKEN not in attrs
    assert "CUP=" not in attrs


def test_a_tool_that_changes_nothing_needs_no_image(tmp_path: Path) -> None:
    spec = SandboxSpec(image="tea", tools=(AgentTool("teatime", setup=("fill",)),))
    assert with_tools(None, None, "sha256:tea", spec, lock_dir=tmp_path) == "sha256:tea"  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_has_gone_is_named(tmp_path: Path) -> None:
    tool = AgentTool("teatime", files=(ToolFile(tmp_path / "absent", "/x"),), path=tmp_path / "tea.toml")
    with pytest.raises(ToolInstallError, match=r"tea\.toml: the tool teatime needs .*absent"):
        with_tools(None, None, "sha256:tea", SandboxSpec(tools=(tool,)), lock_dir=tmp_path)  # type: ignore[arg-type]
