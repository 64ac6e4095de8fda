"""JSON values held against each other: equal, or one contained in the other, and where they are not.

Equality is JSON's: `1` and `1.0` are the same number, `true` is no number, the order of an object's keys does not
count, that of an array's items does.

Containment: an object contains another when it has each of its keys, with a value that contains the other's; an array
contains another when each item of that one is contained in an item of its own, in any order, no item standing for two;
anything else contains what equals it. Every value contains itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..texts import clip, flat
from .matching import pairs

Compare = Callable[[Any, Any, str], Iterator[str]]

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def same(wanted: Any, found: Any) -> bool:
    """Whether the two are the same JSON value."""
    return next(differences(wanted, found), None) is None


def contained(wanted: Any, found: Any) -> bool:
    """Whether `found` contains `wanted`."""
    return next(shortfalls(wanted, found), None) is None


def differences(wanted: Any, found: Any, path: str = "$") -> Iterator[str]:
    """Each place where the two are not equal, as `$.items[2].price: expected 5, got 7`."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        yield from _members(wanted, found, path, differences)
        yield from (f"{path}{step(key)}: not expected, got {shown(found[key])}" for key in found if key not in wanted)
    elif isinstance(wanted, list) and isinstance(found, list):
        if len(wanted) != len(found):
            yield f"{path}: expected {len(wanted)} items, got {len(found)}"
        for index, (one, other) in enumerate(zip(wanted, found, strict=False)):
            yield from differences(one, other, path + step(index))
    elif not _same_scalar(wanted, found):
        yield f"{path}: expected {shown(wanted)}, got {shown(found)}"


def shortfalls(wanted: Any, found: Any, path: str = "$") -> Iterator[str]:
    """Each thing that `found` lacks of `wanted`, as `$.items: no item contains {"id": 3}`."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        yield from _members(wanted, found, path, shortfalls)
    elif isinstance(wanted, list) and isinstance(found, list):
        yield from _unpaired(wanted, found, path)
    elif not _same_scalar(wanted, found):
        yield f"{path}: expected {shown(wanted)}, got {shown(found)}"


def locate(keys: Iterable[str | int]) -> str:
    """The path of a value inside a document: `$.items[2].price`."""
    return "$" + "".join(step(key) for key in keys)


def step(key: str | int) -> str:
    """One step of a path."""
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if _PLAIN_KEY.fullmatch(key) else f"[{flat(json.dumps(key, ensure_ascii=False))}]"


def shown(value: Any, limit: int = 80) -> str:
    """The value as JSON on one line, at most `limit` characters of it."""
    return flat(clip(json.dumps(value, ensure_ascii=False), limit))


def _members(wanted: dict[str, Any], found: dict[str, Any], path: str, compare: Compare) -> Iterator[str]:
    for key, value in wanted.items():
        if key in found:
            yield from compare(value, found[key], path + step(key))
        else:
            yield f"{path}{step(key)}: missing, expected {shown(value)}"


def _unpaired(wanted: list[Any], found: list[Any], path: str) -> Iterator[str]:
    """The items of `wanted` that no item of `found` is left for, each with what the nearest of those left lacks."""
    paired = pairs(wanted, found, contained)
    left = sorted(set(range(len(found))) - set(paired.values()))
    for want in range(len(wanted)):
        if want not in paired:
            yield f"{path}: no item contains {shown(wanted[want])}" + _nearest(wanted[want], found, left, path)


def _nearest(item: Any, found: list[Any], left: list[int], path: str) -> str:
    lacking = [list(shortfalls(item, found[index], path + step(index))) for index in left]
    if not lacking or not isinstance(item, dict | list):
        return ""
    return f" (nearest: {min(lacking, key=len)[0]})"


def _same_scalar(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other
    return type(one) is type(other) and bool(one == other)
