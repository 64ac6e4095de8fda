from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from pytest_convo.conversation.message import Message
from pytest_convo.conversation.reply import Reply, Usage
from pytest_convo.prompt.request import Request, ToolSpec
from pytest_convo.record.recording import RunRecording
from pytest_convo.redaction import Redactor

SECRET = "tea-for-two"
BOMB = "BOOM"


def explode(text):
    if BOMB in text:
        raise ZeroDivisionError


class Model:
    """Says each of `answers` in turn; an exception among them is raised. `asked` are the requests."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    async def complete(self, request, stream=None):
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


class Project:
    """A folder of recordings, as several sessions one after the other write and read it."""

    def __init__(self, path):
        self.root = path / "__recordings__"
        self.redactor = Redactor.of_environment({"TEA_TOKEN": SECRET}, functions=[explode])

    def path(self, run=1, *folders):
        return self.root.joinpath(*folders, f"run-{run}.yaml")

    def begin(self, mode, run=1):
        return RunRecording(self.path(run), self.root, mode, self.redactor)

    def record(self, *exchanges, mode="all", run=1):
        """Have requests and their answers in the recording of a run."""
        recording = self.begin(mode, run)
        model = recording.around(lambda: Model(*(answer for _, answer in exchanges)))
        for request, answer in exchanges:
            assert ask(model, request) is answer
        recording.save()


def ask(model, request, stream=None):
    return asyncio.run(model.complete(request, stream))


def request(*texts, system="Be kind.", model="m", tools=(), **parameters):
    """What is said in turn by the user and by the assistant."""
    said = [Message(("user", "assistant")[place % 2], text) for place, text in enumerate(texts or ("Hello?",))]
    prompt = [Message("system", system)] if system else []
    return Request(model, (*prompt, *said), tools=tuple(tools), parameters=parameters)


LOOK = ToolSpec("look", "Looks.", {"type": "object", "properties": {"id": {"type": "string"}}})
REPLY = Reply("Within 30 days.", usage=Usage(12, 5), billed=Usage(12, 5), seconds=0.53, model="m-2026")


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


@pytest.fixture(scope="session")
def make():
    """The makers above, for tests to use by name."""
    return SimpleNamespace(
        LOOK=LOOK, REPLY=REPLY, SECRET=SECRET, BOMB=BOMB, Model=Model, Project=Project, ask=ask, request=request
    )
