"""Names by which files of ours are recognised before any room is entered: of every file of every project."""

from __future__ import annotations

RECORDINGS = "__recordings__"
"""The folder beside a conversation, a task or a file of tests that holds their recordings."""

TASK = "task.toml"

TASK_FOLDERS = frozenset({"environment", "workspace", "tests", "solution"})
"""The folders of a task: what is in them is the task's, and no test of this session."""


def may_be_message_file(path: str) -> bool:
    """Whether the path, maybe of a node id, could be that of a message file: a look at a few characters."""
    name = path.partition("::")[0].rpartition("/")[2]
    return name[:4].isdecimal() and name[4:5] == "_"
