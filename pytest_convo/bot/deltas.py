"""A streamed answer, put together from its deltas."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ..conversation.reply import Reply, Usage
from ..errors import ProviderError
from .faults import Server, fault
from .sse import DONE, Decoder, Event
from .wire import call_list, message_reply, raise_error_in, read_usage, split

_IN_PIECES = {"arguments", "reasoning", "reasoning_content", "refusal", "summary", "text", "thinking"}
"""Fields whose texts are continued from delta to delta; any other is said anew."""


class Stream:
    """Takes the bytes of a streamed answer, gives its text as it grows, and in the end the reply.

    `done` is set when the server has said `[DONE]`: what comes after it is of no interest. `usage` is what has been
    counted so far, whole or not.
    """

    def __init__(self, server: Server) -> None:
        self.done = False
        self.usage: Usage | None = None
        self._server = server
        self._events = Decoder()
        self._texts: list[str] = []
        self._calls = Calls()
        self._extra: dict[str, Any] = {}
        self._finish_reason: Any = None
        self._model: Any = None

    def feed(self, received: bytes) -> Iterator[str]:
        """The pieces of text in `received`. Raises for an error that the server sends, and for what is no event."""
        for event in self._events.feed(received):
            if self.done:
                return
            if event.data == DONE:
                self.done = True
            elif text := self._add(event):
                self._texts.append(text)
                yield text

    def reply(self) -> Reply:
        """The whole reply; `ProviderError` where the stream ended before it was whole."""
        if not (self.done or self._events.done_at_end):
            msg = f"{self._server.name} broke off its answer: the stream ended without [DONE]"
            raise ProviderError(msg)
        message = {**self._extra, "content": "".join(self._texts), "tool_calls": self._calls.made}
        return message_reply(
            message, self._server, finish_reason=self._finish_reason, usage=self.usage, model=self._model
        )

    def _add(self, event: Event) -> str:
        """Take in one chunk; its text."""
        chunk = self._parsed(event)
        self._model = chunk.get("model") or self._model
        groq = chunk.get("x_groq")
        counted = chunk.get("usage") or (groq.get("usage") if isinstance(groq, dict) else None)
        self.usage = read_usage(counted) or self.usage
        raise_error_in(chunk, self._server)
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and choice.get("index", 0) == 0:
                self._finish_reason = choice.get("finish_reason") or self._finish_reason
                delta = choice.get("delta")
                return self._delta(delta) if isinstance(delta, dict) else ""
        return ""

    def _parsed(self, event: Event) -> Mapping[str, Any]:
        try:
            chunk = json.loads(event.data)
        except (ValueError, RecursionError):
            chunk = event.data.decode("utf-8", "replace")
        if event.kind == b"error":
            raise fault(chunk, self._server)
        if not isinstance(chunk, dict):
            msg = f"{self._server.name} sent a malformed event: {self._server.excerpt(str(chunk))}"
            raise ProviderError(msg)
        return chunk

    def _delta(self, delta: Mapping[str, Any]) -> str:
        text, beside = split(delta.get("content"), self._server)
        for call in call_list(delta, self._server):
            self._calls.add(call if isinstance(call, dict) else {})
        others = {key: value for key, value in delta.items() if key not in ("role", "content", "tool_calls")}
        _merge(self._extra, {**others, **beside})
        return text


class Calls:
    """Tool calls from their pieces; `made` has each as the API has a whole one.

    A piece belongs to the call of its `index`, of its `id`, or, with neither, to the last one. Seen in the wild and
    understood: no index; one index for several calls with ids of their own; the name or the id said again with each
    piece; arguments as an object.
    """

    def __init__(self) -> None:
        self.made: list[dict[str, Any]] = []
        self._places: dict[tuple[str, str], dict[str, Any]] = {}

    def add(self, piece: Mapping[str, Any]) -> None:
        """Take in one piece of a call."""
        function = piece["function"] if isinstance(piece.get("function"), dict) else {}
        name, arguments = function.get("name"), function.get("arguments")
        call = self._place(_text(piece.get("index")), _text(piece.get("id")), _text(name))
        call["function"]["name"] = _named(call["function"]["name"], _text(name))
        call["function"]["arguments"] += _text(arguments)

    def _place(self, index: str, identity: str, name: str) -> dict[str, Any]:
        key = ("index", index) if index else ("id", identity) if identity else ("last", "")
        call = self._places.get(key)
        if call is None or (identity and name and call["id"] not in ("", identity)):
            call = {"id": identity, "function": {"name": "", "arguments": ""}}
            self.made.append(call)
        call["id"] = call["id"] or identity
        self._places[key] = self._places["id", identity or call["id"]] = self._places["last", ""] = call
        return call


def _text(value: Any) -> str:
    """`value` as a text, JSON where it is none; empty for None."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def _named(name: str, more: str) -> str:
    """A name after one more piece of it, which may be the whole name once again."""
    return more if more.startswith(name) else name if name == more else name + more


def _merge(whole: dict[str, Any], more: Mapping[str, Any]) -> None:
    for key, value in more.items():
        old = whole.get(key)
        if value is None or value == "":
            continue
        if isinstance(old, str) and isinstance(value, str) and key in _IN_PIECES:
            whole[key] = old + value
        elif isinstance(old, dict) and isinstance(value, dict):
            _merge(old, value)
        elif isinstance(old, list) and isinstance(value, list):
            _merge_items(old, value)
        else:
            whole[key] = value


def _merge_items(items: list[Any], more: list[Any]) -> None:
    """Items with an `index` continue the one of that index and type; others come after."""
    for item in more:
        place = (item.get("index"), item.get("type")) if isinstance(item, dict) else (None, None)
        known = (old for old in items if isinstance(old, dict) and (old.get("index"), old.get("type")) == place)
        old = next(known, None) if place[0] is not None else None
        if old is None:
            items.append(item)
        else:
            _merge(old, item)
