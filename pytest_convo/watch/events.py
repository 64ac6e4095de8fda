"""What the system tells of changes in directories: hints with paths, from watchdog's threads to one reader.

A watcher must not lose an edit. Whatever may have been missed is looked for, where a root has gone and come back, where
events were dropped because there were too many, where watchdog complains of anything: then the hint is the root.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from .observer import Observer, refused
from .roots import Root

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent

Kind = Literal["created", "modified", "moved", "deleted", "closed", "touched"]
"""`moved`: from this path, or to it. `closed`: by who had it open to write. `touched`: its mode or its times."""

ROUND = 0.5
"""Seconds between two looks whether the roots are still what is watched: their directories can be moved or replaced."""

LOCK = "index.lock"
"""The file that git has in its directory while it writes a work tree."""


@dataclass(frozen=True, slots=True)
class Hint:
    """What may have happened to a file or a directory, and when, by the monotonic clock."""

    path: Path
    kind: Kind
    at: float


class Events:
    """Listens to directories; `wake` is called from other threads when there is something to `take`.

    `polling`: seconds between two looks, for network and container mounts of which the system tells nothing; without it
    the system's own events. Raises `CannotWatch` where the system refuses these. What lies in hidden directories and in
    other people's packages is not listened to, unless it is named.
    """

    def __init__(self, wake: Callable[[], None], *, polling: float | None = None) -> None:
        self._wake = wake
        self._hints: deque[Hint] = deque()
        self._roots: dict[str, Root] = {}
        self._stale = threading.Event()
        self._closed = threading.Event()
        self._again = 0
        self._polling = polling
        self._observer = Observer(self._hear, self._complained, polling=polling)
        self._rounds = threading.Thread(target=self._go_round, name="convo-watch-roots", daemon=True)
        self._rounds.start()

    def watch(self, paths: Iterable[Path]) -> None:
        """Listen to directories, with all that is below them, and to files; what is listened to already stays so.

        A file need not be there yet, its directory must. Raises `CannotWatch` where the system refuses, or where there
        is no such directory.
        """
        for path in map(os.path.abspath, paths):
            if os.path.isdir(path):
                self._watch(path, recursive=True)
                self._watch_lock(path)
            else:
                self._watch(os.path.dirname(path), recursive=False, name=os.path.basename(path))

    def take(self) -> list[Hint]:
        """The hints since the last call, in their order."""
        if self._stale.is_set():
            self._stale.clear()
            self._renew()
        return [self._hints.popleft() for _ in range(len(self._hints))]

    @property
    def lost(self) -> list[Path]:
        """The directories that have gone; they are watched again when they come back."""
        return [Path(root.path) for root in self._roots.values() if root.lost]

    def close(self) -> None:
        """Stop listening; no thread is left."""
        self._closed.set()
        self._rounds.join()
        self._observer.close()

    def _watch(self, path: str, *, recursive: bool, name: str = "") -> None:
        if any(root.covers(os.path.join(path, name or "x")) for root in self._roots.values()):
            return
        known = self._roots.get(path)
        if known is not None and not recursive:
            known.names.add(name)
            return
        if known is not None:
            known.forget()
        root = Root(path, recursive, {name}, self._observer)
        try:
            root.listen()
        except OSError as error:
            raise refused(path, error) from None
        self._roots[path] = root

    def _watch_lock(self, directory: str) -> None:
        """Hear when git begins to write the work tree that the directory is in, and when it is done."""
        git = _git_directory(directory)
        if git is not None:
            self._watch(git, recursive=False, name=LOCK)

    def _go_round(self) -> None:
        """Look now and then whether the roots are what they were: no event tells that one was moved with its parent."""
        while not self._closed.wait(ROUND):
            if self._observer.broken or any(root.is_stale() for root in list(self._roots.values())):
                self._stale.set()
                self._wake()
            if self._again:
                self._again -= 1
                self._look_at_everything()

    def _renew(self) -> None:
        """Listen to what is at the roots' paths now; what happened there meanwhile is to be looked for."""
        if self._observer.broken:
            self._observer.close()
            self._observer = Observer(self._hear, self._complained, polling=self._polling)
            for root in self._roots.values():
                root.move_to(self._observer)
        for root in self._roots.values():
            was_lost = root.lost
            try:
                new = root.listen()
            except OSError:  # a later round finds it, see `lost`
                for path in () if was_lost else root.meant():
                    self._hint(path, "deleted")
                continue
            for path in new if root.recursive else root.meant() if new else ():
                self._hint(path, "created")

    def _hear(self, event: FileSystemEvent) -> None:
        """Take in an event, in watchdog's thread."""
        kind = _KINDS.get(event.event_type)
        if kind is None or (kind == "modified" and event.is_directory):
            return
        paths = [os.fsdecode(path) for path in (event.src_path, event.dest_path) if path]
        if any([self._heard(path, kind, is_directory=event.is_directory) for path in paths]):  # noqa: C419 each is heard
            self._wake()

    def _heard(self, path: str, kind: Kind, *, is_directory: bool) -> bool:
        """Note a hint down if it is about something that is watched."""
        for root in list(self._roots.values()):
            own = root.own(path)
            if own is not None:
                if is_directory and root.is_piece(own):
                    self._stale.set()
                self._hint(own, kind)
                return True
        return False

    def _complained(self) -> None:
        """Events were lost, and watchdog may be about to watch anew: look now, and when it has done so."""
        self._again = 2
        self._look_at_everything()

    def _look_at_everything(self) -> None:
        for root in list(self._roots.values()):
            for path in root.meant():
                self._hint(path, "created")
        self._wake()

    def _hint(self, path: str, kind: Kind) -> None:
        self._hints.append(Hint(Path(path), kind, time.monotonic()))


_KINDS: dict[str, Kind] = {
    "created": "created",
    "modified": "modified",
    "moved": "moved",
    "deleted": "deleted",
    "closed": "closed",
    "attrib": "touched",
}


def _git_directory(directory: str) -> str | None:
    """Where git keeps the index of the work tree that a directory is in; None outside of any."""
    above = Path(directory)
    git = next((found for found in (path / ".git" for path in (above, *above.parents)) if found.exists()), None)
    if git is None or git.is_dir():
        return None if git is None else str(git)
    try:
        told = git.read_text().strip().removeprefix("gitdir:").strip()  # a work tree beside its repository
    except (OSError, UnicodeDecodeError):
        return None
    linked = os.path.normpath(git.parent / told)
    return linked if os.path.isdir(linked) else None
