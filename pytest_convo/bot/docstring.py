"""What a docstring says of a function and of its parameters, in Google's, NumPy's or reST's style."""

from __future__ import annotations

import inspect
import re

_SECTION = re.compile(
    r"^(args|arguments|parameters|params|returns?|yields?|raises|examples?|notes?|warnings?|see also|attributes):?\s*$",
    re.IGNORECASE,
)
_PARAMETERS = {"args", "arguments", "parameters", "params"}
_UNDERLINE = re.compile(r"^-{3,}\s*$")
_GOOGLE = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_NUMPY = re.compile(r"^\*{0,2}(\w+)\s*(?::.*)?$")
_FIELD = re.compile(r"^:(\w+)\b([^:]*):\s*(.*)$")


def read_docstring(text: str | None) -> tuple[str, dict[str, str]]:
    """The description before the first section, and that of each parameter, by its name."""
    lines = inspect.cleandoc(text or "").splitlines()
    start = next((at for at, line in enumerate(lines) if _SECTION.match(line) or _FIELD.match(line)), len(lines))
    described: dict[str, list[str]] = {}
    _fields(lines[start:], described)
    for title, body in _sections(lines[start:]):
        if title in _PARAMETERS:
            _entries(body, described)
    return "\n".join(lines[:start]).strip(), {name: " ".join(told).strip() for name, told in described.items()}


def _sections(lines: list[str]) -> list[tuple[str, list[str]]]:
    sections: list[tuple[str, list[str]]] = []
    for line in lines:
        if match := _SECTION.match(line):
            sections.append((match[1].lower(), []))
        elif sections:
            sections[-1][1].append(line)
    return sections


def _entries(lines: list[str], described: dict[str, list[str]]) -> None:
    """`name: text` lines indented below a Google title, or `name : type` lines below NumPy's underline."""
    numpy = bool(lines) and bool(_UNDERLINE.match(lines[0]))
    pattern = _NUMPY if numpy else _GOOGLE
    lines = [line for line in lines[numpy:] if line.strip()]
    margin = min((_indent(line) for line in lines), default=0)
    name = ""
    for line in lines:
        if _indent(line) > margin:
            described.get(name, []).append(line.strip())
        elif match := pattern.match(line.strip()):
            name = match[1]
            described[name] = [] if numpy else [match[2].strip()]


def _fields(lines: list[str], described: dict[str, list[str]]) -> None:
    """`:param type name: text`, with indented lines that continue it."""
    name = ""
    for line in lines:
        if match := _FIELD.match(line):
            name = match[2].split()[-1] if match[1] in ("param", "parameter", "arg") and match[2].split() else ""
            if name:
                described[name] = [match[3].strip()]
        elif name and line.strip() and _indent(line):
            described[name].append(line.strip())


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
