"""What a run tells of the prompts that took part in it, for whoever is to mend one of them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any

import pytest

from ..conversation.disk import digest, read_bytes
from ..texts import clip, plain

if TYPE_CHECKING:
    from ..conversation.message import Message
    from ..redaction import Redactor
    from .measure import Measurement, Spec

MOST_MESSAGES, MOST_CHARACTERS = 40, 8000
"""Messages of a run that are told, the last ones, and characters of each, head and tail."""


@dataclass
class Refinable:
    """The prompts that a test has read, and what is said of mending them."""

    prompts: list[Path] = field(default_factory=list)
    settings: Mapping[str, Any] = field(default_factory=dict)
    """`[refine]` of the test's directory, as builtins."""
    made_of: Mapping[str, Any] = field(default_factory=dict)
    """The other settings of that directory."""
    declared: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What the fixture `refine` was told, by the prompt's real path."""


REFINABLE = pytest.StashKey[Refinable]()
"""What an item says of prompts; made by the first of its fixtures that reads one."""


def refinable(
    item: pytest.Item, spec: Spec | None, measurement: Measurement | None, redactor: Redactor
) -> dict[str, Any]:
    """The prompts of a run, and what whoever rewrites one is shown of it; builtins only, and no secrets."""
    own = item.stash.get(REFINABLE, Refinable())
    prompts = [*own.prompts, *(spec.prompts if spec is not None else ())]
    said_of_it = (
        spec.settings.refine.model_dump(mode="json", exclude_unset=True, warnings=False) if spec is not None else {}
    )
    transcript = measurement.transcript if measurement is not None else None
    messages: Sequence[Message] = transcript.messages if transcript is not None else ()
    given = [message for several in spec.conversation.messages.values() for message in several] if spec else messages
    said: dict[str, Any] = {
        "inputs": [message.text for message in given if message.role == "user"],
        "expected": sorted(set(_expected(spec))),
        "literals": sorted(set(_literals(item))),
        "messages": [[message.role, _shown(message)] for message in messages if message.role != "system"],
    }
    said["messages"] = said["messages"][-MOST_MESSAGES:]
    return {
        "prompts": list(dict.fromkeys(map(os.path.realpath, prompts))),
        "directory": str(item.path.parent),
        "unit": f"{spec.directory}\n{spec.case or ''}" if spec is not None else item.nodeid.partition("::run-")[0],
        "settings": dict(own.settings) or said_of_it,
        "declared": own.declared,
        "tools": sorted({tool.name for tool in spec.declared()} if spec is not None else _called(messages)),
        "made_of": _made_of(item, spec),
        "asks_judge": spec is not None and spec.asking,
        **redactor.deep(said),
    }


def _made_of(item: pytest.Item, spec: Spec | None) -> str:
    """A digest of what an item is made of: its settings, or the file of the test; and of what judges an agent."""
    own = item.stash.get(REFINABLE, Refinable())
    about: list[Any] = [digest(read_bytes(item.path))] if item.path.suffix == ".py" else []
    about += [own.made_of, [digest(read_bytes(path)) for path in (*own.prompts, *(spec.prompts if spec else ()))]]
    if spec is not None:
        messages = sorted(spec.conversation.messages.items())
        about.append([[at, message.to_api()] for at, several in messages for message in several])
        about.append(spec.settings.model_dump(mode="json", exclude={"refine"}, warnings=False))
        about.append(dict(spec.player.identity) if spec.player is not None else {})
    return digest(json.dumps(about, sort_keys=True, default=str).encode())


def _literals(item: pytest.Item) -> Iterator[str]:
    """The texts that stand in a test itself, and in its parameters: what it asks, and what it wants to hear."""
    yield from _texts(getattr(getattr(item, "callspec", None), "params", None))
    codes = [code] if (code := getattr(getattr(item, "obj", None), "__code__", None)) is not None else []
    while codes:
        constants = codes.pop().co_consts
        codes += [constant for constant in constants if isinstance(constant, CodeType)]
        yield from _texts(list(constants))


def _expected(spec: Spec | None) -> Iterator[str]:
    """The texts that checks look for, and the approved replies."""
    if spec is None:
        return
    yield from _texts(spec.settings.expect.model_dump(exclude_defaults=True, warnings=False))
    for message in spec.conversation.approved.values():
        yield plain(message.text)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield plain(value)
    elif isinstance(value, Mapping):
        yield from _texts(list(value.values()))
    elif isinstance(value, list | tuple | set | frozenset):
        for one in value:
            yield from _texts(one)


def _called(messages: Iterable[Message]) -> set[str]:
    return {call.name for message in messages for call in message.tool_calls}


def _shown(message: Message) -> str:
    calls = (f"{call.name}({call.arguments})" for call in message.tool_calls)
    return clip(plain("\n".join(filter(None, (message.text, *calls)))), MOST_CHARACTERS)
