from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from pytest_convo.errors import SandboxUnavailable, SettingsError
from pytest_convo.sandbox.base import Environment
from pytest_convo.sandbox.environments import named
from pytest_convo.sandbox.local import LocalEnvironment


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Install a package of one module, with entry points."""

    def make(module: str, points: dict[str, str]) -> None:
        (tmp_path / "their_package.py").write_text(module)
        about = tmp_path / "their_package-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n")
        lines = [f"{name} = {value}" for name, value in points.items()]
        (about / "entry_points.txt").write_text("\n".join(["[pytest_convo.environments]", *lines]))
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "their_package", raising=False)

    return make


def test_our_environments_are_known_by_their_names() -> None:
    assert isinstance(named("local"), LocalEnvironment)
    docker = named("docker")
    assert isinstance(docker, Environment)
    assert docker.name == "docker"


def test_another_packages_environment_is_found(install) -> None:
    module = "from pytest_convo.sandbox.local import LocalEnvironment\nclass Theirs(LocalEnvironment): name = 'theirs'"
    install(module, {"theirs": "their_package:Theirs"})

    assert named("theirs").name == "theirs"


def test_an_unknown_name_is_told_with_the_known_ones() -> None:
    with pytest.raises(SettingsError, match=re.escape("no environment 'dokcer'; the environments are: docker, local")):
        named("dokcer")


@pytest.mark.parametrize(
    "module, says",
    [
        ("import not_installed_anywhere", "ModuleNotFoundError: No module named 'not_installed_anywhere'"),
        ("", "AttributeError: module 'their_package' has no attribute 'Theirs'"),
        ("def Theirs(): raise OSError('no\\nserver')", "OSError: no server"),
    ],
)
def test_an_environment_that_is_broken_says_so_in_one_line(install, module: str, says: str) -> None:
    install(module, {"theirs": "their_package:Theirs"})

    with pytest.raises(SandboxUnavailable) as raised:
        named("theirs")

    assert str(raised.value) == f"the environment 'theirs' (their_package:Theirs) cannot be used: {says}"
