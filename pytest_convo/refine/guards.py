"""Why a rewritten prompt may not take the place of the old one, whatever the tests would say of it.

A prompt that quotes the cases passes them and helps nobody; one that lost a placeholder, its front matter or a tool
breaks what no test may look at. So each of these is asked before a call is paid for, and told to the rewriter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TypeVar

from ..errors import FormatError
from ..texts import one_line
from .split import levelled

WORDS_COPIED = 5
"""So many words in a row are no coincidence any more."""
CHARACTERS_COPIED = 24
"""So many characters in a row neither, in scripts that do not part words, and in numbers and keys."""
CHECKED = 8
"""A check's text of so many characters is its answer, a shorter one a word that any prompt may use."""

_SUBSTANCE = 12
"""Letters and digits without which a run of characters is a rule, a table's edge or indentation."""
_SEED = CHARACTERS_COPIED // 2
_HEAD = 24
_WHOLE = 120
_MOST_NAMED = 5
"""Characters of what was copied that are said again, and of a name; and how many of either."""

_WORD = re.compile(r"[^\W_](?:\w*[^\W_])?")
_APOSTROPHES = str.maketrans("", "", "'’")
_FRONT_MATTER = re.compile(r"\A(?P<fence>---|\+\+\+)[ \t]*\r?\n(?:.*?\n)??(?P=fence)[ \t]*(?=\r?\n|\Z)", re.DOTALL)
_PLACEHOLDER = re.compile(
    r"\{\{\s*[\w.]+\s*\}\}"  # {{ name }}, as many programs fill in by themselves
    r"|\$\{\w+\}"
    r"|%\(\w+\)[-+ #0]*[\d.]*[a-zA-Z]"
    r"|\{[^\W\d][\w.]*(?:![rsa])?(?::[^\s{}]*)?\}"
)
_UNWRITABLE = re.compile(r"[\0\ud800-\udfff]")

_BEGINNINGS = frozenset({"variable_begin", "block_begin", "raw_begin", "raw_end"})
_ENDS = frozenset({"variable_end", "block_end", "raw_begin", "raw_end"})
"""Tokens of Jinja2's. Those about raw text are whole statements."""
_NO_TEMPLATE = "The new prompt is no Jinja2 template any more ({}): mend its tags."

T = TypeVar("T")


def objections(
    new: str,
    old: str,
    *,
    inputs: Sequence[str],
    expected: Sequence[str],
    tools: Sequence[str],
    correction: str = "",
    template: bool = False,
) -> list[str]:
    """Why the text `new` may not stand where `old` does, a sentence each, for the rewriter; none, and it may.

    `inputs` and `expected` are what it must not copy; it may use the human's `correction`, and the names of `tools`,
    which the bot is told anyway. Both are quoted from, so they have to be those of items that the rewriter is shown.
    """
    if not new.strip():
        return ["The new prompt is empty: write the whole text of it."]
    free = [old, correction, *tools]
    return [
        *_unwritable(new),
        *(_template(new, old) if template else _placeholders(new, old)),
        *_front_matter(new, old),
        *_tools(new, old, tools),
        *_growth(new, old),
        *_copied(new, free, tools, inputs, "what is said to the bot in the cases"),
        *_copied(new, free, tools, expected, "what the checks of the cases expect"),
        *_quoted(new, free, expected),
    ]


def same(one: str, other: str) -> bool:
    """Whether the texts are equal but for white space at line ends, blank lines and the end."""
    return _lines(one) == _lines(other)


def _lines(text: str) -> list[str]:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [line.rstrip() for line in lines if line.strip()]


def _unwritable(new: str) -> Iterator[str]:
    if _UNWRITABLE.search(new):
        yield "The new prompt has a NUL or half a surrogate pair in it, which no file of text can hold: leave it out."


