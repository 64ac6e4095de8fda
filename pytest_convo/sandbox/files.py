"""Files in and out of a container, byte for byte, through commands alone.

The engine's own archives do not do: what is put into a tmpfs is lost without a word, a read-only container takes none.
All that is needed is a shell and `head`; `mkdir`, `rm` and `chmod` only where a directory is missing, a file is in the
way or shall be executable. One command takes one file, as `head` may read further than it was told and leave nothing to
the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..errors import SandboxError
from .base import KIB
from .command import READY
from .output import HeadTail

if TYPE_CHECKING:
    from .container import Container

# What $() takes away at the end, newlines, may be part of a name: hence the dot.
_BEGIN = 'printf %s "$1"; name=$(printf %b "$2."); name=${name%.}\n'

_READ = (
    _BEGIN
    + f"""[ -f "$name" ] && [ -r "$name" ] || exit {(_MISSING := 3)}
exec head -c "$3" <"$name"
"""
)

# Never through a link: what is there is removed, and `set -C` refuses what appears there meanwhile.
_WRITE = (
    _BEGIN
    + """[ -d "${name%/*}/" ] || mkdir -p "${name%/*}" || exit
if [ -e "$name" ] || [ -h "$name" ]; then rm -f "$name" || exit; fi
umask "$4"; set -C
head -c "$3" >"$name" || exit
[ -z "$5" ] || chmod "$5" "$name"
"""
)

_SECONDS = 120.0
_WORDS = 4 * KIB
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-")


class _Everything:
    """A sink that keeps all that it is given; whoever runs the command sees to it that this is not too much."""

    def __init__(self) -> None:
        self.data = bytearray()

    def add(self, data: bytes) -> None:
        self.data += data


def read(container: Container, path: str, limit: int, user: str) -> bytes:
    """The first `limit` bytes of a file; `FileNotFoundError` where there is none that `user` may read."""
    if "\0" in path:
        raise FileNotFoundError(path)
    content, error = _Everything(), HeadTail(_WORDS)
    arguments = _arguments(_READ, path, str(limit))
    ended = container.execute(arguments, b"", content, error, user=user, timeout=_SECONDS, most=limit + 64 * KIB)
    if ended.killed is None and ended.code == _MISSING:
        raise FileNotFoundError(path)
    if ended.killed or ended.code:
        raise SandboxError(_failed("read", path, ended.killed, error))
    return bytes(content.data[:limit])


def write(container: Container, files: Mapping[str, tuple[bytes, int]], user: str) -> None:
    """Put files, by absolute paths, with contents and modes, as `user`; `SandboxError` for the first that fails."""
    for path, (content, mode) in files.items():
        if not path.startswith("/") or path.endswith("/") or "\0" in path:
            msg = f"{path!r} is no absolute path of a file in the sandbox"
            raise SandboxError(msg)
        # A new file gets what the mask leaves of 0666: only for more is `chmod` needed, which an image may not have.
        mask, further = f"{0o777 & ~mode:04o}", f"{mode:04o}" if mode & ~0o666 else ""
        error = HeadTail(_WORDS)
        arguments = _arguments(_WRITE, path, str(len(content)), mask, further)
        ended = container.execute(arguments, content, HeadTail(0), error, user=user, timeout=_SECONDS, most=64 * KIB)
        if ended.killed or ended.code:
            raise SandboxError(_failed("written", path, ended.killed, error))


def _arguments(script: str, path: str, *further: str) -> list[str]:
    return ["sh", "-c", script, "convo", READY.decode(), _escaped(path), *further]


def _escaped(path: str) -> str:
    """A path as `printf %b` reads it: the engine's JSON does not carry names that are no UTF-8."""
    return "".join(chr(byte) if byte in _PLAIN else f"\\0{byte:03o}" for byte in path.encode(errors="surrogateescape"))


def _failed(done: str, path: str, killed: str | None, error: HeadTail) -> str:
    why = f"it took longer than {_SECONDS:g} s" if killed == "timeout" else error.text().strip() or "nothing says why"
    return f"{path} cannot be {done} in the sandbox: {why}"
