"""`convo_snapshot`: syrupy's snapshots of what was said, one for all runs of a group."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.location import PyTestLocation

from ..errors import ConvoError
from ..redaction import Redactor
from ..run.redact import REDACTOR
from ..run.session import RUN
from .naming import file_name
from .portrait import Alike, Portrait, equivalence, matches, portrait, read, write
from .spec import redactor_at
from .state import of

if TYPE_CHECKING:
    from ..run.ledger import Ledger

_RUN = re.compile(r"(?<=\.)run-\d+$")


class TranscriptExtension(SingleFileSnapshotExtension):
    """Keeps each snapshot as YAML in a file of its own, `__snapshots__/<module>/<test>.run.yaml`."""

    file_extension = "yaml"
    _write_mode = WriteMode.TEXT
    like: Alike | None = None
    """By what texts are compared; None for equality."""

    def serialize(self, data: Portrait, **_: Any) -> str:
        return write(data)

    def matches(self, *, serialized_data: Any, snapshot_data: Any) -> bool:
        return matches(read(snapshot_data), read(serialized_data), self.like)

    def diff_lines(self, serialized_data: Any, snapshot_data: Any) -> Iterator[str]:
        """Line by line, the snapshot in our own hand: what was only written otherwise is no difference."""
        kept = read(snapshot_data)
        return super().diff_lines(serialized_data, write(kept) if isinstance(kept, dict | list) else snapshot_data)

    @classmethod
    def get_snapshot_name(cls, *, test_location: PyTestLocation, index: int | str = 0) -> str:
        """All runs share one name. It ends in `run`: syrupy takes `run-1` for a test of that name when it tidies up."""
        further = f"[{index}]" if isinstance(index, str) else f".{index}" if index else ""
        return file_name(_RUN.sub("run", test_location.snapshot_name), "()[]") + file_name(further, "()[]")

    @classmethod
    def matches_test_location(cls, *, test_location: PyTestLocation, snapshot_location: str) -> bool:
        """Whether the file is one of the test's; syrupy's own answer knows nothing of names that were shortened."""
        path, name = Path(snapshot_location), cls.get_snapshot_name(test_location=test_location)
        here = path.parent == Path(cls.dirname(test_location=test_location))
        return here and _is_of(path.stem, name)


class Location(PyTestLocation):
    """A test, for syrupy; one that knows its snapshots' names, though they were shortened."""

    def matches_snapshot_name(self, snapshot_name: str) -> bool:
        return _is_of(snapshot_name, TranscriptExtension.get_snapshot_name(test_location=self))


class ConvoSnapshot(SnapshotAssertion):
    """Equal to what was said where that is what the snapshot holds: `assert convo == convo_snapshot`.

    While snapshots are updated, each is in the hands of the first run of a group that comes to it. The other runs
    leave it to that one and pass, so that the last to come does not overwrite what the first one wrote.
    """

    def __call__(  # type: ignore[override]
        self, *, name: str | None = None, alike: str | Alike | None = None
    ) -> ConvoSnapshot:
        """This snapshot, for one comparison: under a `name` in place of its number, by an equivalence of texts.

        `alike` is "normalized", "json", "similar", or a function of the snapshot's text and the one that was said.
        """
        if alike is not None:
            self._compare_by(equivalence(alike))
            self._post_assert_actions.append(lambda: self._compare_by(None))
        super().__call__(name=name)
        return self

    def _compare_by(self, like: Alike | None) -> None:
        self.extension.like = like  # type: ignore[attr-defined]

    def _assert(self, data: object) -> bool:
        said = _redactor(self.test_location.item).deep(portrait(data))
        claim = f"snapshot {self.extension.get_location(test_location=self.test_location, index=self.index)}"
        if self._is_left_to_another_run(claim):
            self._executions += 1
            self._post_assert()
            return True
        holds = super()._assert(said)
        if not holds and (ledger := self._ledger) is not None:
            ledger.release(claim)  # it could not be written, or not even be compared: the next run may try
        return holds

    def _is_left_to_another_run(self, claim: str) -> bool:
        ledger = self._ledger
        if ledger is None:
            return False
        if not self.update_snapshots and self._recall_data(index=self.index)[0] is not None:
            return ledger.noted(claim) is not None  # a run of this session has added it; else it stood there before
        if not ledger.claim(claim):
            return True
        ledger.note(claim, "")
        return False

    @property
    def _ledger(self) -> Ledger | None:
        """Where runs of a group tell each other which of them has a snapshot; None where none is to be written."""
        updates = self.update_snapshots or self.update_new_snapshots_only
        item = self.test_location.item
        return of(item.config).runs.ledger if updates and RUN in item.stash else None


def snapshot(item: pytest.Item) -> ConvoSnapshot:
    """The snapshot of a test; `ConvoError` where syrupy's plugin is switched off."""
    session = getattr(item.config, "_syrupy", None)
    if session is None:
        of(item.config)  # where there is a session of ours its errors are shown without a traceback
        msg = "`convo_snapshot` needs syrupy's plugin, which is not loaded"
        raise ConvoError(
            msg, hint="take out `-p no:syrupy`; where plugins are not loaded by themselves, add `-p syrupy`"
        )
    return ConvoSnapshot(
        session=session,
        extension_class=TranscriptExtension,
        test_location=Location(item),
        update_snapshots=item.config.option.update_snapshots,
        update_new_snapshots_only=item.config.option.update_new_snapshots_only,
    )


def _is_of(snapshot_name: str, name: str) -> bool:
    """Whether a snapshot is the first of a test with that name, or a further one."""
    return snapshot_name == name or snapshot_name.startswith((f"{name}.", f"{name}["))


def _redactor(item: pytest.Item) -> Redactor:
    known = item.stash.get(REDACTOR, None)
    return (redactor_at(of(item.config), item.path.parent) if known is None else known).now()
