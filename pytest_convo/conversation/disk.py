"""Files as bytes and as strict UTF-8, with errors that say where and what to do."""

from __future__ import annotations

import codecs
import hashlib
import io
import os
import stat

from ..errors import FormatError

INSTEAD: dict[str, str] = {}
"""Texts that are read in the place of files, by the files' real paths: a prompt that is tried out stands in no file.

Of the whole process: whoever fills it has a process of his own, which reads nothing before.
"""


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """What the file at `path` holds; `FormatError` where it cannot be read or is no regular file."""
    try:
        with io.FileIO(path, opener=_open_at_once) as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return file.readall()
        reason = "it is not a regular file"
    except OSError as error:
        reason = error.strerror or str(error)
    except ValueError as error:  # a NUL, or half a surrogate pair, in the path
        reason = str(error)
    msg = f"cannot be read: {reason}"
    raise FormatError(msg, path=os.fspath(path), hint="put a readable file in its place")


def digest(data: bytes) -> str:
    """What tells this content of a file from any other: BLAKE2b, 16 bytes, in hexadecimal digits."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def read_utf8(path: str | os.PathLike[str]) -> str:
    """The content of a file: its text verbatim, but for a byte-order mark and one final newline.

    The final newline may be LF or CRLF; line ends within the text stay as they are. `FormatError` for what is not
    UTF-8 and for NUL, with the line.
    """
    if INSTEAD and (text := INSTEAD.get(os.path.realpath(path))) is not None:
        return _without_end(text)
    data = read_bytes(path)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise _at(path, data, 0, "is UTF-16, not UTF-8")
    if (nul := data.find(b"\0")) >= 0:
        raise _at(path, data, nul, "holds a NUL byte")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise _at(path, data, error.start, f"is not UTF-8: byte 0x{data[error.start]:02x}") from None
    return _without_end(text.removeprefix("\ufeff"))


def _without_end(text: str) -> str:
    """Without one final newline."""
    return text[: -2 if text.endswith("\r\n") else -1] if text.endswith("\n") else text


def _open_at_once(path: str, flags: int) -> int:
    # Without O_NONBLOCK the open of a named pipe waits for somebody who writes.
    return os.open(path, flags | os.O_NONBLOCK)


def _at(path: str | os.PathLike[str], data: bytes, place: int, what: str) -> FormatError:
    line = data.count(b"\n", 0, place) + 1
    return FormatError(what, path=os.fspath(path), line=line, hint="save it as UTF-8 text")
