"""Parts of node ids as the names of files."""

from __future__ import annotations

import hashlib
import re

from ..redaction import Redactor

LONGEST = 100
"""Bytes of a name from which on it is shortened: disks take 255, and a path has several."""


def file_name(name: str, besides: str = "") -> str:
    """A part of a node id as the name of a file: one that every disk takes, of no other test, and without a secret.

    Letters, digits and `_.,=+-` stay as they are, and so do the characters `besides`.
    """
    plain = re.sub(rf"[^\w.,=+{re.escape(besides)}-]+", "-", Redactor.of_environment().text(name))
    if plain == name and len(name.encode()) <= LONGEST:
        return name
    digest = hashlib.sha256(name.encode(errors="backslashreplace")).hexdigest()[:8]
    return f"{plain.encode()[:LONGEST].decode(errors='ignore')}-{digest}"
