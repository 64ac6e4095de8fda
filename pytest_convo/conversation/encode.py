"""The bytes of a text file that is read as exactly a given text."""

from __future__ import annotations

import codecs


class Unwritable(Exception):
    """The text, or its file, cannot be written, and why."""


def encode(text: str) -> bytes:
    """The file that is read as exactly this text: one newline more than it has, and one byte-order mark more.

    `Unwritable` where no text file is.
    """
    if "\0" in text:
        msg = "the answer holds a NUL, which no text file may"
        raise Unwritable(msg)
    try:
        data = text.encode()
    except UnicodeEncodeError:
        msg = "the answer holds half of a surrogate pair, which is no character"
        raise Unwritable(msg) from None
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    return mark + data + (b"\r\n" if data.endswith(b"\r") else b"\n")
