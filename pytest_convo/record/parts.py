"""The texts that requests consist of, each kept once, in a file named by its digest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from .digest import digest_of
from .disk import write_whole

FOLDER = "parts"
"""Below `__recordings__`."""


class Parts:
    """The texts below one `__recordings__`.

    A file holds a text verbatim, and a final newline that is not part of it; or, where UTF-8 has no way to write the
    text, its JSON.
    """

    def __init__(self, root: Path) -> None:
        self.folder = root / FOLDER

    def text(self, digest: str) -> str | None:
        """The text of this digest; None where it is not kept, or where its file was edited."""
        found = self.as_kept(digest)
        return found if found is not None and digest_of(found) == digest else None

    def as_kept(self, digest: str) -> str | None:
        """What there is in the place of this text: formatters, for instance, may have edited its file."""
        data = self._data(digest)
        if data is None:
            return None
        text = data.decode(errors="replace").removesuffix("\n")
        return text if digest_of(text) == digest else _from_json(text)

    def keep(self, texts: Mapping[str, str]) -> None:
        """Have each of `texts`, by their digests, in its file."""
        for digest, text in texts.items():
            data = f"{_writable(text)}\n".encode()
            if self._data(digest) != data:
                write_whole(self._path(digest), data)

    def _path(self, digest: str) -> Path:
        return self.folder / f"{digest}.md"

    def _data(self, digest: str) -> bytes | None:
        try:
            return self._path(digest).read_bytes()
        except FileNotFoundError:
            return None


def _writable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(text)
    return text


def _from_json(text: str) -> str:
    """The text whose JSON this is; what is none is left as it is."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, str) else text
