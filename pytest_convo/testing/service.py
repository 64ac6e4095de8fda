"""What the scripted server answers to one HTTP request."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from ..bot.script import Script
from ..bot.script_answer import Answer, error_body
from ..bot.script_reading import Reading
from ..errors import ScriptExhausted
from . import chat_wire as wire
from .chat_body import BadBody, check_body, request_of
from .connection import EVENTS, Response
from .embeddings import check_embeddings, embedded
from .http_request import HttpRequest
from .request_log import RecordedRequest, RequestLog

CHAT = "/v1/chat/completions"
EMBEDDINGS = "/v1/embeddings"
MODELS = "/v1/models"
_METHODS = {CHAT: "POST", EMBEDDINGS: "POST", MODELS: "GET"}
_NO_RETRY = ("x-should-retry", "false")
_log = logging.getLogger(__name__)


def refusal(
    status: int, message: str, *headers: tuple[str, str], code: str | None = None, param: str | None = None
) -> Response:
    """An error in the API's shape."""
    body = wire.encoded(error_body(status, message, code=code, param=param))
    return Response(status=status, bursts=[[body]], length=len(body), headers=headers)


class Service:
    """Answers HTTP requests from a script; to be called from one thread."""

    def __init__(
        self, script: Script, log: RequestLog, *, seed: int, api_key: str | None, latency: float, chunk_size: int | None
    ) -> None:
        self._script = script
        self._log = log
        self._seed = seed
        self._api_key = api_key
        self._latency = latency
        self._chunk_size = chunk_size
        self._answers = 0
        self.reset()

    def reset(self) -> None:
        """Read the script from its beginning."""
        self._reading = Reading(self._script, str(self._seed))

    def respond(self, request: HttpRequest) -> Response:
        """The response to any request."""
        method = _METHODS.get(request.path)
        if method is None:
            return refusal(404, f"unknown request URL: {request.method} {request.path}", code="unknown_url")
        if request.method != method:
            return refusal(405, f"{request.path} takes {method}, not {request.method}", ("allow", method))
        return self._models(request) if request.path == MODELS else self._recorded(request)

    def _models(self, request: HttpRequest) -> Response:
        if (refused := self._unauthorized(request)) is not None:
            return refused
        body = wire.model_list(["scripted"])
        return Response(bursts=[[body]], length=len(body))

    def _recorded(self, request: HttpRequest) -> Response:
        answer = self._embeddings if request.path == EMBEDDINGS else self._chat
        response = replace(self._unauthorized(request) or answer(request), done=self._log.end)
        self._log.begin(RecordedRequest(request.body, tuple(request.headers), response.status, request.path))
        return response

    def _unauthorized(self, request: HttpRequest) -> Response | None:
        if self._api_key is None or request.headers.get("authorization") == f"Bearer {self._api_key}":
            return None
        return refusal(401, "incorrect API key provided", code="invalid_api_key")

    def _embeddings(self, request: HttpRequest) -> Response:
        try:
            body = _parsed(request.body)
            check_embeddings(body)
        except BadBody as error:
            return refusal(400, str(error), param=error.param)
        answer = embedded(body)
        return Response(bursts=[[answer]], length=len(answer), latency=self._latency)

    def _chat(self, request: HttpRequest) -> Response:
        try:
            body = _parsed(request.body)
            check_body(body)
            answer = self._reading.answer(body["messages"], lambda _: _question(body), lambda: request_of(body))
        except BadBody as error:
            return refusal(400, str(error), param=error.param)
        except ScriptExhausted as error:
            return refusal(410, str(error), _NO_RETRY, code="script_exhausted")
        except Exception as error:
            _log.exception("the script's function failed")
            what = f"the script's function raised {type(error).__name__}: {error}"
            return refusal(500, what, _NO_RETRY, code="script_failed")
        return self._answered(answer, body)

    def _answered(self, answer: Answer, body: Mapping[str, Any]) -> Response:
        self._answers += 1
        completion = wire.Completion(f"chatcmpl-{self._answers}", int(time.time()), body["model"])
        reply = answer.reply
        latency = self._latency if reply.latency is None else reply.latency
        if answer.error is not None:
            return _error(answer, latency)
        if not body.get("stream"):
            return _whole(answer, wire.whole(answer, completion), latency)
        with_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        bursts = wire.events(answer, completion, with_usage=with_usage)
        pause = reply.pause or 0.0
        together = bursts if pause else [[event for burst in bursts for event in burst]]
        sliced = [self._sliced(burst) for burst in together]
        cut = reply.cut is not None
        return Response(bursts=sliced, content_type=EVENTS, latency=latency, pause=pause, cut=cut)

    def _sliced(self, events: Sequence[bytes]) -> Sequence[bytes]:
        """The events, or where a chunk's size is given, the same bytes in slices of that size."""
        size = self._chunk_size
        if size is None:
            return events
        body = b"".join(events)
        return [body[start : start + size] for start in range(0, len(body), size)]


def _whole(answer: Answer, body: bytes, latency: float) -> Response:
    length = len(body)
    if answer.reply.malformed:
        body = body[: length // 2]
        length = len(body)
    if answer.reply.cut is not None:
        body = body[: length * min(answer.reply.cut, len(answer.pieces)) // (len(answer.pieces) + 1)]
    return Response(bursts=[[body]], length=length, latency=latency, cut=answer.reply.cut is not None)


def _error(answer: Answer, latency: float) -> Response:
    body = wire.encoded(answer.error)
    headers = tuple(answer.error_headers.items())
    return Response(
        status=answer.reply.error or 500, bursts=[[body]], length=len(body), headers=headers, latency=latency
    )


def _parsed(raw: bytes) -> dict[str, Any]:
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError) as error:
        msg = f"the body of the request is not JSON: {error}"
        raise BadBody(msg, None) from None
    if not isinstance(body, dict):
        msg = "the body of the request is not a JSON object"
        raise BadBody(msg, None)
    return body


def _question(body: Mapping[str, Any]) -> str:
    """What tells one question from another: everything but whether the answer is streamed."""
    asked = {key: value for key, value in body.items() if key not in ("stream", "stream_options")}
    return sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
