"""Commands that an agent is advised against: guidance for a model that wastes its turns, no security.

A shell has more ways to say a thing than any rule knows: what may not happen, the sandbox makes impossible.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

_TOKEN = re.compile(
    r"""(?P<comment>(?<![^\s;&|()])\#[^\n]*)
      | (?P<here><<-?[ \t]*(?P<quote>['"\\]?)(?P<end>[\w.-]+)['"]?)
      | (?P<redirection>\d*(?:&>>?|<<<|[<>]+[&|]?)(?!\())
      | (?P<separator>[;&|()<>`\n]+)
      | (?P<word>(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^\s;&|()<>`'"\\])+)
      | (?P<blank>[^\S\n]+|\\\n)""",
    re.VERBOSE | re.DOTALL,
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_KEYWORDS = frozenset({"if", "then", "elif", "else", "do", "while", "until", "!", "{", "time"})
_WRAPPERS = frozenset({"sudo", "env", "nohup", "exec", "command", "xargs"})
_SHELLS = frozenset({"sh", "bash", "dash", "zsh"})
_SAME = {("ls", "-R"): {"--recursive"}, ("rm", "-r"): {"-R", "--recursive"}, ("rm", "-R"): {"-r", "--recursive"}}
_INSTEAD = {
    "ls": "list one directory at a time",
    "tree": "list one directory at a time, with ls",
    "find": "look into few directories: -maxdepth says how deep",
    "rm": "name the files that shall go",
}


@dataclass(frozen=True, slots=True)
class Policy:
    """Rules such as `tree`, `rm -r` or `find !-maxdepth`: a program, and words that must follow, or must not.

    A single letter is found among others: `rm -r` means `rm -fr` too. Without rules nothing is objected to.
    """

    denied: Sequence[str] = ()

    def objection(self, command: str) -> str | None:
        """Why `command` is not run, and what to do instead; None where nothing speaks against it."""
        commands = list(_simple_commands(command)) if self.denied else []
        for rule in self.denied:
            program, *wanted = shlex.split(rule)
            if any(_falls_under(words, program, wanted) for words in commands):
                instead = _INSTEAD.get(program, "reach the same another way")
                return f"not run: {rule!r} is not wanted here. Instead: {instead}."
        return None


def _falls_under(words: Sequence[str], program: str, wanted: Sequence[str]) -> bool:
    name, *given = words
    if PurePosixPath(name).name != program:
        return False
    options = given[: given.index("--")] if "--" in given else given
    return all(
        not _has(options, program, word[1:]) if word[0] == "!" else _has(options, program, word) for word in wanted
    )


def _has(given: Sequence[str], program: str, wanted: str) -> bool:
    names = {wanted} | _SAME.get((program, wanted), set())
    letters = {name[1] for name in names if len(name) == 2 and name[0] == "-"}
    return any(one in names or (re.fullmatch("-[A-Za-z]+", one) and letters & set(one)) for one in given)


def _simple_commands(script: str) -> Iterator[list[str]]:
    """The words of each command in a shell script, as far as it can be read; what a shell is told with -c too."""
    for words in _split(script):
        while words and (words[0] in _KEYWORDS | _WRAPPERS or _ASSIGNMENT.match(words[0])):
            words = words[1:]
        if not words:
            continue
        yield words
        if PurePosixPath(words[0]).name in _SHELLS and "-c" in words[:-1]:
            yield from _simple_commands(words[words.index("-c") + 1])


def _split(script: str) -> Iterator[list[str]]:
    """The words between separators; comments, redirections and here-documents are left out."""
    words: list[str] = []
    position, ends, target = 0, list[str](), False
    while match := _TOKEN.match(script, position):
        position = match.end()
        if match["here"]:
            ends.append(match["end"])
        elif match["redirection"]:
            target = True
        elif match["word"]:
            words += [] if target else [_unquoted(match["word"])]
            target = False
        elif match["separator"]:
            yield words
            words, target = [], False
            if "\n" in match["separator"] and ends:
                position = _after(script, match.start() + match["separator"].index("\n") + 1, ends)
                ends = []
    yield words


def _after(script: str, position: int, ends: Sequence[str]) -> int:
    """Where the script goes on after the here-documents that begin at `position`."""
    for end in ends:
        closing = re.compile(rf"^\t*{re.escape(end)}$", re.MULTILINE).search(script, position)
        if closing is None:
            return len(script)
        position = closing.end()
    return position


def _unquoted(word: str) -> str:
    return "".join(shlex.split(word, comments=False))
