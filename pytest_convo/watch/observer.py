"""What watchdog needs of us and tells us; it is imported here alone, and only once somebody watches."""

from __future__ import annotations

import errno
import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from ..errors import CannotWatch
from .interest import is_foreign

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent, FileSystemEventHandler
    from watchdog.observers.api import BaseObserver, ObservedWatch


class Observer:
    """Runs watchdog's threads; `hear` is called in one of them with each event, `complained` when something was lost.

    `polling`: seconds between two looks; None for the system's own events. Raises `CannotWatch` where the system
    refuses these.
    """

    def __init__(
        self, hear: Callable[[FileSystemEvent], None], complained: Callable[[], None], *, polling: float | None
    ) -> None:
        self._polling = polling
        self._handler = _handler(hear)
        self._complaints = _Complaints(complained)
        before = set(threading.enumerate())
        self._observer = _running(polling)
        self._threads = [thread for thread in threading.enumerate() if thread not in before and _is_watchdogs(thread)]
        logging.getLogger("watchdog").addHandler(self._complaints)
        # Directories that are made in one another are met twice; it minds, and as an error that would end its thread.
        warnings.filterwarnings("ignore", "Callback with id", RuntimeWarning)

    @property
    def by_directory(self) -> bool:
        """Whether the system takes a watch for every directory, so that none should be wasted."""
        return self._polling is None and sys.platform.startswith("linux")

    @property
    def broken(self) -> bool:
        """Whether one of the threads that all depends on has ended, by an error of watchdog's."""
        return not all(thread.is_alive() for thread in self._threads)

    @property
    def alive(self) -> set[ObservedWatch]:
        """The watches whose threads have not ended by themselves, as they do when their directory goes."""
        return {emitter.watch for emitter in self._observer.emitters if emitter.is_alive()}

    def schedule(self, path: str, *, recursive: bool) -> ObservedWatch:
        """Listen to a directory; OSError where that cannot be."""
        watch = self._observer.schedule(self._handler, path, recursive=recursive, event_filter=_event_types())
        if recursive and self.by_directory:
            # Watchdog passes over directories below it for which the system gave no watch: is there one left?
            self.unschedule(self._observer.schedule(self._handler, os.sep, event_filter=_event_types()))
        return watch

    def unschedule(self, watch: ObservedWatch) -> None:
        self._observer.unschedule(watch)

    def close(self) -> None:
        """Stop; no thread is left."""
        self._observer.stop()
        self._observer.join()
        logging.getLogger("watchdog").removeHandler(self._complaints)

    def inode(self, path: str) -> tuple[int, int] | None:
        """What tells a directory from any other at its path; None where there is none.

        A mount that is polled may number its directories as it likes.
        """
        try:
            status = os.stat(path)
        except OSError:
            return None
        return (status.st_dev, status.st_ino) if self._polling is None else (0, 0)


class _Complaints(logging.Handler):
    """Hears what watchdog has to warn of; nobody else needs to read that."""

    def __init__(self, complained: Callable[[], None]) -> None:
        super().__init__(logging.WARNING)
        self._complained = complained

    def emit(self, record: logging.LogRecord) -> None:
        # That one tells of a thread that we stopped, or that a look failed and is going to be taken again.
        if record.funcName != "queue_events":
            self._complained()


def _running(polling: float | None) -> BaseObserver:
    from watchdog import observers
    from watchdog.observers.polling import PollingObserverVFS

    try:
        observer: BaseObserver = (
            observers.Observer()
            if polling is None
            else PollingObserverVFS(stat=os.stat, listdir=_listed, polling_interval=polling)
        )
    except OSError as error:
        raise refused(None, error) from None
    observer.start()
    return observer


def _is_watchdogs(thread: threading.Thread) -> bool:
    from watchdog.utils import BaseThread

    return isinstance(thread, BaseThread)


def _listed(directory: str | None) -> Iterator[os.DirEntry[str]]:
    """What is looked at in a directory: nobody's files but the project's."""
    with os.scandir(directory) as entries:
        yield from (entry for entry in entries if not is_foreign(entry.name) or not entry.is_dir())


def _handler(hear: Callable[[FileSystemEvent], None]) -> FileSystemEventHandler:
    from watchdog.events import FileSystemEventHandler

    class Handler(FileSystemEventHandler):
        def dispatch(self, event: FileSystemEvent) -> None:
            hear(event)

    return Handler()


@cache
def _event_types() -> list[type[FileSystemEvent]]:
    """The events that are asked for: of others, such as that a file is read, the system then does not even tell."""
    from watchdog import events

    return [
        events.FileCreatedEvent,
        events.FileModifiedEvent,
        events.FileAttribEvent,
        events.FileMovedEvent,
        events.FileDeletedEvent,
        events.FileClosedEvent,
        events.DirCreatedEvent,
        events.DirMovedEvent,
        events.DirDeletedEvent,
    ]


def refused(path: str | None, error: OSError) -> CannotWatch:
    """What the user can do where the system does not let us listen."""
    by_polling = "or watch by looking: --convo-watch-poll"
    if error.errno == errno.ENOSPC:
        msg = "the system has no more inotify watches to give, it takes one for each directory"
        return CannotWatch(msg, path=path, hint=f"raise fs.inotify.max_user_watches by sysctl, {by_polling}")
    if error.errno in (errno.EMFILE, errno.ENFILE):
        msg = "the system has no more inotify instances or open files to give"
        return CannotWatch(msg, path=path, hint=f"raise fs.inotify.max_user_instances by sysctl, {by_polling}")
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return CannotWatch("there is no such directory to watch", path=path, hint="name one that is there")
    msg = f"cannot be watched: {error.strerror or error}"
    return CannotWatch(msg, path=path, hint=f"give yourself the permission to read it, {by_polling}")
