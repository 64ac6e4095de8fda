"""Answers of chat-completion servers, as they come over the wire, read into replies.

The rule: what did not arrive whole, or is not a chat completion, is never a reply.

- One JSON object is whole when it parses; it needs `choices[0].message`.
- A stream is whole when it said `[DONE]`. A finish reason alone does not end it (a server may send two), nor does a
  clean end of the connection (a proxy may end one that broke off behind it).
- A whole answer whose finish reason is missing or empty is a reply all the same when it holds a text or calls: some
  servers never send one. The reply's `finish_reason` is None then. With nothing in it, it is an error.
- The choice is that of index 0, whatever `n` was asked for.
- A refusal is a reply like any other, with `refusal` in its `extra`: that it fails is for the checks to say.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..conversation.message import Message, ToolCall
from ..conversation.reply import Reply, Usage
from ..errors import ProviderError
from .faults import Server, fault

COMPLETION = "chat completion"
"""What is wanted of a server, as errors call it."""

_READ = {"role", "content", "tool_calls"}


def read_reply(body: bytes, server: Server) -> Reply:
    """The reply in `body`: a JSON object, or a stream of events that was sent whole though nobody asked for one.

    Raises what `fault` makes of an error object, and `ProviderError` where there is no chat completion.
    """
    from .deltas import Stream

    if body.lstrip().startswith((b"data:", b"event:", b"id:", b": ")):
        stream = Stream(server)
        for _ in stream.feed(body):
            pass
        return stream.reply()
    return _completed(read_object(body, server, COMPLETION), server)


def message_reply(
    message: Mapping[str, Any],
    server: Server,
    *,
    finish_reason: Any = None,
    usage: Usage | None = None,
    model: Any = None,
) -> Reply:
    """The reply in a message as the API has it; `ProviderError` where nothing is in it and no reason was given."""
    text, beside = split(message.get("content"), server)
    calls = tuple(_call(call, server) for call in call_list(message, server))
    extra = {key: value for key, value in message.items() if key not in _READ and not _blank(value)} | beside
    if not (text or calls or finish_reason or "refusal" in extra):
        msg = f"{server.name} sent an empty answer without a finish reason"
        raise ProviderError(msg)
    return Reply(
        text=mended(text),
        calls=calls,
        finish_reason=str(finish_reason) if finish_reason else None,
        usage=usage,
        billed=usage,
        model=model if isinstance(model, str) and model else None,
        extra=extra,
    )


def split(content: Any, server: Server) -> tuple[str, dict[str, Any]]:
    """The text of a content, and what else its parts hold: `thinking` (as Mistral sends it) and other `parts`.

    Text parts follow each other without a break: servers cut one text into several.
    """
    if content is None or isinstance(content, str):
        return content or "", {}
    if not isinstance(content, list):
        raise not_a_completion(server, "a content that is neither text nor parts", str(content))
    parts = [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]
    texts = [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
    thinking = "".join(_thought(part.get("thinking")) for part in parts if isinstance(part, dict))
    others = [part for part in parts if not (isinstance(part, dict) and ("text" in part or "thinking" in part))]
    beside = {"thinking": thinking, "parts": others}
    return "".join(texts), {key: value for key, value in beside.items() if value}


def call_list(message: Mapping[str, Any], server: Server) -> list[Any]:
    """The tool calls of a message, or of a delta, as they stand there; none where it has none."""
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        raise not_a_completion(server, "tool calls that are no list", str(calls))
    return calls


def identified(calls: Iterable[ToolCall], messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    """`calls` with ids that are theirs alone in the conversation so far.

    Some servers send none, or begin anew at each turn. The ids that are made are the same whenever the same
    conversation is held again.
    """
    taken = {call.id for message in messages for call in message.tool_calls}
    number = sum(len(message.tool_calls) for message in messages)
    told = []
    for call in calls:
        number += 1
        own = call.id if call.id and call.id not in taken else f"call_{number}"
        while own in taken:
            own += "_"
        taken.add(own)
        told.append(call if own == call.id else replace(call, id=own))
    return tuple(told)


def read_usage(usage: Any) -> Usage | None:
    """The tokens that a server counted, under any of the names they go by; None where it did not."""
    if not isinstance(usage, Mapping):
        return None
    prompt = _first(usage, "prompt_tokens", "input_tokens")
    completion = _first(usage, "completion_tokens", "output_tokens")
    if prompt is None and completion is None:
        return None
    details = usage.get("prompt_tokens_details")
    cached = _first(details, "cached_tokens") if isinstance(details, Mapping) else None
    if cached is None:
        cached = _first(usage, "prompt_cache_hit_tokens", "cached_tokens", "num_cached_tokens")
    return Usage(prompt or 0, completion or 0, cached or 0)


def mended(text: str) -> str:
    """`text` with the two halves of a character that were escaped apart put together, and a lone half replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def raise_error_in(answer: Mapping[str, Any], server: Server) -> None:
    """Raise the error that an answer with a good status holds: beside the choices, or in the first of them."""
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else {}
    error = answer.get("error") or first.get("error")
    if error:
        raise fault({"error": error}, server)
    if answer.get("object") == "error":
        raise fault(answer, server)
    if first.get("finish_reason") == "error":
        msg = f"{server.name} broke off its answer with finish_reason 'error'"
        raise ProviderError(msg)


