"""Who answers: script.toml, served on this machine over HTTP, unless OPENAI_BASE_URL names a real server."""

import os
from pathlib import Path

import pytest

from pytest_convo.testing import ScriptedServer

KEY = "not-a-real-key"


def pytest_configure(config):
    if os.environ.get("OPENAI_BASE_URL"):
        return  # a real server; or this is a worker of xdist, and the scripted one runs already
    server = ScriptedServer(Path(__file__).with_name("script.toml"), api_key=KEY).start()
    environment = pytest.MonkeyPatch()
    environment.setenv("OPENAI_BASE_URL", server.url)
    environment.setenv("OPENAI_API_KEY", KEY)  # a key of yours is neither used nor shown to anybody
    config.add_cleanup(environment.undo)
    config.add_cleanup(server.stop)


def pytest_report_header():
    return f"support bot: asked at {os.environ['OPENAI_BASE_URL']}"
