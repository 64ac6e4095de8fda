"""From message files to messages: the files of one index become one message, at every index."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .document import Document
from .findings import Findings
from .message import Message
from .names import FileName
from .text import read_text

if TYPE_CHECKING:
    from .formats import Place
    from .records import Record
    from .scan import Scan


@dataclass(frozen=True, slots=True)
class Placed:
    """A message at its index, and where it comes from: `place` in the file `origin`."""

    index: int
    message: Message
    origin: Document
    place: Place = ()
    blank: bool = False
    """Whether it comes from text files in which nothing is written yet."""


def load(scan: Scan, directory: str | os.PathLike[str], variables: Mapping[str, Any], found: Findings) -> list[Placed]:
    """The messages of a directory, in order; what is wrong with a file goes to `found`, and its index is left out.

    At every index data files give the fields, in name order, a later one over an earlier one; text files give the
    content, in name order, joined by a blank line, blank ones left out. A turn with a steps file becomes its steps
    and then the answer; steps without an answer are nothing: that turn is still to be answered.
    """
    placed: list[Placed] = []
    for _, group in groupby(scan.files, key=lambda file: file.index):
        files = list(group)
        if all(file.role == files[0].role for file in files):  # otherwise the scan has an error already
            with found:
                placed.extend(_turn(files, os.fspath(directory), variables))
    return placed


def _turn(files: Sequence[FileName], directory: str, variables: Mapping[str, Any]) -> list[Placed]:
    if len(files) == 1 and files[0].is_text:
        return [_from_texts(files, directory, [_text(files[0], directory, variables)])]
    found = Findings()
    texts: list[str] = []
    records: list[Record] = []
    steps: list[Placed] = []
    for file in files:
        with found:
            if file.is_text:
                texts.append(_text(file, directory, variables))
            elif file.is_steps:
                steps.extend(_steps(file, directory, variables, steps))
            else:
                records.extend(_records(file, directory, variables))
    found.raise_all()
    if records:
        return [*steps, _from_records(files[0].index, records, texts)]
    return [*steps, _from_texts(files, directory, texts)] if texts else []


def _text(file: FileName, directory: str, variables: Mapping[str, Any]) -> str:
    return read_text(f"{directory}/{file.name}", variables=variables, template=file.template)


def _records(file: FileName, directory: str, variables: Mapping[str, Any]) -> Sequence[Record]:
    from .records import read_records

    return read_records(f"{directory}/{file.name}", file, variables)


def _steps(file: FileName, directory: str, variables: Mapping[str, Any], before: Sequence[Placed]) -> list[Placed]:
    records = _records(file, directory, variables)
    if before:
        msg = f"the steps of this turn stand in {Path(before[0].origin.path or '').name} already"
        raise records[0].document.error(msg, hint="keep one of the two files")
    return [Placed(file.index, Message(step.role, **step.fields), step.document, step.place) for step in records]


def _from_texts(files: Sequence[FileName], directory: str, texts: Sequence[str]) -> Placed:
    written = [text for text in texts if text and not text.isspace()]
    content = "\n\n".join(written) if written else texts[0]
    first = next(file for file in files if file.is_text)
    origin = Document(f"{directory}/{first.name}", None)
    return Placed(first.index, Message(first.role, content), origin, blank=not written)


def _from_records(index: int, records: Sequence[Record], texts: Sequence[str]) -> Placed:
    from .records import Record, require_content

    fields: dict[str, Any] = {}
    for record in records:
        if texts and "content" in record.fields:
            msg = "gives a content, and so does a text file of this index"
            raise record.document.error(msg, ("content",), "keep one of the two")
        fields.update(record.fields)
    if texts:
        fields["content"] = "\n\n".join(text for text in texts if text and not text.isspace())
    origin = next((one for one in reversed(records) if {"tool_calls", "tool_call_id"} & one.fields.keys()), records[0])
    require_content(Record(origin.role, fields, origin.document))
    return Placed(index, Message(origin.role, **fields), origin.document, origin.place)
