"""The file of one run's recording.

```yaml
version: 1
exchanges:
  - request: 9f0c...             the digest of the whole request
    model: gpt-4o-mini           as it was asked for, and the parameters of the request
    parameters:
      temperature: 0
    messages:                    role and digest of the text, which is in parts/<digest>.md
      - system: 3ba1...
      - user: 77d0...
    tools:
      lookup: c02e...
    reply:                       or `error`, where the bot failed at the request
      text: |-
        We refund within 30 days.
      finish_reason: stop
      model: gpt-4o-mini-2024-07-18
    usage:                       `billed` and `attempts` beside it where they say something else
      prompt_tokens: 12
      completion_tokens: 7
    seconds: 0.53
    when: 2026-05-04T10:11:12Z
```

An exchange with something in it that YAML cannot hold, half a surrogate pair for instance, stands there as JSON text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..conversation.disk import read_utf8
from ..conversation.document import Document, parse, shown
from ..conversation.formats import Place
from ..errors import FormatError
from .disk import write_whole
from .dump import Unwritable, dump
from .exchange import Exchange
from .reading import HINT, Fields, read_exchange

VERSION = 1


def read(path: Path) -> list[Exchange]:
    """The exchanges of the recording at `path`, in their order; none where there is no file.

    Raises `FormatError`, with the line, for what is no recording, or one of another version.
    """
    if not path.is_file():
        return []
    document = _parsed(path)
    _check_version(document)
    fields = Fields(document, document.value, (), ("version", "exchanges"))
    exchanges = fields.get("exchanges", list, "a list", ())
    return [_exchange(document, value, ("exchanges", number)) for number, value in enumerate(exchanges)]


def write(path: Path, exchanges: Sequence[Exchange]) -> None:
    """Write the recording of a run, whole or not at all; `HarnessError` where it cannot be written."""
    text = f"version: {VERSION}\nexchanges:{'' if exchanges else ' []'}\n"
    write_whole(path, (text + "".join(map(_text, exchanges))).encode())


def _parsed(path: Path) -> Document:
    text = read_utf8(path) + "\n"  # a block at the end of the file may have its final newline for content
    try:
        return parse(text, "yaml", str(path))
    except FormatError as error:
        error.hint = HINT
        raise


def _check_version(document: Document) -> None:
    """Before anything else: another version may have other keys."""
    version = document.value.get("version") if isinstance(document.value, dict) else None
    if version is None:
        msg = "is not a recording: it says no version"
        raise document.error(msg, (), HINT)
    if version != VERSION or isinstance(version, bool):
        msg = f"version {shown(version) if isinstance(version, str) else version} of recordings is not read here"
        hint = f"known: {VERSION}; update pytest-convo, or record it again with --convo-record=all"
        raise document.error(msg, ("version",), hint)


def _exchange(document: Document, value: Any, place: Place) -> Exchange:
    if not isinstance(value, str):
        return read_exchange(document, value, place)
    try:
        return read_exchange(document, json.loads(value), place)
    except ValueError as error:
        msg = f"is not the JSON of an exchange: {error}"
        raise document.error(msg, place, HINT) from None


def _text(exchange: Exchange) -> str:
    value = exchange.to_value()
    try:
        return dump([value], "  ")
    except Unwritable:
        return dump([json.dumps(value)], "  ")
