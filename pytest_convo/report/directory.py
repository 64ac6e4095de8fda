"""The run directory: what each run of the last sessions said and did, as files one can read.

`.convo/runs/<session>/<node id>/` holds the transcript as message files, `events.jsonl` with everything that happened
in order, `requests.jsonl` with what was sent, and `checks.json`.
"""

from __future__ import annotations

import datetime
import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..run.protocol import MEASURED

if TYPE_CHECKING:
    from ..collect.state import State
    from ..conversation.message import Message
    from ..conversation.transcript import Transcript
    from ..run.measure import Measurement

KEPT = 10
"""Sessions that are kept."""

_NAME = pytest.StashKey[str]()


def session_name(config: pytest.Config) -> str:
    """The name of this session's directory; xdist's workers are told the controller's."""
    if _NAME not in config.stash:
        given = getattr(config, "workerinput", {}).get("convo_session")
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H-%M-%S.%f")[:-3]
        config.stash[_NAME] = given or f"{now}-{os.getpid()}"
    return config.stash[_NAME]


def of_session(config: pytest.Config) -> Path | None:
    """This session's directory relative to the rootdir, if anything was kept in it."""
    path = Path(".convo", "runs", session_name(config))
    return path if (config.rootpath / path).is_dir() else None


def keep(state: State, item: pytest.Item, report: pytest.TestReport) -> None:
    """Write what an item's run measured; the report says where."""
    measurement = item.stash.get(MEASURED, None)
    told = getattr(report, "convo", None)
    if measurement is None or told is None or told["outcome"] == "spared":
        return
    root = _root(state.config)
    directory = root / item.nodeid.replace("::", "/")
    directory.mkdir(parents=True, exist_ok=True)
    _write(directory, measurement, told)
    told["directory"] = str(directory.relative_to(state.config.rootpath))


def _root(config: pytest.Config) -> Path:
    base = config.rootpath / ".convo"
    root = base / "runs" / session_name(config)
    if not root.is_dir():
        root.mkdir(parents=True, exist_ok=True)
        ignore = base / ".gitignore"
        if not ignore.exists():
            ignore.write_text("# what pytest-convo keeps of its last sessions\n*\n")
        _prune(base / "runs")
    return root


def _prune(runs: Path) -> None:
    """Remove all but the newest sessions; another process may be doing the same."""
    for old in sorted(path for path in runs.iterdir() if path.is_dir())[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)


def _write(directory: Path, measurement: Measurement, told: dict[str, Any]) -> None:
    if measurement.transcript is not None:
        for name, text in message_files(measurement.transcript):
            (directory / name).write_text(text)
    events: Sequence[Any] = measurement.events
    requests = [event for event in events if event["kind"] == "request"]
    rest = [{key: value for key, value in event.items() if key != "body"} for event in events]
    (directory / "events.jsonl").write_text(_lines(rest))
    (directory / "requests.jsonl").write_text(_lines(requests))
    checks = [event for event in events if event["kind"] == "check"]
    found = {"outcome": told["outcome"], "reason": told.get("reason", ""), "checks": checks}
    (directory / "checks.json").write_text(json.dumps(found, indent=1, ensure_ascii=False, default=str) + "\n")


def _lines(events: Sequence[Any]) -> str:
    return "".join(json.dumps(event, ensure_ascii=False, default=str) + "\n" for event in events)


def message_files(transcript: Transcript) -> list[tuple[str, str]]:
    """The transcript as message files: names and contents, numbered as they were said."""
    return [_message_file(index, message) for index, message in enumerate(transcript.messages)]


def _message_file(index: int, message: Message) -> tuple[str, str]:
    if isinstance(message.content, str) and not (message.tool_calls or message.tool_call_id or message.name):
        return f"{index:04}_{message.role}.md", f"{message.content}\n"
    record = {key: value for key, value in message.to_api().items() if key != "role"}
    return f"{index:04}_{message.role}.json", json.dumps(record, indent=1, ensure_ascii=False) + "\n"
