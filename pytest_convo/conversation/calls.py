"""The tool calls in a message record: in the API's form, or short as `{id, name, arguments}`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .document import Document, kind, shown
from .findings import Findings
from .formats import Place
from .message import ToolCall
from .names import did_you_mean

_FORM = "as `{id: call_1, name: lookup, arguments: {order: A17}}`"


def read_calls(value: Any, document: Document, place: Place) -> tuple[ToolCall, ...]:
    """The calls of an assistant's record; `FormatErrors` with all that is wrong with them."""
    if not isinstance(value, list | tuple) or not value:
        msg = f"tool_calls must be a list of calls, not {kind(value) if value != [] else 'an empty one'}"
        raise document.error(msg, place, _FORM)
    found = Findings()
    calls = []
    for number, call in enumerate(value):
        with found:
            calls.append(_call(call, document, (*place, number)))
    found.raise_all()
    return tuple(calls)


def _call(value: Any, document: Document, place: Place) -> ToolCall:
    if not isinstance(value, Mapping):
        msg = f"a call must be a mapping, not {kind(value)}"
        raise document.error(msg, place, _FORM)
    if "type" in value and value["type"] != "function":
        msg = f"unknown type {shown(value['type'])} of a call"
        raise document.error(msg, (*place, "type"), "known: function")
    function, inside = value, place
    if "function" in value:
        _known(value, ("id", "type", "function"), document, place)
        function, inside = value["function"], (*place, "function")
        if not isinstance(function, Mapping):
            msg = f"the function of a call must be a mapping, not {kind(function)}"
            raise document.error(msg, inside, "as `function: {name: lookup, arguments: '{}'}`")
    _known(
        function,
        ("name", "arguments") if "function" in value else ("id", "type", "name", "arguments"),
        document,
        inside,
    )
    id_ = _text("id", value, document, place)
    name = _text("name", function, document, inside)
    return ToolCall(id_, name, _arguments(function.get("arguments"), document, (*inside, "arguments")))


def _known(value: Mapping[str, Any], keys: Sequence[str], document: Document, place: Place) -> None:
    for key in value:
        if key not in keys:
            msg = f"unknown key {shown(key)} in a call"
            raise document.error(msg, (*place, key), did_you_mean(key, keys))


def _text(key: str, value: Mapping[str, Any], document: Document, place: Place) -> str:
    text = value.get(key)
    if isinstance(text, str) and text:
        return text
    if key not in value:
        msg = f"a call lacks its {key}"
        raise document.error(msg, place, _FORM)
    msg = f"the {key} of a call must be text, not {'empty' if text == '' else kind(text)}"
    raise document.error(msg, (*place, key), "put it in quotes" if text not in ("", None) else _FORM)


def _arguments(value: Any, document: Document, place: Place) -> str:
    """The JSON text of a call's arguments; a text stays exactly as it is, and a blank one means none."""
    if value is None:
        return "{}"
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False)
    if not isinstance(value, str):
        msg = f"the arguments of a call must be a mapping or its JSON text, not {kind(value)}"
        raise document.error(msg, place, _FORM)
    if value.strip() and not _is_json_object(value):
        msg = f"the arguments of a call are not a JSON object: {shown(value)}"
        raise document.error(msg, place, "write them as a mapping, or correct the JSON")
    return value


def _is_json_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
