"""Where the recording of each run is kept: `__recordings__` beside the conversation or the test."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ..layout import RECORDINGS
from ..record.recording import RunRecording
from ..record.stale import ANSWERS, is_of_probes, probes_file, stale_files
from ..redaction import Redactor
from ..run.session import RUN, Run
from .naming import file_name
from .selection import looks_for_a_part
from .state import State, of

if TYPE_CHECKING:
    from ..run.measure import Spec

SURVEY = "survey of recordings"
"""The note in the ledger by which a worker tells the controller which recordings there are that nothing uses."""

_RUN = re.compile(r"run-\d+")


def of_conversation(
    state: State, directory: Path, case: str | None, redactor: Redactor
) -> Callable[[int], RunRecording]:
    """Opens the recording of each run of a conversation, or of one case of it.

    What is written into the directory is asked for anew: no recording answers it, and what is recorded takes its place.
    """
    live = state.options.write
    return lambda run: _open(state, directory, [case] if case else [], redactor, _of_run(run), live=live)


def of_answers(state: State, directory: Path, case: str | None, redactor: Redactor) -> RunRecording:
    """Open the recording of how the answers of a conversation's runs were compared with each other."""
    return _open(state, directory, [case] if case else [], redactor, ANSWERS)


def of_probes(state: State, directory: Path, digest: str, redactor: Redactor) -> RunRecording:
    """Open the recording of what a judge, known by a digest of how it is asked, said of its probes."""
    return _open(state, directory, [], redactor, probes_file(digest))


def of_test(item: pytest.Item, redactor: Redactor) -> RunRecording:
    """Open the recording of a test that asks the bot itself."""
    *folders, name = _place(item)
    return _open(of(item.config), item.path.parent, folders, redactor, f"{name}.yaml")


def _open(
    state: State, directory: Path, folders: Sequence[str], redactor: Redactor, name: str, *, live: bool = False
) -> RunRecording:
    root, mode = directory / RECORDINGS, state.options.record
    if state.fresh is not None or (live and mode == "auto"):  # nothing recorded answers it, and nothing of it is kept
        return RunRecording(root / "of no such run" / name, root, "auto", redactor)
    return RunRecording(root.joinpath(*folders, name), root, "all" if live and mode == "new" else mode, redactor)


def _of_run(run: int) -> str:
    return f"run-{run}.yaml"


def _place(item: pytest.Item) -> list[str]:
    """The folders and the name of a test's recording: the parts of its node id, as file names."""
    path, *names = item.nodeid.split("::")
    if not _RUN.fullmatch(names[-1]):  # a test without the mark has one run, and its parameters in brackets
        name, bracket, parameters = names.pop().partition("[")
        names += [name, *([parameters[:-1] or "-"] if bracket else []), "run-1"]
    return [file_name(name) for name in (path.rpartition("/")[2].removesuffix(".py"), *names)]


def complete(state: State, directory: Path, case: str | None, runs: int) -> bool:
    """Whether a recording is there for every run, so that as a rule nobody need be asked."""
    if state.options.record in ("none", "all") or state.options.write:
        return state.options.record == "none"
    folder = directory.joinpath(RECORDINGS, *([case] if case else []))
    return all((folder / _of_run(run)).exists() for run in range(1, runs + 1))


def first_digest(spec: Spec) -> bytes:
    """The digest of a run's first request, or of none: tools and context are made for a run, which they may look at."""
    from ..prompt.build import build
    from ..record.digest import body_of, digest

    recipe = spec.recipe
    if spec.tools is not None or recipe.sources is not None or recipe.summarizer is not None:
        return b""
    history = spec.conversation.history(spec.conversation.turns[0], {})
    built = build(stack=recipe.stack, history=history, tools=spec.declared(), bot=spec.settings.bot)
    return digest(spec.redactor.deep(body_of(built.request))).encode()


def is_there(spec: Spec, run: int, first: bytes) -> bool:
    """Whether a run has a recording, and its `first` request is in it: of another prompt's nothing fits."""
    try:
        return not spec.writes and first in spec.recording(run).path.read_bytes()
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class Survey:
    """What lies in the folders of recordings that this session looked into."""

    roots: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    """Files of recordings that no item uses."""

    def to_note(self) -> str:
        return json.dumps([self.roots, self.stale])

    @classmethod
    def of_note(cls, note: str) -> Survey:
        roots, stale = json.loads(note)
        return cls(tuple(roots), tuple(stale))


def survey(state: State, items: Sequence[pytest.Item]) -> Survey:
    """Look for recordings beside the collected `items` that none of them uses; deselected ones are items, too.

    Nothing is said where tests were looked for by node id, and of what was not collected: a conversation that is broken
    or that no argument names, a file of tests beside it.
    """
    beside: defaultdict[Path, list[pytest.Item]] = defaultdict(list)
    for item in items:
        beside[item.path.parent].append(item)
    roots = sorted(directory / RECORDINGS for directory in beside if (directory / RECORDINGS).is_dir())
    if looks_for_a_part(state.config):
        return Survey(tuple(map(str, roots)))
    fewer_runs = state.options.write or state.resolver.overrides("runs")
    stale: list[Path] = []
    for root in roots:
        here = beside[root.parent]
        used = {path for item in here for path in _recordings(item)}
        folders = {path.parent for path in used} if fewer_runs else set()
        found = (path for path in stale_files(root, used) if _is_seen(state, path, root, here))
        stale += [path for path in found if path.parent not in folders]
    return Survey(tuple(map(str, roots)), tuple(map(str, stale)))


def _recordings(item: pytest.Item) -> Iterator[Path]:
    """The files that an item's run may be recorded in: of the conversation that it reads, and of what it asks itself.

    Any test may ask: `request.getfixturevalue("bot")` shows nowhere.
    """
    run: Run | None = item.stash.get(RUN, None)
    root = item.path.parent / RECORDINGS
    if run is not None and run.spec is not None:
        yield root.joinpath(*([run.spec.case] if run.spec.case else []), _of_run(run.number))
        yield from run.spec.beside
    if isinstance(item, pytest.Function):
        *folders, name = _place(item)
        yield root.joinpath(*folders, f"{name}.yaml")


def _is_seen(state: State, path: Path, root: Path, here: Sequence[pytest.Item]) -> bool:
    """Whether this session has collected what a recording below `root` would be of."""
    if is_of_probes(path) and not state.options.judge_check:
        return False
    module = root.parent / f"{path.relative_to(root).parts[0]}.py"
    if module.exists():
        return any(item.path == module for item in here)
    runs = (item.stash.get(RUN, None) for item in here)
    return any(run is not None and run.spec is not None for run in runs) or not state.scan(root.parent).is_conversation
