"""What a Dockerfile says, as far as it is to be known before the build: its instructions, and the images it needs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

NAME = "Dockerfile"

_ESCAPE = re.compile(r"^#\s*escape\s*=\s*(\S)\s*$", re.IGNORECASE)
_DIRECTIVE = re.compile(r"^#\s*[\w-]+\s*=")
_FLAG = re.compile(r"^--[\w-]+(?:=\S*)?\s+")
_COPIED_FROM = re.compile(r"(?:--\S+\s+)*?--from=(?!\d+\s)(\S+)")
_HEREDOC = re.compile(r"<<-?\s*([\"']?)([A-Za-z_]\w*)\1")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)(?::([-+])([^{}]*))?\})")
_OF_BUILDKIT = {
    "RUN": re.compile(r"--(?:mount|network|security)="),
    "COPY": re.compile(r"--(?:chmod|link|parents|exclude)\b"),
    "ADD": re.compile(r"--(?:chmod|link|checksum|keep-git-dir|exclude)\b"),
}


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: the line (from 1) on which it begins, its word in capitals, and the rest on one line."""

    line: int
    word: str
    rest: str

    @property
    def text(self) -> str:
        return f"{self.word} {self.rest}".rstrip()

    @property
    def needs_buildkit(self) -> bool:
        """Whether it is written as only BuildKit understands it."""
        flags = _OF_BUILDKIT.get(self.word)
        return flags is not None and (flags.match(self.rest) is not None or _HEREDOC.search(self.rest) is not None)


def instructions(text: str) -> list[Instruction]:
    """The instructions of a Dockerfile in their order; lines that go on are joined, the text of heredocs is left out.

    https://docs.docker.com/reference/dockerfile/
    """
    found: list[Instruction] = []
    lines = text.removeprefix("\ufeff").splitlines()
    escape = _escape(lines)
    number = 0
    while number < len(lines):
        begin, whole = number, ""
        while number < len(lines):
            line, number = lines[number], number + 1
            if line.lstrip().startswith("#") or (whole and not line.strip()):
                # Comments and empty lines do not end an instruction that goes on.
                if whole:
                    continue
                break
            stripped = line.rstrip()
            whole += stripped.removesuffix(escape)
            if not stripped.endswith(escape):
                break
        word, _, rest = whole.strip().partition(" ")
        if word:
            instruction = Instruction(begin + 1, word.upper(), rest.strip())
            found.append(instruction)
            number = _after_heredocs(instruction, lines, number)
    return found


def bases(text: str) -> list[str]:
    """The images of a Dockerfile that must be there before it is built, each once, in their order.

    What `FROM` and `COPY --from` name, with the defaults of the `ARG`s before the first `FROM`; stages, numbers of
    stages and `scratch` are none.
    """
    found: dict[str, None] = {}
    stages: set[str] = {"scratch"}
    arguments: dict[str, str] = {}
    started = False
    for instruction in instructions(text):
        if instruction.word == "ARG" and not started:
            arguments |= _arguments(instruction.rest, arguments)
        elif instruction.word == "FROM":
            started = True
            image, *rest = _without_flags(_filled(instruction.rest, arguments)).split() or [""]
            if image and image.lower() not in stages:
                found[image] = None
            if len(rest) == 2 and rest[0].lower() == "as":
                stages.add(rest[1].lower())
        elif instruction.word == "COPY":
            copied = _COPIED_FROM.match(instruction.rest)
            if copied and copied[1].lower() not in stages:
                found[copied[1]] = None
    return list(found)


def _escape(lines: list[str]) -> str:
    """What joins a line with the next: `escape` is a directive among those at the very top."""
    for line in lines:
        if directive := _ESCAPE.match(line):
            return directive[1]
        if not _DIRECTIVE.match(line):
            break
    return "\\"


def _after_heredocs(instruction: Instruction, lines: list[str], number: int) -> int:
    """The number (from 0) of the line behind the heredocs of an instruction; where one is never closed, of the next."""
    if instruction.word not in _OF_BUILDKIT:
        return number
    for _, word in _HEREDOC.findall(instruction.rest):
        end = next((at for at in range(number, len(lines)) if lines[at].strip("\t") == word), None)
        if end is None:
            return number
        number = end + 1
    return number


def _without_flags(rest: str) -> str:
    while flag := _FLAG.match(rest):
        rest = rest[flag.end() :]
    return rest


def _arguments(rest: str, known: Mapping[str, str]) -> dict[str, str]:
    """The arguments that have a default, which may be in quotes and may name earlier ones."""
    pairs = re.findall(r"(\w+)=(\"[^\"]*\"|'[^']*'|\S*)", rest)
    return {name: _filled(value.strip("\"'"), known) for name, value in pairs}


def _filled(text: str, arguments: Mapping[str, str]) -> str:
    """The text with its variables; one that has no value is nothing, as the engine has it."""

    def value(match: re.Match[str]) -> str:
        is_set = arguments.get(match[1] or match[2], "")
        if match[3] == "-":
            return is_set or match[4]
        return (match[4] if is_set else "") if match[3] == "+" else is_set

    return _VARIABLE.sub(value, text)
