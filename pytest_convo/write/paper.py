"""The files of one turn on disk: where its answer grows, and how it gets its name without anything being lost."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from ..conversation.disk import read_bytes
from ..conversation.names import STEPS, FileName, message_name
from ..conversation.scan import scan
from ..errors import ConvoError
from .files import create, free, give_name, put, told_of
from .listener import Teller
from .pages import Pages
from .partial import CUT_OFF, Partial


class Taken(Exception):
    """Why the answer cannot have its name."""


class Paper:
    """The files of one turn, from before it is asked for until its answer is whole, or will not be."""

    def __init__(self, directory: Path, index: int, teller: Teller) -> None:
        """Take the turn, so that nobody else answers it; `ConvoError` where somebody does, or has done so."""
        self.name = message_name(index, "assistant")
        self._directory = directory
        self._index = index
        self._teller = teller
        self._partial = Partial(directory / f"{self.name}.partial")
        try:
            self._require_unanswered()
            self._old_steps = self._steps()
            self._partial.take_over()
        except BaseException:
            self._partial.remove()
            self._partial.close()
            raise

    def grow(self, text: str) -> None:
        """Further text of the answer, as far as it may be seen."""
        self._partial.append(_bytes(text))

    def anew(self) -> None:
        """What has grown so far is void."""
        self._partial.replace(b"")

    def cut_off(self, text: str, why: str) -> None:
        """There will be no more than `text`: it stays unfinished, with a last line that says why."""
        self._partial.replace(_bytes(f"{text}\n\n{CUT_OFF}{why} -->\n"))

    def give_up(self) -> None:
        """There will be nothing."""
        self._partial.remove()

    def write(self, pages: Pages) -> tuple[Path, ConvoError | None]:
        """Give the answer its name, after that of its steps; where it stands then.

        Nothing is ever overwritten: where somebody has written there meanwhile, or into the unfinished file, the answer
        is put beside it as `NNNN_assistant.md.new`, and what is to be said of that comes with it.
        """
        path = self._directory / message_name(self._index, "assistant", ext=pages.ext)
        try:
            self._require_free(pages)
            self._write_steps(pages.steps)
            self._name(path, pages)
        except Taken as error:
            return self._put_aside(path, pages, str(error))
        return path, None

    def close(self) -> None:
        """Let others have the turn."""
        self._partial.close()

    # -- what stands there

    def _require_unanswered(self) -> None:
        if standing := self._standing():
            msg = "stands here, and did not when the conversation was read"
            path = self._directory / standing[0].name
            raise ConvoError(msg, path=path, hint="run it again: this turn was not asked for")

    def _standing(self) -> list[FileName]:
        """The message files that stand at this index; steps alone are none."""
        return [file for file in scan(self._directory).files if file.index == self._index and not file.is_steps]

    def _steps(self) -> dict[Path, bytes]:
        """The steps to an answer that is no more: they are part of none, and would be taken for those of ours."""
        files = (file for file in scan(self._directory).files if file.index == self._index and file.is_steps)
        return {path: read_bytes(path) for path in (self._directory / file.name for file in files)}

    def _require_free(self, pages: Pages) -> None:
        """Raise `Taken` where somebody else has written here since."""
        msg = ""
        if standing := self._standing():
            msg = f"{standing[0].name} was written meanwhile"
        elif not self._partial.is_ours():
            msg = f"{self._partial.path.name} was changed meanwhile"
        elif pages.unkept:
            msg = f"the steps to it cannot be written: {pages.unkept}"
        elif self._steps() != self._old_steps:
            msg = "its steps were changed meanwhile"
        if msg:
            raise Taken(msg)

    # -- what is written

    def _write_steps(self, steps: bytes | None) -> None:
        self._remove_steps()
        if steps is not None:
            path = self._directory / message_name(self._index, "assistant", STEPS, "yaml")
            self._teller.writes(path, steps)
            _create_whole(path, steps)

    def _remove_steps(self) -> None:
        for path in self._steps():
            self._teller.writes(path, None)
            with told_of(path):
                path.unlink()

    def _name(self, path: Path, pages: Pages) -> None:
        self._teller.writes(path, pages.answer)
        try:
            if path.name == self.name:
                self._partial.replace(pages.answer)
                self._partial.name(path)
            else:
                _create_whole(path, pages.answer)
                self._partial.remove()
        except FileExistsError:
            self._remove_steps()
            msg = f"{path.name} was written meanwhile"
            raise Taken(msg) from None

    def _put_aside(self, path: Path, pages: Pages, why: str) -> tuple[Path, ConvoError]:
        """Keep the answer under a name that is no message's; where, and what is to be said of it."""
        aside = free(path, ".new")
        with told_of(aside):
            put(aside, pages.answer)
            if pages.steps is not None:
                steps = self._directory / message_name(self._index, "assistant", STEPS, "yaml")
                put(free(steps, ".new"), pages.steps)
        self._partial.remove()
        msg = f"{why}, so the answer is in {aside.name}"
        return aside, ConvoError(msg, path=self._directory, hint=f"keep one: rename {aside.name}, or delete it")


def offer(path: Path, teller: Teller) -> None:
    """Make an empty file for what the user says next, unless something is there."""
    if not path.exists():
        teller.writes(path, b"")
        with told_of(path), suppress(FileExistsError):
            create(path, b"")


def _create_whole(path: Path, data: bytes) -> None:
    """Make a new file that is there whole or not at all; `FileExistsError` where there is something."""
    unfinished = path.with_name(f"{path.name}.partial")
    with told_of(path):
        put(unfinished, data)
        try:
            give_name(unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)


def _bytes(text: str) -> bytes:
    return text.encode(errors="backslashreplace")
