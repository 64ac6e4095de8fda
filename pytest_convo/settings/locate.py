"""On which line of a TOML document each key stands: tomllib reads the values and forgets the places."""

from __future__ import annotations

import re
import tomllib
from typing import NamedTuple

Keys = tuple[str | int, ...]
"""The way to a value: names of keys, and numbers (from 0) of the elements of arrays."""

_TOKEN = re.compile(
    r"""
      (?P<blank>[ \t]+|\#[^\n]*)
    | (?P<newline>\n)
    | (?P<quoted>"{3}(?:\\.|[^\\])*?"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*')
    | (?P<mark>[\[\]{}=,.])
    | (?P<bare>[^\s\[\]{}=,.\#"']+)
    """,
    re.VERBOSE | re.DOTALL,
)


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


def key_lines(text: str) -> dict[Keys, int]:
    """The line (from 1) of every key and array element of `text`, which must be valid TOML with line feeds alone."""
    return _Scanner(_tokens(text)).document()


def _tokens(text: str) -> list[_Token]:
    tokens, line = [], 1
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind != "blank":
            tokens.append(_Token(kind, match[0], line))
        line += match[0].count("\n")
    return tokens


class _Scanner:
    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens = [*tokens, _Token("end", "", tokens[-1].line if tokens else 1)]
        self.at = 0
        self.lines: dict[Keys, int] = {}
        self.tables_of: dict[Keys, int] = {}

    def document(self) -> dict[Keys, int]:
        table: Keys = ()
        self.skip_newlines()
        while self.next.kind != "end":
            if self.next.text == "[":
                table = self.header()
            else:
                self.pair(table)
            self.skip_newlines()
        return self.lines

    def header(self) -> Keys:
        """`[table]` or `[[table]]`; a name on the way that is an array of tables means its last element."""
        line = self.take().line
        is_array = self.skip("[")
        path: Keys = ()
        for key in self.key():
            path = self.note((*self.last_element(path), key), line)
        if is_array:
            self.tables_of[path] = self.tables_of.get(path, 0) + 1
        while self.skip("]"):
            pass
        return self.note(self.last_element(path), line)

    def last_element(self, path: Keys) -> Keys:
        count = self.tables_of.get(path)
        return path if count is None else (*path, count - 1)

    def pair(self, table: Keys) -> None:
        path, line = table, self.next.line
        for key in self.key():
            path = self.note((*path, key), line)
        self.take()
        self.value(path)

    def key(self) -> list[str]:
        """The parts of a dotted key."""
        parts = [_name(self.take())]
        while self.skip("."):
            parts.append(_name(self.take()))
        return parts

    def value(self, path: Keys) -> None:
        if self.skip("["):
            self.array(path)
        elif self.skip("{"):
            self.inline_table(path)
        else:
            while self.next.text not in (",", "]", "}") and self.next.kind not in ("newline", "end"):
                self.take()

    def array(self, path: Keys) -> None:
        count = 0
        self.skip_newlines()
        while not self.skip("]"):
            element = self.note((*path, count), self.next.line)
            self.value(element)
            count += 1
            self.skip_newlines()
            self.skip(",")
            self.skip_newlines()

    def inline_table(self, path: Keys) -> None:
        self.skip_newlines()
        while not self.skip("}"):
            self.pair(path)
            self.skip_newlines()
            self.skip(",")
            self.skip_newlines()

    def note(self, path: Keys, line: int) -> Keys:
        self.lines.setdefault(path, line)
        return path

    @property
    def next(self) -> _Token:
        return self.tokens[self.at]

    def take(self) -> _Token:
        token = self.next
        self.at += 1
        return token

    def skip(self, mark: str) -> bool:
        found = self.next.kind == "mark" and self.next.text == mark
        self.at += found
        return found

    def skip_newlines(self) -> None:
        while self.next.kind == "newline":
            self.at += 1


def _name(token: _Token) -> str:
    if token.kind != "quoted":
        return token.text
    return str(tomllib.loads(f"name = {token.text}")["name"])
