"""The file of an approved reply: which one it is, what stands in it, and how it is written."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ..conversation.encode import Unwritable, encode
from ..conversation.findings import Findings
from ..conversation.load import load
from ..conversation.names import FileName, message_name
from ..conversation.scan import Scan, scan
from .plan import Standing


def look(directory: Path, index: int) -> tuple[Path, Standing]:
    """The file in which the approved reply of a turn stands, or would stand, and what stands there now."""
    files = [file for file in scan(directory).files if file.index == index]
    if not files:
        return _nothing_yet(directory / message_name(index, "assistant"))
    path = directory / files[0].name
    found = Findings()
    placed = load(Scan(tuple(files)), directory, {}, found)
    text = placed[-1].message.text if placed and not found.errors else None
    obstacle = _obstacle(files, path)
    if not obstacle and text is None:
        obstacle = f"it {found.errors[0].what}"
    return path, Standing(text, obstacle)


def write(path: Path, answer: str) -> None:
    """Put the answer into the file at `path`, whole or not at all; `Unwritable` where that cannot be done."""
    data = encode(answer)
    unfinished = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with unfinished.open("xb") as file:
            file.write(data)
        if path.exists():
            shutil.copymode(path, unfinished)
        unfinished.replace(path)
    except OSError as error:
        msg = f"it could not be written: {error.strerror or error}"
        raise Unwritable(msg) from None
    finally:
        with suppress(OSError):  # after an error or Ctrl-C; as a rule it has its name already
            unfinished.unlink()


def _nothing_yet(path: Path) -> tuple[Path, Standing]:
    return path, Standing(None, "what stands there is no file" if os.path.lexists(path) else "")


def _obstacle(files: Sequence[FileName], path: Path) -> str:
    """Why the files of a turn are not to be rewritten; empty where they are one plain text file of the bot's."""
    if files[0].role != "assistant":
        return f"it is the {files[0].role}'s"
    if steps := next((file for file in files if file.is_steps), None):
        return f"{steps.name} keeps the steps to another answer: delete both to approve a new one"
    if len(files) > 1:
        return f"{len(files)} files make up this reply: {', '.join(file.name for file in files)}"
    if files[0].template:
        return "it is a template"
    if not files[0].is_text:
        return "it is a record, with more than a text"
    if path.is_symlink():
        return "it is a symbolic link"
    return "" if os.access(path, os.W_OK) else "it is write-protected"
