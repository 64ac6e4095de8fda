"""What users' tests of their bots need of ours: a scripted bot, in the process or behind a real server.

```python
from pytest_convo.testing import ScriptedReply, ScriptedServer

with ScriptedServer([ScriptedReply(when="refund", text="Within 30 days.")]) as server:
    client = OpenAI(base_url=server.url, api_key="unused")
```
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..bot.script import Script
    from ..bot.script_reply import ScriptedReply
    from ..bot.scripted import ScriptedModel
    from .request_log import RecordedRequest
    from .server import ScriptedServer

__all__ = ["RecordedRequest", "Script", "ScriptedModel", "ScriptedReply", "ScriptedServer"]

_HOMES = {
    "RecordedRequest": ".request_log",
    "Script": "..bot.script",
    "ScriptedModel": "..bot.scripted",
    "ScriptedReply": "..bot.script_reply",
    "ScriptedServer": ".server",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(_HOMES[name], __name__), name)


def __dir__() -> list[str]:
    return __all__