def _template(new: str, old: str) -> Iterator[str]:
    """What a template fills in must stay, and nothing may come to it: it would be undefined, or run code."""
    try:
        has = _pieces(new)
    except FormatError as error:
        if new != old:
            yield _NO_TEMPLATE.format(one_line(error.what))
        return
    try:
        had = _pieces(old)
    except FormatError:
        had = {}
    if missing := [had[piece] for piece in had if piece not in has]:
        yield f"The new prompt must keep what the template fills in; missing: {_named(missing, _WHOLE)}."
    if added := [has[piece] for piece in has if piece not in had]:
        yield f"The new prompt must not add to what the template fills in; leave out: {_named(added, _WHOLE)}."
    elif has:
        yield from _undefined(new, old)


def _undefined(new: str, old: str) -> Iterator[str]:
    """A name that is the same as before, but taken out of the block that it is a name of."""
    try:
        unknown = _needed(new) - _needed(old)
    except FormatError as error:
        if new != old:
            yield _NO_TEMPLATE.format(one_line(error.what))
        return
    if unknown:
        names = _named(sorted(unknown), _WHOLE)
        yield f"The new prompt must use {names} only within the block of the template that defines it."


def _pieces(text: str) -> dict[tuple[str, ...], str]:
    """The expressions and statements of a template as they stand, by their tokens; `FormatError` where it is none.

    Tokens, for white space within them says nothing, and a string within them may look like their end.
    """
    from jinja2 import TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment()
    try:
        environment.parse(text)
        lexed = list(environment.lex(text))
    except (TemplateError, RecursionError) as error:
        raise FormatError(str(error)) from None
    pieces: dict[tuple[str, ...], str] = {}
    tokens: list[str] = []
    spelled = ""
    for _, kind, value in lexed:
        if kind in _BEGINNINGS:
            tokens, spelled = [kind], ""
        spelled += value
        if kind in _ENDS:
            pieces.setdefault(tuple(tokens), one_line(spelled))
            tokens = []
        elif tokens and kind not in _BEGINNINGS and kind != "whitespace":
            tokens.append(value)
    return pieces


def _needed(text: str) -> set[str]:
    """The names that a template has to be given. To find them Jinja2 computes constants: nothing new may be in it."""
    from jinja2 import TemplateError
    from jinja2.meta import find_undeclared_variables
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    try:
        return find_undeclared_variables(ImmutableSandboxedEnvironment().parse(text))
    except (TemplateError, RecursionError) as error:
        raise FormatError(str(error)) from None


def _placeholders(new: str, old: str) -> Iterator[str]:
    has = {"".join(found.split()) for found in _PLACEHOLDER.findall(new)}
    missing = [found for found in _PLACEHOLDER.findall(old) if "".join(found.split()) not in has]
    if missing:
        yield f"The new prompt must keep its placeholders; missing: {_named(missing, _WHOLE)}."


def _front_matter(new: str, old: str) -> Iterator[str]:
    had = _FRONT_MATTER.match(old)
    has = _FRONT_MATTER.match(new)
    if had and (has is None or has[0] != had[0]):
        yield f"The new prompt must begin with the block between two {had['fence']} lines as it was, unchanged."


def _tools(new: str, old: str, tools: Sequence[str]) -> Iterator[str]:
    missing = [tool for tool in tools if tool.strip() and _mentions(old, tool) and not _mentions(new, tool)]
    if missing:
        yield f"The new prompt must still mention each tool that the old one did; missing: {_named(missing, _WHOLE)}."


def _mentions(text: str, tool: str) -> bool:
    """Whether the name stands there as a word: `search` is neither in `research` nor in `search-web`."""
    return re.search(rf"(?<!\w)(?<!\w-){re.escape(tool)}(?!\w|-\w)", text) is not None


def most(old: str) -> int:
    """The characters that a text may have which takes the place of this one."""
    return max(2 * len(old), len(old) + 400)


def _growth(new: str, old: str) -> Iterator[str]:
    if len(new) > most(old):
        yield f"The new prompt has {len(new):,} characters and may have {most(old):,} at most: say it in fewer words."


