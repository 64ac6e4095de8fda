"""Whose a container is, and the removal of those whose session has gone without a word.

As a rule none are: a container ends with the process that made it. What remains after an engine was restarted, or
behind a connection of a remote one that nobody knows to be broken, is found by its labels.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from ..texts import one_line
from .container import remove
from .engine import Engine
from .whose import host, started

LABEL = "pytest-convo"
KEPT = f"{LABEL}.kept"


def labels(session: str, owner: str, *, keep: bool = False) -> dict[str, str]:
    """Of a container that this process makes; `owner` is for whom, for people who look.

    One that may be left (`keep`) is nobody's to sweep.
    """
    pid = os.getpid()
    return {
        LABEL: "1",
        f"{LABEL}.session": session,
        f"{LABEL}.owner": owner,
        f"{LABEL}.host": host(),
        f"{LABEL}.pid": str(pid),
        f"{LABEL}.started": started(pid) or "",
        KEPT: "1" if keep else "",
    }


def orphaned(found: Mapping[str, str]) -> bool:
    """Whether labels are those of a container of this host whose process has gone; another may have its number."""
    pid = found.get(f"{LABEL}.pid", "")
    if found.get(KEPT) or found.get(f"{LABEL}.host") != host() or not pid.isdecimal():
        return False
    return started(int(pid)) != found.get(f"{LABEL}.started")


def left(engine: Engine, *, kept: bool = False) -> list[str]:
    """Remove what sessions of this host have left behind, `kept` ones only if that is said; a line about each."""
    told = []
    for container in engine.client.api.containers(all=True, filters={"label": f"{LABEL}=1"}):
        labelled = {**container["Labels"], **({KEPT: ""} if kept else {})}
        if orphaned(labelled):
            remove(engine, container["Id"])
            owner = labelled.get(f"{LABEL}.owner")
            told.append(f"sandbox {container['Id'][:12]}" + (f" of {one_line(owner)}" if owner else ""))
    return told
