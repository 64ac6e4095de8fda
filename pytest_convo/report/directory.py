"""The run directory: what each run of the last sessions said and did, as files one can read.

`.convo/runs/<session>/<node id>/` holds the transcript as message files, and `events.jsonl`: everything that happened,
in order and one event a line, requests with their bodies, retries, replies, tools, checks and the outcome. Of an agent
also each command with all that it wrote, the diff of its folder, and what the verifier wrote.
Nothing is kept of a run that passed without a model being asked: all of it stands in `__recordings__` already.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import shutil
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..agreement.outcome import Outcome
from ..run.redact import REDACTOR, TELLER, WITHHELD
from ..run.told import MEASURED
from .artefacts import artefacts

if TYPE_CHECKING:
    from concurrent.futures import Future

    from ..collect.state import State
    from ..conversation.message import Message
    from ..conversation.transcript import Transcript
    from ..redaction import Redactor
    from ..run.measure import Event, Measurement

ROOT = ".convo"
"""The directory at the rootdir for all that is kept and not committed."""

KEPT = 10
"""Sessions that are kept."""

_NAME = pytest.StashKey[str]()
_PLACE = pytest.StashKey[Path]()
_KEEPER = pytest.StashKey["Keeper"]()


def session_name(config: pytest.Config) -> str:
    """The name of this session's directory; xdist's workers are told the controller's."""
    if _NAME not in config.stash:
        given = getattr(config, "workerinput", {}).get("convo_session")
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H-%M-%S.%f")[:-3]
        config.stash[_NAME] = given or f"{now}-{os.getpid()}"
    return config.stash[_NAME]


def name_session(config: pytest.Config, name: str) -> None:
    """Have this session keep its runs under another's name: together they count as one."""
    config.stash[_NAME] = name


def keep_in(config: pytest.Config, place: Path) -> None:
    """Have this session keep its runs in another directory, relative to the rootdir, whose part they are."""
    config.stash[_PLACE] = place


def _place(config: pytest.Config) -> Path:
    return config.stash.get(_PLACE, None) or Path(ROOT, "runs", session_name(config))


def of_session(config: pytest.Config) -> Path | None:
    """This session's directory relative to the rootdir, if anything was kept in it."""
    path = _place(config)
    return path if (config.rootpath / path).is_dir() else None


def keep(state: State, item: pytest.Item, report: pytest.TestReport) -> None:
    """Have what an item's run measured written; the report says where."""
    measurement = item.stash.get(MEASURED, None)
    told = getattr(report, "convo", None)
    if measurement is None or told is None or told["outcome"] == "spared" or WITHHELD in item.stash:
        return
    if told["outcome"] == Outcome.PASS and measurement.only_replayed:
        return
    if _KEEPER not in state.config.stash:
        state.config.stash[_KEEPER] = Keeper(state.config)
    files = partial(_files, measurement, dict(told), item.stash[REDACTOR], item.stash[TELLER])
    if (directory := state.config.stash[_KEEPER].put(item.nodeid, files)) is not None:
        told["directory"] = directory


def close(config: pytest.Config) -> None:
    """Wait until everything is written."""
    if _KEEPER in config.stash:
        config.stash[_KEEPER].close()


class Keeper:
    """Writes runs in a thread of its own: a run is several small files, and pytest need not wait for a disk."""

    def __init__(self, config: pytest.Config) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self._rootdir = config.rootpath
        self._root = config.rootpath / _place(config)
        self._prunes = _PLACE not in config.stash
        self._made: set[str] = set()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="convo-keeper")
        self._unwritable = False
        self._written: list[Future[None]] = []

    def put(self, nodeid: str, files: Callable[[], Mapping[str, str]]) -> str | None:
        """Write a run before long; its directory, relative to the rootdir, or None where nothing can be written."""
        if not self._made and not self._begin():
            return None
        directory = f"{self._root}/{nodeid.replace('::', '/')}"
        self._written.append(self._pool.submit(self._write, directory, files))
        return directory.removeprefix(f"{self._rootdir}/")

    def close(self) -> None:
        """Wait for the last file, and say once what kept one from being written."""
        self._pool.shutdown()
        errors = [error for written in self._written if (error := written.exception()) is not None]
        if errors:
            warnings.warn(f"pytest-convo could not keep {len(errors)} runs: {errors[0]}", stacklevel=2)

    def _begin(self) -> bool:
        if self._unwritable:
            return False
        try:
            make_root(self._rootdir, self._root)
        except OSError as error:
            self._unwritable = True
            warnings.warn(f"pytest-convo keeps no runs: {error}", stacklevel=2)
            return False
        self._made.add(str(self._root))
        if self._prunes:
            self._written.append(self._pool.submit(_prune, self._root.parent))
        return True

    def _write(self, directory: str, files: Callable[[], Mapping[str, str]]) -> None:
        texts = files()
        self._make(directory)
        for name, text in texts.items():
            _put(f"{directory}/{name}", text)

    def _make(self, directory: str) -> None:
        if directory not in self._made:
            self._make(directory.rpartition("/")[0])
            with contextlib.suppress(FileExistsError):  # another worker's
                os.mkdir(directory)  # noqa: PTH102 pathlib takes three times as long, for every run
            self._made.add(directory)


def _put(path: str, text: str) -> None:
    """Write a file with as few system calls as can be: there are several for each run."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        os.write(file, text.encode(errors="backslashreplace"))
    finally:
        os.close(file)


def make_root(rootdir: Path, root: Path) -> None:
    """Make a directory in `.convo`, which git does not see."""
    if root.is_dir():
        return
    root.mkdir(parents=True, exist_ok=True)
    ignore = rootdir / ROOT / ".gitignore"
    if not ignore.exists():
        ignore.write_text("# what pytest-convo keeps of its last sessions\n*\n")


def _prune(runs: Path) -> None:
    """Remove all but the newest sessions; another process may be doing the same."""
    for old in sorted(path for path in runs.iterdir() if path.is_dir())[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)


def _files(
    measurement: Measurement, told: Mapping[str, Any], redactor: Redactor, teller: Redactor
) -> Mapping[str, str]:
    """All that is kept of a run, by the names of the files; without what is secret, or not at all."""
    found = {"kind": "outcome", "outcome": told["outcome"], "reason": told.get("reason", "")}
    # Who words a reason cuts what it shows.
    events = [(teller if event.get("reason") else redactor).deep(event) for event in measurement.events]
    files = {name: redactor.text(text) for name, text in artefacts(events).items()}
    files["events.jsonl"] = "".join(_line(event, redactor) for event in [*events, found])
    return files | (message_files(measurement.transcript, redactor) if measurement.transcript is not None else {})


def _line(event: Event, redactor: Redactor) -> str:
    return json.dumps(event, ensure_ascii=False, default=lambda value: redactor.text(str(value))) + "\n"


def message_files(transcript: Transcript, redactor: Redactor) -> dict[str, str]:
    """The transcript as message files: names and contents, numbered as they were said, without what is secret."""
    return dict(_message_file(index, message, redactor) for index, message in enumerate(transcript.messages))


def _message_file(index: int, message: Message, redactor: Redactor) -> tuple[str, str]:
    if isinstance(message.content, str) and not (message.tool_calls or message.tool_call_id or message.name):
        return f"{index:04}_{message.role}.md", f"{redactor.text(message.content)}\n"
    record = redactor.deep({key: value for key, value in message.to_api().items() if key != "role"})
    return f"{index:04}_{message.role}.json", json.dumps(record, indent=1, ensure_ascii=False) + "\n"
