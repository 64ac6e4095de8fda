"""What is wrong with a user's files, told as pytest tells it: a collection error of that directory alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ..errors import ConvoError


@contextmanager
def told_as_collect_error(config: pytest.Config) -> Iterator[None]:
    """Turn our errors into collection errors: the bare text, paths relative to the rootdir, no traceback."""
    try:
        yield
    except ConvoError as error:
        raise pytest.Collector.CollectError(relative(str(error), config)) from None
    except SystemExit as error:
        msg = f"a conftest or a file of checks called sys.exit({error.code!r}) while it was asked"
        raise pytest.Collector.CollectError(msg) from None


def relative(text: str, config: pytest.Config) -> str:
    """The text with paths below the rootdir shortened."""
    return text.replace(f"{config.rootpath}{os.sep}", "")
