"""Models that judge as a test wants it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

from pytest_convo.agreement.verdict import Agreement, Rule
from pytest_convo.bot.model import ChatModel
from pytest_convo.conversation.reply import Reply
from pytest_convo.judge.judge import Judge
from pytest_convo.prompt.request import Request
from pytest_convo.settings.bots import BotSettings

MUMBLE = "Well, it depends."


def verdict(verdict: str = "pass", reason: str = "So it is.", evidence: str = "") -> str:
    return json.dumps({"reason": reason, "evidence": evidence, "verdict": verdict})


@dataclass
class Says:
    """Answers with one text after the other, or with what a function makes of the data; raises what is an error."""

    said: Iterable[str | Exception] | Callable[[str], str]
    asked: list[Request] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._answers = None if callable(self.said) else iter(self.said)

    async def complete(self, request: Request, stream: Callable[[str], None] | None = None) -> Reply:
        self.asked.append(request)
        data = request.messages[-1].text
        answer: Any = next(self._answers) if self._answers is not None else self.said(data)  # type: ignore[operator]
        if isinstance(answer, Exception):
            raise answer
        return Reply(answer)


def always(text: str) -> Says:
    return Says(repeat(text))


def judge_of(model: ChatModel, rule: Rule | None = None) -> Judge:
    """A judge who is asked in words."""
    return Judge(lambda run: model, BotSettings(model="j"), rule or Agreement(1, 1), "text")


def nobody_between(make: Callable[[], ChatModel]) -> ChatModel:
    return make()
