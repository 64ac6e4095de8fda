"""The names of message files: `NNNN_role[_label].ext[.j2]`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ..errors import FormatError
from .message import ROLES, Role

TEXT = ("md", "txt")
"""Endings of files that are a message's content, verbatim."""

DATA = ("yaml", "yml", "json", "toml")
"""Endings of files that are a message's record."""

MAX_INDEX = 9999
STEPS = "steps"
"""The label of the file that keeps the calls and results on the way to an answer."""

_NAME = re.compile(rf"([0-9]{{4}})_({'|'.join(ROLES)})(?:_([a-z0-9-]+))?\.({'|'.join(TEXT + DATA)})(\.j2)?")
_ALIKE = re.compile(r"[0-9]{4}_([A-Za-z][A-Za-z0-9]*)(?:_[a-z0-9-]+)?\.([A-Za-z0-9]+)(?:\.j2)?")

# What editors leave behind, and what we have not finished; vim writes 4913 to see whether it may write at all.
_LEFTOVERS = (
    "~",
    "#",
    ".swp",
    ".swo",
    ".swx",
    ".orig",
    ".bak",
    ".tmp",
    ".new",
    ".partial",
    "___jb_tmp___",
    "___jb_old___",
)
_PROBE = "4913"


@dataclass(frozen=True, slots=True)
class FileName:
    """The name of a message file and its parts; `ext` is without the dot, `label` is empty where there is none."""

    name: str
    index: int
    role: Role
    label: str
    ext: str
    template: bool

    @property
    def is_text(self) -> bool:
        """Whether the file is a message's content, rather than its record."""
        return self.ext in TEXT

    @property
    def is_steps(self) -> bool:
        """Whether the file keeps the calls and results on the way to the answer."""
        return self.label == STEPS


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A file that starts with a digit and is no message file, and why; `name` can be printed everywhere."""

    name: str
    reason: str


def is_message_name(name: str) -> bool:
    """Whether `name` is that of a message file; cheaper than `parse`, for directories that are none of our business."""
    return _NAME.fullmatch(name) is not None


def is_leftover(name: str) -> bool:
    """Whether `name` is one that editors leave behind, or of a file that is not finished."""
    return name.endswith(_LEFTOVERS) or name == _PROBE


def parse(name: str) -> FileName | NearMiss | None:
    """The parts of a message file's name, or why it is none; None for names that are none of our business.

    Raises `FormatError` for an unknown role or an unknown extension in a name that matches otherwise, and for the
    label `steps` where it is not the bot's record. The error's path is the bare name.
    """
    if not name[:1].isascii() or not name[:1].isdigit() or is_leftover(name):
        return None
    match = _NAME.fullmatch(name)
    if match is None:
        return _judge(name)
    index, role, label, ext, template = match.groups()
    if label == STEPS and (role != "assistant" or ext not in DATA or ext == "toml"):
        msg = f"the label {STEPS!r} is kept for NNNN_assistant_{STEPS}.yaml, the calls and results of a turn"
        raise FormatError(msg, path=name, hint="choose another label")
    return FileName(name, int(index), role, label or "", ext, template is not None)  # type: ignore[arg-type]


def message_name(index: int, role: Role, label: str = "", ext: str = "md", *, template: bool = False) -> str:
    """The name of the file for these parts; `ValueError` where no file can have it."""
    name = f"{index:04}_{role}{'_' if label else ''}{label}.{ext}{'.j2' if template else ''}"
    if not is_message_name(name):
        msg = f"{name!r} is not the name of a message file"
        raise ValueError(msg)
    return name


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint that names the one of `known` that is nearest to `word`, if one is near, and lists them all."""
    import difflib

    choices = list(known)
    nearest = difflib.get_close_matches(word[:40].lower(), choices, n=1)
    return (f"did you mean {nearest[0]!r}? " if nearest else "") + f"known: {', '.join(choices)}"


def printable(name: str) -> str:
    """A file name in which bytes that are not UTF-8, and control characters, are written as escapes."""
    return name if name.isprintable() else repr(name)[1:-1]


def _judge(name: str) -> NearMiss:
    match = _ALIKE.fullmatch(name)
    if match is None:
        return NearMiss(printable(name), _reason(name))
    role, ext = match.groups()
    role_known, ext_known = role in ROLES, ext in TEXT + DATA
    if not role_known and not ext_known:
        return NearMiss(name, f"neither the role {role!r} nor the extension {ext!r} is known")
    if not role_known:
        msg = f"unknown role {role!r} in the file name"
        raise FormatError(msg, path=name, hint=did_you_mean(role, ROLES))
    msg = f"unknown extension {ext!r} in the file name"
    raise FormatError(msg, path=name, hint=f"{did_you_mean(ext, TEXT + DATA)}; each also with .j2 after it")


def _reason(name: str) -> str:
    digits = len(name) - len(name.lstrip("0123456789"))
    stem, dot, ext = name[digits:].partition(".")
    if digits != 4:
        return f"an index has four digits, this one has {digits}, as in 0000_user.md"
    if not name.isprintable():
        return "the name holds bytes that are not UTF-8, or control characters"
    if not stem.startswith("_"):
        return "the index is followed by _role and an extension, as in 0000_user.md"
    if not dot or not ext:
        return f"it has no extension; known: {', '.join(TEXT + DATA)}"
    if not _ALIKE.fullmatch(f"0000{stem}.md"):
        return "a label holds lower-case letters, digits and '-', as in 0000_user_part-1.md"
    return f"the extension {ext!r} is not known; known: {', '.join(TEXT + DATA)}, each also with .j2 after it"
