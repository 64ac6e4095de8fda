"""Small words."""

from __future__ import annotations


def count(number: int, noun: str) -> str:
    """The number with its noun, in the plural where it is not one."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
