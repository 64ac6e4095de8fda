"""`--convo-dry`: every request as it would be sent; nothing is called and nothing is written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from ..check.base import AskingCheck
from ..collect.errors import told
from ..conversation.message import Message
from ..errors import ConvoError
from ..run.session import RUN

if TYPE_CHECKING:
    from ..prompt.request import Request
    from ..run.measure import Spec


def show(session: pytest.Session) -> None:
    """Print the requests of each selected conversation, once for all its runs: they send the same."""
    writer = session.config.get_terminal_writer()
    seen: dict[str, Spec] = {}
    for item in session.items:
        run = item.stash.get(RUN, None)
        if run is not None and run.spec is not None and run.judged:
            seen.setdefault(run.group.id, run.spec)
    for group, spec in seen.items():
        try:
            for text in requests(spec):
                writer.line(f"{group}: {text}")
        except ConvoError as error:
            writer.line(f"{group}: {told(error, session.config, spec.directory)}")


def requests(spec: Spec) -> Iterator[str]:
    """Each turn's first request, and that of each check that asks a model.

    What the bot will have answered by then stands in it as ‹reply at N›.
    """
    from ..prompt.build import build

    answered: dict[int, tuple[Message, ...]] = {}
    for index in spec.conversation.turns:
        history = spec.conversation.history(index, answered)
        request = build(system=spec.system, history=history, tools=spec.declared(), bot=spec.settings.bot)
        yield f"request at {index}\n{_shown(spec, request)}"
        answered[index] = (Message("assistant", f"‹reply at {index}›"),)
        for check in spec.checks.get(index, ()):
            if isinstance(check, AskingCheck):
                yield f"{check.name} at {index}\n{_shown(spec, check.preview(f'‹reply at {index}›'))}"


def _shown(spec: Spec, request: Request) -> str:
    return json.dumps(spec.redactor.deep(request.body()), indent=1, ensure_ascii=False)
