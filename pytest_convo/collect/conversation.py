"""A conversation directory as pytest nodes: its file, its cases, its runs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from .._compat import Skipped
from ..errors import ConvoError
from ..run.measure import Spec
from ..run.redact import REDACTOR
from ..run.session import RUN, Run
from ..run.told import relative
from .errors import told_as_collect_error
from .identity import of_conversation
from .spec import group, require_plain, specs_of_all
from .state import ORACLE_ALONE, of
from .waiting import wait_for


class ConvoWarning(pytest.PytestWarning):
    """Something in a conversation directory that is probably not meant so."""


def collect_file(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The collector of a directory's conversation, if `path` is the file that stands for it.

    That is `convo.toml`, or the first message file where there is none. Called for every file whose name could do.
    """
    state = of(parent.config)
    state.garbage.wait()
    scan = state.scan(path.parent)
    if path.name != scan.title:
        return None
    return ConversationFile.from_parent(parent, path=path)


class ConversationFile(pytest.File):
    """A conversation; the group of its runs where it has no cases."""

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        state = of(self.config)
        directory = self.path.parent
        scan = state.scan(directory)
        for miss in scan.near_misses:
            self.warn(ConvoWarning(f"{directory / miss.name}: not a message file: {miss.reason}"))
        state.broken.add(directory)
        with told_as_collect_error(self.config, directory):
            if not scan.is_conversation and not scan.errors:
                state.resolver.resolve(directory)  # it gives defaults to what lies below; is it sound?
                state.broken.remove(directory)
                return
            ids, found = specs_of_all(self, directory)
            for spec in found:
                require_plain(f"{self.nodeid}::{spec.case or ''}", spec.redactor, self.path)
        state.broken.remove(directory)
        for case, spec in zip(ids, found, strict=True):
            if case is None:
                yield from runs(self, spec)
            else:
                yield Case.from_parent(self, name=case, spec=spec)


class Case(pytest.Collector):
    """One case of a conversation: the group of its runs."""

    def __init__(self, *, spec: Spec, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.spec = spec

    def collect(self) -> Iterator[pytest.Item]:
        return runs(self, self.spec)


def runs(parent: pytest.Collector, spec: Spec, kind: type[ConversationRun] | None = None) -> Iterator[pytest.Item]:
    """The items of a group, one for each run that the settings ask for."""
    whole = group(of(parent.config), parent.nodeid, spec.settings, partial(of_conversation, spec), compares=True)
    if not spec.conversation.turns:
        whole.declared = 1
    for number in whole.numbers:
        item: pytest.Item = (kind or ConversationRun).from_parent(parent, name=f"run-{number}", spec=spec)
        item.stash[REDACTOR] = spec.redactor
        item.stash[RUN] = Run(whole, number, spec if is_played(parent.config, spec) else None, judged=True)
        yield item


def is_played(config: pytest.Config, spec: Spec) -> bool:
    """Whether there is anything to play, in this session: the oracle of tasks asks no model."""
    return bool(spec.conversation.turns) and (spec.player is not None or not of(config).options.oracle)


class ConversationRun(pytest.Item):
    """One run of a conversation: it passes when its checks hold."""

    def __init__(self, *, spec: Spec, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.spec = spec
        self.add_marker("convo")

    def runtest(self) -> None:
        if not self.spec.conversation.turns:
            raise Skipped(self.spec.conversation.skip_reason, _use_item_location=True)
        if not is_played(self.config, self.spec):
            raise Skipped(ORACLE_ALONE, _use_item_location=True)
        wait_for(self).raise_unless_passed()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, ConvoError):
            return relative(str(excinfo.value), self.config)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        # Line 0: pytest takes None for a bug where an item is skipped.
        case = f" {self.spec.case}" if self.spec.case else ""
        return self.path, 0, f"{self.path.parent.name}{case} {self.name}"
