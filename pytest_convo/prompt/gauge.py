"""How large a request is, in tokens of the model that reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

from ..conversation.message import Message
from .request import Request, ToolSpec
from .tokenizer import Tokenizer

PRIMING = 3
"""Tokens that begin the answer (OpenAI's cookbook on counting tokens, as the next two)."""

MESSAGE = 4
"""Tokens around a message, 3, and its role."""

NAME = 1
"""Tokens around the name of a message."""

CALL = 8
"""Tokens around a call that the bot made: that it is one, its type, brackets."""

TOOL = 12
"""Tokens around a declared tool, which the count of its JSON leaves out; servers repeat parts of it in their words."""

IMAGE = 1000
"""Tokens of an image, whose size is not known here; by OpenAI's rules for tiles a square of 1,024 pixels has 765."""

MEDIA = 1000
"""Tokens at least of a file or of sound."""

MEDIA_CHARACTERS = 50
"""Characters of its base64 for which one token is counted: a page of text in a PDF has some 50 kB, a token a word."""

HIGHEST = 8.0
"""The largest factor that is believed; what it does not explain is taken for overhead. Bytes give 4 or so."""

OVERHEAD = 100
"""Tokens of a first count beyond ours that are taken for what the server adds to each request, be it long or short.

A template, and a system prompt of its own: providers were seen to add 60, and one 600.
"""

MARGIN = 1.05
"""What an estimate is widened by where it was too low.

Measured with a vocabulary for which it is (Mistral's of 32,000): of histories that double after they taught us, 37 %
are underestimated with no margin, 5 % with 3 %, and 1 % with this one.
"""

FARTHER = 1.25
"""By what one of two requests must be larger, so that their counts tell what is a factor and what is overhead."""

READ = ("response_format", "tools", "functions")
"""Parameters that the model reads; the others are for the server."""

_IMAGES = {"image", "image_url", "input_image"}
_MEDIA = {"file", "input_file", "input_audio", "audio", "video", "video_url"}


class Gauge:
    """Measures requests in the tokens of one model; learns from what the server counted. One for each run.

    A run's own replies are all that it learns from: a replay has the same, and so makes the same requests.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._factor, self._overhead = 1.0, 0
        self._least: tuple[int, int] | None = None
        self._taught_by = 0

    @property
    def factor(self) -> float:
        """By what our counts are multiplied: 1 until a server has counted more than we, and never less."""
        return self._factor

    def messages(self, messages: Sequence[Message]) -> int:
        """The tokens of messages, with what is around them."""
        return sum(self._scaled(self._message(message)) for message in messages)

    def tools(self, tools: Sequence[ToolSpec], parameters: Mapping[str, Any]) -> int:
        """The tokens of declared tools, and of those parameters that the model reads."""
        return self._scaled(self._tools(tools, parameters))

    def text(self, text: str) -> int:
        """The tokens of a bare text."""
        return self._scaled(self.tokenizer.count(text))

    def fixed(self) -> int:
        """The tokens that each request has besides."""
        return self._scaled(PRIMING) + self._overhead

    def request(self, request: Request) -> int:
        """The tokens of a whole request: the sum of its parts."""
        return self.messages(request.messages) + self.tools(request.tools, request.parameters) + self.fixed()

    def learn(self, request: Request, counted: int) -> None:
        """Take in what the server counted for a request (`usage.prompt_tokens`): next time we count no less for it.

        What is beyond our own count is a factor, and an overhead that each request has. Two requests tell them apart of
        which one is larger by a quarter; before there are two, the overhead is taken for as large as it may well be. A
        request much smaller than the one that taught us last teaches nothing. A count below ours never makes us count
        less than our own: a server may leave out what it had cached.
        """
        raw = self._raw(request)
        if counted <= 0 or 2 * raw < self._taught_by:
            return
        self._taught_by = raw
        ratio = min(max(self._ratio(raw, counted), 1.0), HIGHEST)
        if self._least is None or raw < self._least[0]:
            self._least = raw, counted
        self._factor = ratio * MARGIN if ratio > 1 and not self.tokenizer.exact else ratio
        self._overhead = max(0, ceil(counted - self._factor * raw))

    def _ratio(self, raw: int, counted: int) -> float:
        if self._least is not None and raw >= FARTHER * self._least[0]:
            return (counted - self._least[1]) / (raw - self._least[0])
        return (counted - OVERHEAD) / raw

    def _scaled(self, tokens: int) -> int:
        return ceil(tokens * self._factor)

    def _raw(self, request: Request) -> int:
        messages = sum(map(self._message, request.messages))
        return messages + self._tools(request.tools, request.parameters) + PRIMING

    def _message(self, message: Message) -> int:
        count = self.tokenizer.count
        tokens = MESSAGE + self._content(message.content)
        if message.name is not None:
            tokens += NAME + count(message.name)
        for call in message.tool_calls:
            tokens += CALL + count(call.id) + count(call.name) + count(call.arguments)
        if message.tool_call_id is not None:
            tokens += count(message.tool_call_id)
        return tokens

    def _content(self, content: str | list[dict[str, Any]] | None) -> int:
        if isinstance(content, str):
            return self.tokenizer.count(content)
        return sum(map(self._part, content or ()))

    def _part(self, part: dict[str, Any]) -> int:
        if isinstance(part.get("text"), str):
            return self.tokenizer.count(part["text"])
        kind = part.get("type")
        if kind in _IMAGES:
            return IMAGE
        if kind in _MEDIA:
            return max(MEDIA, len(_json(part)) // MEDIA_CHARACTERS)
        return self.tokenizer.count(_json(part))

    def _tools(self, tools: Sequence[ToolSpec], parameters: Mapping[str, Any]) -> int:
        count = self.tokenizer.count
        declared = sum(TOOL + count(_json(tool.to_api())) for tool in tools)
        return declared + sum(count(_json(parameters[name])) for name in READ if name in parameters)


def _json(value: Any) -> str:
    """What JSON does not have is there as its `str`."""
    return json.dumps(value, ensure_ascii=False, default=str)
