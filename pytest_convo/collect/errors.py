"""What is wrong with a user's files, told as pytest tells it: a collection error of that directory alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ..errors import ConvoError, RedactionError
from ..run.told import relative


@contextmanager
def told_as_collect_error(config: pytest.Config, directory: Path) -> Iterator[None]:
    """Turn our errors into collection errors: the bare text, paths relative to the rootdir, no traceback, no secret."""
    try:
        yield
    except ConvoError as error:
        raise pytest.Collector.CollectError(told(error, config, directory)) from None
    except SystemExit as error:
        msg = f"a conftest or a file of checks called sys.exit({error.code!r}) while it was asked"
        raise pytest.Collector.CollectError(msg) from None


def told(error: ConvoError, config: pytest.Config, directory: Path) -> str:
    """The error about something in a directory as it may be shown."""
    from .spec import redactor_at
    from .state import of

    try:
        text = redactor_at(of(config), directory).after(()).text(str(error))
    except RedactionError as failure:
        text = f"withheld: {failure}"
    return relative(text, config)
