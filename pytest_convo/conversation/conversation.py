"""A conversation directory as it is played: the messages that are given, and the turns that the bot answers."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import ConvoError, FormatError, FormatErrors
from . import scan as scanning
from .findings import Findings
from .holes import Regenerate, turns
from .lint import lint
from .load import Placed, load
from .message import Message
from .scan import Scan

ANSWERED = "already answered; set regenerate"


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages of a directory by index, and the turns that the bot answers.

    A turn that the bot took with tools is several messages at one index: calls, results, and last the answer.
    """

    path: Path
    messages: Mapping[int, tuple[Message, ...]]
    turns: tuple[int, ...]
    approved: Mapping[int, Message] = field(default_factory=dict)
    """The answers that stand at turns which the bot answers again."""
    unwritten: tuple[str, ...] = ()
    """The blank user files at the end, before which the conversation ends."""

    @property
    def skip_reason(self) -> str:
        """Why there is nothing to answer; empty where there is."""
        if self.turns:
            return ""
        return f"{self.unwritten[0]} is not written yet" if self.unwritten else ANSWERED

    def history(self, index: int, answered: Mapping[int, tuple[Message, ...]]) -> tuple[Message, ...]:
        """The messages before `index`; what was `answered` in this run stands in place of what was approved.

        `LookupError` for a turn before `index` that is not answered yet.
        """
        missing = [turn for turn in self.turns if turn < index and turn not in answered]
        if missing:
            msg = f"turn {missing[0]} is not answered yet, and turn {index} needs its answer"
            raise LookupError(msg)
        said = {**self.messages, **answered}
        return tuple(message for at in sorted(said) if at < index for message in said[at])


def read(
    directory: str | os.PathLike[str],
    *,
    variables: Mapping[str, Any],
    regenerate: Regenerate = "holes",
    scan: Scan | None = None,
) -> Conversation:
    """Read the conversation in `directory`, whose templates are rendered with `variables`.

    `scan` is the directory's, where it is known already. Raises `FormatErrors` with everything that is wrong with its
    files, and with `regenerate`.
    """
    files = scanning.scan(directory) if scan is None else scan
    found = Findings()
    found.errors.extend(files.errors)
    if not files.is_conversation and not files.errors:
        found.errors.append(_nothing_here(directory))
    placed = load(files, directory, variables, found)
    if _calls_are_known(files, placed):
        found.errors.extend(lint(placed))
    placed, unwritten = _written(placed, found)
    found.raise_all()
    messages = _by_index(placed)
    answers = _turns(directory, files, messages, regenerate)
    approved = {index: messages[index][-1] for index in answers if index in messages}
    return Conversation(Path(directory), messages, answers, approved, unwritten)


def _nothing_here(directory: str | os.PathLike[str]) -> FormatError:
    msg = "no message files are here" if Path(directory).is_dir() else "there is no such directory"
    return FormatError(msg, path=os.fspath(directory), hint="a conversation begins with a file 0000_user.md")


def _calls_are_known(files: Scan, placed: Sequence[Placed]) -> bool:
    """Whether every file that may call or answer could be read, so that a call without a result has really none."""
    loaded = {one.index for one in placed} | _unfinished(files).keys()
    return all(file.index in loaded or file.role in ("system", "user") for file in files.files)


def _unfinished(files: Scan) -> dict[int, str]:
    """The indexes at which steps stand without the answer that they led to, and the names of their files."""
    answered = {file.index for file in files.files if not file.is_steps}
    return {file.index: file.name for file in files.files if file.is_steps and file.index not in answered}


def _written(placed: list[Placed], found: Findings) -> tuple[list[Placed], tuple[str, ...]]:
    """The messages without the blank ones of the user at the end, whose names come second; others are an error."""
    end = len(placed)
    while end and placed[end - 1].blank and placed[end - 1].message.role == "user":
        end -= 1
    for one in placed[:end]:
        if one.blank and one.message.role == "user":
            hint = "write it or delete it; if an empty message is meant, say so in a .yaml: `content: ''`"
            found.errors.append(one.origin.error("is blank, and messages follow it", hint=hint))
    return placed[:end], tuple(Path(one.origin.path or "").name for one in placed[end:])


def _by_index(placed: Sequence[Placed]) -> dict[int, tuple[Message, ...]]:
    messages: dict[int, tuple[Message, ...]] = {}
    for one in placed:
        messages[one.index] = (*messages.get(one.index, ()), one.message)
    return messages


def _turns(
    directory: str | os.PathLike[str],
    files: Scan,
    messages: Mapping[int, tuple[Message, ...]],
    regenerate: Regenerate,
) -> tuple[int, ...]:
    roles = {index: several[-1].role for index, several in messages.items()}
    calling = {index for index, several in messages.items() if several[-1].tool_calls}
    try:
        answers = turns(roles, regenerate, calling=calling)
    except ConvoError as error:
        error.path = os.fspath(directory)
        raise FormatErrors((error,)) from None
    lost = [Path(directory, name) for index, name in _unfinished(files).items() if index not in answers]
    if lost:
        msg = "these steps lead to no answer, and the bot answers no turn here"
        hint = "write the answer they led to as NNNN_assistant.md, or delete them"
        raise FormatErrors([FormatError(msg, path=path, hint=hint) for path in lost])
    return answers
