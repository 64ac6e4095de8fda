"""Files that are there whole or not at all, whoever else writes them."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from ..errors import HarnessError


def write_whole(path: Path, data: bytes) -> None:
    """Put `data` into the file at `path`: who reads it sees all of it, or what was there before.

    Several processes may write the same file at once; the last one's stays. `HarnessError` where it cannot be written.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            unfinished.write_bytes(data)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        msg = f"cannot be written: {error.strerror or error}"
        raise HarnessError(msg, path=path, hint="recordings are kept beside the conversation") from None
