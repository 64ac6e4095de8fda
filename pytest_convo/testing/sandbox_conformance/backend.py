"""What the cases are given: a way to open sandboxes, and folders for them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ...sandbox.base import Environment, Sandbox, SandboxSpec

Unreachable = Callable[[], AbstractContextManager[Environment]]


class Backend:
    """An environment under test, with the spec of its sandboxes. A context manager, which ends all in the end.

    `make` makes the environment; one case also calls it in another process, so that it must be importable.
    """

    def __init__(
        self,
        make: Callable[[], Environment],
        spec: SandboxSpec | None = None,
        *,
        end: Callable[[Sandbox], None] | None = None,
        unreachable: Unreachable | None = None,
        restart: Callable[[], None] | None = None,
        many: int = 100_000,
    ) -> None:
        self.make = make
        self.spec = spec or SandboxSpec()
        self.end = end
        """Ends a sandbox from outside, as if the machine on which it runs were switched off."""
        self.unreachable = unreachable
        """An environment whose engine is not there."""
        self.restart = restart
        """Restarts the engine, on which nothing else should run."""
        self.many = many
        """How many files a large folder has; a multiple of 1000."""
        self._shared: Sandbox | None = None
        self._case = ExitStack()
        self._all = ExitStack()

    @cached_property
    def environment(self) -> Environment:
        environment = self.make()
        self._all.callback(environment.close)
        return environment

    @property
    def sandbox(self) -> Sandbox:
        """A sandbox that several cases use, none of which leaves anything that another would notice."""
        if self._shared is None:
            self._shared = self._all.enter_context(self._opened())
        return self._shared

    def open(self, **changes: Any) -> Sandbox:
        """A sandbox of this case's own, with other values in its spec; closed at the end of the case."""
        return self._case.enter_context(self._opened(**changes))

    def folder(self, files: Mapping[str, str] | None = None) -> Path:
        """A new folder with files, by their paths and texts; removed at the end of the case, with what is beside it."""
        folder = Path(self._case.enter_context(tempfile.TemporaryDirectory(prefix="convo-conformance-")), "folder")
        folder.mkdir()
        for name, text in (files or {}).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return folder

    @contextmanager
    def used(self) -> Iterator[None]:
        """For the time of a case; where it fails, the next one does not get the same sandbox."""
        with ExitStack() as self._case:
            try:
                yield
            except BaseException:
                self._shared = None
                raise

    def _opened(self, **changes: Any) -> Sandbox:
        return self.environment.open(self.environment.prepare(replace(self.spec, **changes)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._all.close()
