"""Data files: a message record each, or the steps of a turn.

    content: text, or a list of parts (parts.py)
    name: who speaks, or which tool
    tool_calls:                       # of the assistant
      - id: call_1
        name: lookup
        arguments: {order: A17}       # a mapping, or its JSON text; or the API's form:
      - {id: call_2, type: function, function: {name: lookup, arguments: '{"order": "A17"}'}}
    tool_call_id: call_1              # of a tool's result
    role: assistant                   # may be left out; must be the file name's
    extra: {reasoning: ...}           # of the assistant: what a provider added; never sent

`NNNN_assistant_steps.yaml` is a list of such records: each with its role, the assistant's calls and the tools' results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .calls import read_calls
from .document import Document, kind, parse, plain, shown
from .findings import Findings
from .formats import Place
from .message import ROLES, Content, Message, Role
from .names import FileName, did_you_mean
from .parts import read_part
from .text import read_text

KEYS = ("content", "name", "tool_calls", "tool_call_id", "role", "extra")
_OWNERS: dict[str, Role] = {"tool_calls": "assistant", "extra": "assistant", "tool_call_id": "tool"}


@dataclass(frozen=True, slots=True)
class Record:
    """The fields of a `Message` that a record gives, and where in which file it stands."""

    role: Role
    fields: Mapping[str, Any]
    document: Document
    place: Place = ()


def read_records(path: str, file: FileName, variables: Mapping[str, Any]) -> tuple[Record, ...]:
    """The records in a data file: one, or of steps each; `FormatErrors` with all that is wrong with them."""
    text = read_text(path, variables=variables, template=file.template)
    document = parse(text, file.ext, path, rendered=file.template)
    return _steps(document, path) if file.is_steps else (_record(document, (), document.value, file.role, path),)


def message_of(value: Mapping[str, Any]) -> Message:
    """The message that a record given from Python is, which must have a role; its paths start at the working directory.

    Raises `FormatErrors`.
    """
    document = plain(value)
    record = _record(document, (), value, _role(document, (), value), "")
    require_content(record)
    return Message(record.role, **record.fields)


def require_content(record: Record) -> None:
    """Raise `FormatError` for a record that says nothing and calls nothing."""
    if "content" not in record.fields and not record.fields.get("tool_calls"):
        msg = "has neither content nor tool_calls" if record.role == "assistant" else "has no content"
        raise record.document.error(msg, record.place, "add `content: ...`; an empty message is `content: ''`")


def _steps(document: Document, path: str) -> tuple[Record, ...]:
    if not isinstance(document.value, list) or not document.value:
        msg = f"must be a list of the turn's calls and results, not {kind(document.value)}"
        raise document.error(
            msg, hint="as `- {role: assistant, tool_calls: [...]}`, `- {role: tool, tool_call_id: ...}`"
        )
    found = Findings()
    steps = []
    for number, value in enumerate(document.value):
        with found:
            steps.append(_step(document, (number,), value, path))
    found.raise_all()
    return tuple(steps)


def _step(document: Document, place: Place, value: Any, path: str) -> Record:
    step = _record(document, place, value, _role(document, place, value), path)
    if step.role not in ("assistant", "tool"):
        msg = f"a step is the assistant's or a tool's, not the {step.role}'s"
        raise document.error(msg, (*place, "role"), "it belongs in a file of its own")
    if step.role == "assistant" and not step.fields.get("tool_calls"):
        msg = "a step of the assistant calls tools, and this one has no tool_calls"
        raise document.error(msg, place, "the final answer belongs in NNNN_assistant.md")
    require_content(step)
    return step


def _role(document: Document, place: Place, value: Any) -> Role:
    role = value.get("role") if isinstance(value, Mapping) else None
    if isinstance(value, Mapping) and role not in ROLES:
        msg = f"unknown role {shown(role)}" if "role" in value else "the record has no role"
        raise document.error(msg, (*place, "role"), did_you_mean(str(role), ROLES))
    return role or "assistant"


def _record(document: Document, place: Place, value: Any, role: Role, path: str) -> Record:
    if not isinstance(value, Mapping):
        msg = f"a message record must be a mapping, not {kind(value)}"
        raise document.error(msg, place, f"its keys: {', '.join(KEYS)}")
    found = Findings()
    fields: dict[str, Any] = {}
    for key, inner in value.items():
        with found:
            fields.update(_field(document, (*place, key), inner, role, path))
    found.raise_all()
    return Record(role, fields, document, place)


def _field(document: Document, place: Place, value: Any, role: Role, path: str) -> dict[str, Any]:
    """What one key of a record gives a `Message`; null is as if the key were not there."""
    key = place[-1]
    if key not in KEYS:
        msg = f"unknown key {shown(key)} in a message record"
        raise document.error(msg, place, did_you_mean(str(key), KEYS))
    if value is None:
        return {}
    if key == "role":
        return _same_role(document, place, value, role)
    owner = _OWNERS.get(key, role)
    if owner != role:
        msg = f"{key} belongs to a message of the {owner}, and this one is the {role}'s"
        raise document.error(msg, place, f"take it out, or name the file NNNN_{owner}")
    if key == "content":
        return {"content": _content(document, place, value, path)}
    if key == "tool_calls":
        return {"tool_calls": read_calls(value, document, place)}
    expected = Mapping if key == "extra" else str
    if not isinstance(value, expected) or not value:
        msg = f"{key} must be {'a mapping' if key == 'extra' else 'text'}, not {kind(value) if value else 'empty'}"
        raise document.error(msg, place, "put it in quotes" if key != "extra" else "as `extra: {reasoning: ...}`")
    return {key: value}


def _same_role(document: Document, place: Place, value: Any, role: Role) -> dict[str, Any]:
    if value != role:
        msg = f"the role {shown(value)} contradicts the file name's, {role!r}"
        raise document.error(msg, place, "take the line out: the file name says the role")
    return {}


def _content(document: Document, place: Place, value: Any, path: str) -> Content:
    if isinstance(value, str):
        return value
    if not isinstance(value, list | tuple) or not value:
        msg = f"content must be text or a list of parts, not {kind(value) if value != [] else 'an empty one'}"
        raise document.error(msg, place, "put it in quotes")
    found = Findings()
    parts = []
    directory = str(Path(path).parent)
    for number, part in enumerate(value):
        with found:
            parts.append(read_part(part, document, (*place, number), directory))
    found.raise_all()
    return parts
