import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

Content = str | bytes | Callable[[Path], object]


@pytest.fixture
def make(tmp_path) -> Callable[[Mapping[str, Content]], Path]:
    """Makes a directory of files; a function in place of a content is called with the path, to put something there."""

    def make(files: Mapping[str, Content], name: str = "convo") -> Path:
        directory = tmp_path / name
        directory.mkdir()
        for file, content in files.items():
            path = directory / file
            path.parent.mkdir(parents=True, exist_ok=True)
            if callable(content):
                content(path)
            else:
                path.write_bytes(content.encode() if isinstance(content, str) else content)
        return directory

    return make


@pytest.fixture
def non_utf8_name() -> str:
    return os.fsdecode(b"0000_us\xffer.md")