def not_a_completion(server: Server, why: str, body: bytes | str) -> ProviderError:
    """The error for an answer that is something else."""
    return unfit(server, COMPLETION, why, body)


def unfit(server: Server, wanted: str, why: str, body: bytes | str) -> ProviderError:
    """The error for an answer that is not what was `wanted`; its status is 200, so that it is not asked for again."""
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
    what = f"{server.name} sent no {wanted} ({why}): {server.excerpt(text) or 'an empty body'}"
    return ProviderError(what, status=200, hint=f"check base_url in [{server.table}]; it ends in /v1 as a rule")


def read_object(body: bytes, server: Server, wanted: str) -> Mapping[str, Any]:
    """The JSON object that is the whole answer; raises the error that it holds, or `unfit` where it is none."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise unfit(server, wanted, "it is not JSON", body) from None
    if not isinstance(answer, dict):
        raise unfit(server, wanted, "it is not an object", body)
    raise_error_in(answer, server)
    return answer


def _completed(answer: Mapping[str, Any], server: Server) -> Reply:
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices:
        raise not_a_completion(server, "no choices", json.dumps(answer))
    choice = next((one for one in choices if isinstance(one, dict) and one.get("index") == 0), choices[0])
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        raise not_a_completion(server, "no message in its first choice", json.dumps(answer))
    return message_reply(
        message,
        server,
        finish_reason=choice.get("finish_reason"),
        usage=read_usage(answer.get("usage")),
        model=answer.get("model"),
    )


def _thought(thinking: Any) -> str:
    if isinstance(thinking, str):
        return thinking
    parts = [part for part in thinking if isinstance(part, dict)] if isinstance(thinking, list) else []
    return "".join(part["text"] for part in parts if isinstance(part.get("text"), str))


def _call(call: Any, server: Server) -> ToolCall:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str) or not function["name"]:
        raise not_a_completion(server, "a tool call without a name", str(call))
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        arguments = "" if arguments is None else json.dumps(arguments, ensure_ascii=False)
    identity = call.get("id")
    return ToolCall("" if identity is None else str(identity), function["name"], mended(arguments) or "{}")


def _blank(value: Any) -> bool:
    """Whether nothing is said: empty, or a record of nothing but empty values."""
    return not value or (isinstance(value, dict) and all(_blank(inner) for inner in value.values()))


def _first(counts: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        value = counts.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return int(value)
    return None
