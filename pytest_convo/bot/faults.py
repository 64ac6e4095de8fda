"""What a server says when it does not answer, read into one of our errors."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import BotFailure, ContextOverflow, ConvoError, ProviderError
from ..redaction import Redactor
from .retry import retry_after

LONGEST_EXCERPT = 300

_CONTEXT_CODES = {"context_length_exceeded", "exceed_context_size_error", "context_window_exceeded"}
_CONTEXT = re.compile(
    r"maximum context length|context (length|window|size).{0,40}exceed|exceed.{0,60}context (length|window|size)"
    r"|reduce the length of the messages|prompt is too long|input is too long",
    re.IGNORECASE | re.DOTALL,
)
_FILTER_CODES = {"content_filter", "content_policy_violation", "responsibleaipolicyviolation"}
_FILTER = re.compile(r"content management policy|violating our usage policy|safety system", re.IGNORECASE)
_QUOTA_CODES = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
_STATUS_OF = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "timeout": 408,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "server_error": 500,
    "overloaded_error": 503,
}


@dataclass(frozen=True, slots=True)
class Server:
    """Who was asked, as error texts name it, the key that they must not, and what takes out all that is secret."""

    name: str = "the server"
    key: str | None = field(default=None, repr=False)
    variable: str = "OPENAI_API_KEY"
    redactor: Redactor = field(default_factory=Redactor.of_environment, repr=False)
    table: str = "bot"
    """The table of convo.toml that says how it is asked."""

    def excerpt(self, text: str) -> str:
        """`text` in one line, not too long, without our key or any other secret."""
        text = " ".join(self.redactor.now().knowing(self.key, self.variable).text(text).split())
        return text if len(text) <= LONGEST_EXCERPT else text[: LONGEST_EXCERPT - 2] + " …"


@dataclass(frozen=True, slots=True)
class Said:
    """An error as a server words it; each field that it leaves out is empty."""

    message: str = ""
    codes: frozenset[str] = frozenset()
    status: int | None = None

    @classmethod
    def of(cls, body: Any) -> Said:
        """From `{"error": {...}}`, `{"error": "text"}`, a bare object, a list of one, or a text."""
        if isinstance(body, list) and body:
            body = body[0]
        if not isinstance(body, Mapping):
            return cls("" if body is None else str(body))
        error = body.get("error", body)
        if not isinstance(error, Mapping):
            return cls(str(error))
        inner = error.get("innererror")
        words = [error.get("code"), error.get("type"), inner.get("code") if isinstance(inner, Mapping) else None]
        codes = frozenset(str(word).lower() for word in words if word is not None)
        message = next((error[key] for key in ("message", "detail", "msg") if error.get(key)), None)
        return cls(_worded(error if message is None else message), codes, _status(error, codes))


def fault(
    body: Any, server: Server, *, status: int | None = None, headers: Mapping[str, str] | None = None
) -> ConvoError:
    """The error that `body` stands for: of an HTTP `status`, or where None, of an object inside a good answer.

    `ContextOverflow` and `BotFailure` (a content filter) are what the bot did; anything else is `ProviderError`.
    """
    said = Said.of(body)
    status = said.status if status is None else status
    answered = f"{server.name} answered {status}" if status is not None else f"{server.name} sent an error"
    what = f"{answered}: {server.excerpt(said.message) or 'without a word'}"
    if said.codes & _CONTEXT_CODES or (status in (400, 413, 422) and _CONTEXT.search(said.message)):
        return ContextOverflow(what, hint="the conversation, with its tools and system prompt, is too long")
    if said.codes & _FILTER_CODES or (status == 400 and _FILTER.search(said.message)):
        return BotFailure(what, hint="the server's content filter refused the conversation")
    error = ProviderError(what, status=status, retry_after=retry_after(headers or {}), hint=_hint(said, status, server))
    if said.codes & _QUOTA_CODES:
        error.transient = False
    elif (wish := (headers or {}).get("x-should-retry")) in ("true", "false"):
        error.transient = wish == "true"
    return error


def _worded(message: Any) -> str:
    return message if isinstance(message, str) else json.dumps(message, ensure_ascii=False, default=str)


def _status(error: Mapping[str, Any], codes: frozenset[str]) -> int | None:
    """The HTTP status that an error object names or implies."""
    for key in ("status_code", "code", "status"):
        value = error.get(key)
        if isinstance(value, int | str) and re.fullmatch(r"[45]\d\d", str(value)):
            return int(value)
    return next((_STATUS_OF[code] for code in sorted(codes) if code in _STATUS_OF), None)


def _hint(said: Said, status: int | None, server: Server) -> str:
    if status in (401, 403):
        return f"the key is that of {server.variable}" if server.key else f"no key was sent: set {server.variable}"
    if said.codes & _QUOTA_CODES:
        return "the account has no credit left"
    if status == 404:
        return f"check model and base_url in [{server.table}]; a base_url ends in /v1 as a rule"
    return ""
