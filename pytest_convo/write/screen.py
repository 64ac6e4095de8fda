"""The answers of a run as a terminal shows them: while they arrive where there is one conversation, else each whole."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from ..conversation.names import message_name
from ..texts import tame

Event = Mapping[str, Any]


class Screen:
    """Hears of answers on any thread, and gives what is to be shown of them to the one that may show it."""

    def __init__(self) -> None:
        self.in_the_middle = False
        """Whether an answer has been begun that has not ended."""
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._shown = ""

    def hear(self, event: Event) -> None:
        """A listener's function."""
        self._events.put(event)

    @property
    def waits(self) -> bool:
        """Whether there is anything to be shown."""
        return not self._events.empty()

    def text(self, root: Path, *, as_it_comes: bool) -> str:
        """What is to be shown of what was heard since; paths are relative to `root`.

        `as_it_comes`: answers are shown while they arrive. There must be no two at a time then.
        """
        return "".join(text for event in self._heard() for text in self._told(event, f"{root}{os.sep}", as_it_comes))

    def end(self) -> str:
        """What is to be shown where no more comes of the answer that was begun."""
        ended, self.in_the_middle, self._shown = "\n" if self.in_the_middle else "", False, ""
        return ended

    def _heard(self) -> Iterator[Event]:
        while True:
            try:
                yield self._events.get_nowait()
            except Empty:
                return

    def _told(self, event: Event, root: str, as_it_comes: bool) -> Iterator[str]:
        kind = event["kind"]
        if kind == "piece" and as_it_comes:
            if not self.in_the_middle:
                yield f"{_path(event).removeprefix(root)}\n"
            self.in_the_middle = True
            self._shown += event["text"]
            yield _tame(event["text"])
        elif kind == "again" and self.in_the_middle:
            self._shown = ""
            yield "\n(anew)\n"
        elif kind == "whole":
            yield from self._whole(event, root)
        elif kind == "writes" and event["path"].endswith(message_name(0, "user")[4:]):
            yield f"{event['path'].removeprefix(root)}: empty, to be written next\n"

    def _whole(self, event: Event, root: str) -> Iterator[str]:
        text: str = event["text"]
        if not self.in_the_middle:
            stays = "" if event["file"] else " (stays as it is)"
            yield f"{(event['file'] or _path(event)).removeprefix(root)}{stays}\n{_tame(text)}"
        elif text.startswith(self._shown):
            yield _tame(text[len(self._shown) :])
        else:
            yield f"\n(anew)\n{_tame(text)}"
        self.end()
        yield "\n"


def _path(event: Event) -> str:
    """The file of an answer that is not whole yet."""
    return os.path.join(event["directory"], message_name(event["index"], "assistant"))  # noqa: PTH118 a text


def _tame(text: str) -> str:
    return tame(text.replace("\r\n", "\n"))
