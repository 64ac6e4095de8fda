"""Agents in containers."""

from __future__ import annotations

import io
import json
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from pytest_convo import Agent, SandboxSpec
from pytest_convo.agent.browser import Browser
from pytest_convo.conversation.message import ToolCall
from pytest_convo.conversation.reply import Reply
from pytest_convo.errors import SandboxUnavailable
from pytest_convo.sandbox.base import GIB, Change
from pytest_convo.testing import images
from tests.agent.conftest import Model, calling

pytestmark = pytest.mark.engine

CHROMIUM = Path("/usr/lib/chromium")
DONE = Reply("Done.")

PAGE = """<body><h1>Prices</h1><p id=tea></p><a href="/more.html">More</a>
<script>document.getElementById("tea").textContent = "Tea: " + (1 + 2) + " €"</script></body>"""

SERVE = """python3 -m http.server 8000 >/dev/null 2>&1 &
until python3 -c 'import socket; socket.create_connection(("127.0.0.1", 8000))' 2>/dev/null; do sleep 0.1; done"""


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "shop"
    made.mkdir()
    (made / "index.html").write_text(f"<meta charset=utf-8>{PAGE}")
    return made


def told(result):
    return [message.text for message in result.transcript.messages if message.role == "tool"]


def test_an_agent_works_in_a_container_on_a_copy_of_its_folder(hostbin, folder):
    commands = ["pwd; echo new >b.txt; cd /; export A=b", 'echo "$PWD $A"; touch /usr/x', "echo part; sleep 300"]
    model = Model(*map(calling, commands), calling("echo on"), DONE)
    spec = SandboxSpec(image=hostbin)
    result = Agent("worker", bot=model, folder=folder, sandbox=spec, command_timeout=15.0).run("Write.")

    first, second, third, fourth = told(result)
    assert first == "stdout:\n/workspace"
    assert second.startswith("stdout:\n/ b\nstderr:\n")
    assert "Read-only file system" in second
    assert third.startswith("stdout:\npart\nkilled after 15 s")
    assert (fourth, result.status) == ("stdout:\non", "done")
    assert result.changes == (Change("b.txt", "A"),)
    assert not (folder / "b.txt").exists()


def test_an_agent_that_reads_cannot_write(hostbin, folder):
    spec = SandboxSpec(image=hostbin)
    worker = Agent("worker", bot=Model(calling("touch x"), DONE), kind="reading", folder=folder, sandbox=spec)
    result = worker.run("Read.")

    assert "Read-only file system" in told(result)[0]
    assert result.changes == ()


def test_an_image_without_a_browser_is_told_before_the_model_is_asked(hostbin):
    model = Model(DONE)
    spec = SandboxSpec(image=hostbin)
    with pytest.raises(SandboxUnavailable, match="no browser"):
        Agent("worker", bot=model, kind="browsing", sandbox=spec).run("x")

    assert model.requests == []


@pytest.mark.skipif(not CHROMIUM.is_dir(), reason="this machine has no Chromium of Debian's")
def test_a_browser_says_what_a_page_is_after_its_scripts_have_run(client, folder):
    def browse(url):
        return Reply("", (ToolCall("c1", Browser.spec.name, json.dumps({"url": url})),), "tool_calls")

    model = Model(calling(SERVE), browse("http://127.0.0.1:8000/"), browse("http://127.0.0.1:1/"), DONE)
    spec = SandboxSpec(image=with_chromium(client), memory=2 * GIB)
    result = Agent("reader", bot=model, kind="browsing", folder=folder, sandbox=spec, command_timeout=120.0).run("x")

    assert told(result)[1] == "# Prices\nTea: 3 €\n[More](/more.html)"
    assert told(result)[2].startswith("nothing was loaded")


def with_chromium(client):
    """The tag of an image that has this machine's Chromium beside its Python."""
    from docker.errors import ImageNotFound

    tag = "pytest-convo-test/hostpython-chromium:1"
    try:
        client.images.get(tag)
    except ImageNotFound:
        context = io.BytesIO()
        with tarfile.open(fileobj=context, mode="w") as archive:
            for path in chromium_files():
                archive.add(path.resolve(), f"root{path}", recursive=False)
            recipe = (
                f"FROM {images.hostpython(client)}\nCOPY root /\nENV PATH=/bin:{CHROMIUM}\nLABEL pytest-convo.test=1\n"
            )
            info = tarfile.TarInfo("Dockerfile")
            info.size = len(recipe)
            archive.addfile(info, io.BytesIO(recipe.encode()))
        context.seek(0)
        client.images.build(fileobj=context, custom_context=True, tag=tag)
    return tag


def chromium_files():
    """Chromium, the libraries that it is linked to, those that it loads later, and fonts."""
    later = [
        path for name in ("libsoftokn3", "libfreebl", "libnss") for path in Path("/usr/lib").glob(f"*/{name}*.so*")
    ]
    own = [path for path in CHROMIUM.rglob("*") if path.is_file()]
    linked = subprocess.run(
        ["ldd", *(path for path in [*own, *later] if path.suffix == ".so" or path.name == "chromium")],
        capture_output=True,
        text=True,
        check=False,
    )
    libraries = [Path(name) for name in set(re.findall(r"=> (/\S+) \(0x", linked.stdout))]
    fonts = [path for place in ("/etc/fonts", "/usr/share/fonts") for path in Path(place).rglob("*") if path.is_file()]
    return {*own, *later, *libraries, *fonts[:200]}
