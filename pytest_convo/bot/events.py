"""What happens in a run, told to whoever observes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

Observer = Callable[[Mapping[str, Any]], None]
"""Hears of each event: its `kind` and its fields, all of them builtins. Tools may tell from threads of their own."""

CLAIMED = "claim"
"""The kind of the event that tells what an agent said of itself, and whether its verifier says otherwise."""

STACK = "stack"
"""The kind of the event that tells what a request is made of, before it is sent."""

_observer: ContextVar[Observer | None] = ContextVar("observer", default=None)


@contextmanager
def observed(observer: Observer | None) -> Iterator[None]:
    """Let `observer` hear what happens in the block, however deep; None leaves the one that is there."""
    if observer is None:
        yield
        return
    token = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(token)


def tell(kind: str, **fields: Any) -> None:
    """Tell of an event; nothing happens where nobody observes."""
    observer = _observer.get()
    if observer is not None:
        observer({"kind": kind, **fields})