def _copied(new: str, free: Sequence[str], tools: Sequence[str], texts: Sequence[str], what: str) -> Iterator[str]:
    """Runs of words, and only where there are none, those of characters: they would be the same ones again."""
    texts = list(dict.fromkeys(texts))
    if heads := _runs_of_words(new, free, texts) or _runs_of_characters(_masked(new, tools), free, texts):
        yield f"The new prompt copies {what}, from {_named(heads)} on: state the rule in words of your own."


def _runs_of_words(new: str, free: Sequence[str], texts: Sequence[str]) -> list[str]:
    grams = list(_word_grams(new))
    suspects = set(grams).difference(*map(_word_grams, free))
    if not suspects:
        return []
    found: set[tuple[str, ...]] = set()
    for text in texts:
        found.update(suspects.intersection(_word_grams(text)))
    return [" ".join(gram) for gram in _heads(grams, found)]


def _word_grams(text: str) -> Iterator[tuple[str, ...]]:
    words = _WORD.findall(text.casefold().translate(_APOSTROPHES))
    return zip(*(words[start:] for start in range(WORDS_COPIED)), strict=False)


def _masked(new: str, tools: Sequence[str]) -> str:
    """The levelled text without the names that would be most of a run already; what stands around one is parted."""
    level = levelled(new)
    for tool in map(levelled, tools):
        if len(tool) > _SUBSTANCE:
            level = level.replace(tool, "\0")
    return level


def _runs_of_characters(level: str, free: Sequence[str], texts: Sequence[str]) -> list[str]:
    grams = list(_character_grams(level))
    substance = [0, *accumulate(character.isalnum() for character in level)]
    telling = {
        gram
        for start, gram in enumerate(grams)
        if substance[start + CHARACTERS_COPIED] - substance[start] >= _SUBSTANCE
    }
    suspects = telling.difference(*(_character_grams(levelled(text)) for text in free))
    if not suspects:
        return []
    found: set[str] = set()
    seeds = {gram[start : start + _SEED] for gram in suspects for start in range(CHARACTERS_COPIED - _SEED + 1)}
    for other in map(levelled, texts):
        for around in _near(other, seeds):
            found.update(suspects.intersection(_character_grams(around)))
    return list(_heads(grams, found))


def _near(text: str, seeds: set[str]) -> Iterator[str]:
    """The parts of a long text that may have a run in them: wherever one begins, one of these places is in it."""
    beyond = CHARACTERS_COPIED - _SEED
    for place in range(0, len(text), beyond + 1):
        if text[place : place + _SEED] in seeds:
            yield text[max(0, place - beyond) : place + CHARACTERS_COPIED]


def _character_grams(level: str) -> Iterator[str]:
    ends = range(CHARACTERS_COPIED, len(level) + 1)
    return map(level.__getitem__, map(slice, range(len(ends)), ends))


def _heads(grams: Iterable[T], found: set[T]) -> Iterator[T]:
    """Where each run that was found begins, in their order."""
    within = False
    for gram in grams:
        if gram in found and not within:
            yield gram
        within = gram in found


def _quoted(new: str, free: Sequence[str], expected: Sequence[str]) -> Iterator[str]:
    level, known = levelled(new), [levelled(text) for text in free]
    sought = {levelled(text): text for text in expected}
    told = [
        sought[text]
        for text in sought
        if len(text) >= CHECKED and text in level and not any(text in other for other in known)
    ]
    if told:
        yield f"The new prompt says the very words that a check looks for, {_named(told)}: state the rule behind them."


def _named(pieces: Iterable[str], most: int = _HEAD) -> str:
    """The pieces on one line, the heads of long ones, and of many the first."""
    lines = list(dict.fromkeys(one_line(piece) for piece in pieces))
    shown = ", ".join(f"“{_head(line, most)}”" for line in lines[:_MOST_NAMED])
    return f"{shown} and {len(lines) - _MOST_NAMED} more" if len(lines) > _MOST_NAMED else shown


def _head(line: str, most: int) -> str:
    return line if len(line) <= most else f"{line[:most]}…"
