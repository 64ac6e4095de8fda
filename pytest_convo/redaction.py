"""What must never be written or shown is replaced before anything is cut to length: keys, tokens, and what users add.

A secret is the value of an environment variable whose name says so, what looks like a key, what one of a user's
patterns finds, and what a user's function takes out.
"""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, TypeVar

from .errors import RedactionError
from .secrets.known import MARK, PLACEHOLDER, Known, known
from .secrets.looks import looking_so, looks_secret, without_looks

ROUNDS = 8
"""How often a text is gone over for what comes to light by a replacement; one that never settles is withheld whole."""

Redact = Callable[[str], str | None]
"""A user's function: gives the text as it may be written, None where it may be written as it is."""

T = TypeVar("T")

_NAMED_SO = r"(?i)(?:(?:^|_)(?:KEY|TOKEN|SECRET)|PASSWORD)$"


@dataclass(frozen=True, eq=False)
class Redactor:
    """Replaces secrets in texts.

    `values` are those that are known, with the names of their variables, which may be empty; `patterns` are regular
    expressions. A user's `functions` come first, in their order.
    """

    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    patterns: tuple[str, ...] = ()
    functions: tuple[Redact, ...] = ()
    names: frozenset[str] = frozenset()
    """Further variables of which the values are secret."""
    learned: frozenset[str] | None = field(default=None, repr=False)
    """What is secret of texts that were read; pieces of it, and of the values, are secret too, unless this is None."""

    @classmethod
    def of_environment(
        cls,
        environ: Mapping[str, str] | None = None,
        *,
        names: Iterable[str] = (),
        patterns: Iterable[str] = (),
        functions: Iterable[Redact] = (),
    ) -> Redactor:
        """The values of `*_KEY`, `*_TOKEN`, `*_SECRET`, `*PASSWORD` and of the variables in `names`, and what is given.

        Without `environ`, the variables are those of this process, now. Whoever asks twice for the same is given the
        same object, and what it has prepared.
        """
        further = frozenset(names)
        values = _values(os.environ if environ is None else environ, further)
        return _made(tuple(values.items()), tuple(patterns), tuple(functions), further)

    def now(self) -> Redactor:
        """This redactor, which knows the variables as they are now, too: a program may read an .env file late."""
        return self._with(_values(os.environ, self.names))

    def knowing(self, value: str | None, name: str = "") -> Redactor:
        """This redactor, which knows one more value."""
        return self._with({value: name}) if value else self

    def also(self, other: Redactor) -> Redactor:
        """This redactor, which takes out what another does, too."""
        values = {**other.values, **self.values}
        patterns = tuple(dict.fromkeys((*self.patterns, *other.patterns)))
        functions = tuple(dict.fromkeys((*self.functions, *other.functions)))
        return _made(tuple(values.items()), patterns, functions, self.names | other.names)

    def having_read(self, said: object) -> Redactor:
        """This redactor, which knows what it finds in `said`, of builtins, wherever else it stands."""
        return self._with(dict.fromkeys(self._found(_texts(said)), ""))

    def after(self, said: object) -> Redactor:
        """This redactor for texts that tell of `said`, of builtins, and that somebody has cut already.

        The half of a secret that a pattern would have found is no match of it: what it finds in `said` is known here.
        """
        return replace(self, learned=frozenset(self._found(_texts(said))))

    def text(self, text: str) -> str:
        """The text with a placeholder for each secret; redacted once more it stays as it is, if the functions let it.

        Raises `RedactionError` where a user's function fails.
        """
        for function in self.functions:
            text = _asked(function, text)
        if not self._may_hold(text):
            return text
        for _ in range(ROUNDS):
            before, text = text, self._once(text)
            if text == before:
                return text
        return PLACEHOLDER

    def deep(self, value: T) -> T:
        """The value with every text in it redacted, in dicts (keys, too), lists and tuples, however deep.

        A number that is a secret becomes a text. Raises as `text`.
        """
        if not self.functions and not self._may_hold("\n".join(_texts(value))):
            return value
        redacted: T = self._deep(value)
        return redacted

    def _with(self, values: Mapping[str, str]) -> Redactor:
        if values.keys() <= self.values.keys():
            return self
        return _made(tuple({**values, **self.values}.items()), self.patterns, self.functions, self.names)

    def _deep(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self._deep(key): self._deep(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._deep(inner) for inner in value]
        if isinstance(value, tuple):
            return tuple(self._deep(inner) for inner in value)
        return self.text(str(value)) if str(value) in self.values else value

    def _may_hold(self, text: str) -> bool:
        """Whether there may be anything to replace: it takes no time to see that there is not."""
        return self.learned is not None or bool(self.patterns) or self._known.is_in(text) or looks_secret(text)

    def _once(self, text: str) -> str:
        text = self._known.without(text)
        for pattern in self.patterns:
            text = _between_marks(text, lambda part, pattern=pattern: re.sub(pattern, _mark, part))  # type: ignore[misc]
        text = _between_marks(text, lambda part: without_looks(part, PLACEHOLDER))
        for secrets in (self._learned, self._known) if self.learned is not None else ():
            text = _between_marks(text, secrets.without)
            text = _between_marks(text, secrets.pieces.without)
        return text

    def _found(self, texts: Collection[str]) -> Iterator[str]:
        """What is secret in the texts, and no value that is known without them."""
        for text in set(texts) if self.functions or self.patterns else ():
            for function in self.functions:
                redacted = _asked(function, text)
                yield from (word for word in text.split() if word not in redacted)
            for pattern in self.patterns:
                yield from (match[0] for match in re.finditer(pattern, text))
        yield from looking_so("\n".join(texts))

    @cached_property
    def _known(self) -> Known:
        return known(tuple(self.values.items()))

    @cached_property
    def _learned(self) -> Known:
        return known(tuple((secret, "") for secret in sorted(self.learned or ())))


@lru_cache(maxsize=64)
def _made(
    values: tuple[tuple[str, str], ...], patterns: tuple[str, ...], functions: tuple[Redact, ...], names: frozenset[str]
) -> Redactor:
    return Redactor(dict(values), patterns, functions, names)


def _values(environ: Mapping[str, str], names: frozenset[str]) -> dict[str, str]:
    """The secret values in an environment, each with the name of its variable, of several the first."""
    secret = sorted((name for name in environ if name in names or _is_secret(name)), reverse=True)
    return {environ[name].strip(): name for name in secret}


@lru_cache(maxsize=4096)
def _is_secret(name: str) -> bool:
    return re.search(_NAMED_SO, name) is not None


def _mark(match: re.Match[str]) -> str:
    return PLACEHOLDER if match[0] else ""


def _between_marks(text: str, change: Callable[[str], str]) -> str:
    """The text, changed where there is no placeholder."""
    parts = MARK.split(text)
    parts[::2] = map(change, parts[::2])
    return "".join(parts)


def _texts(value: object) -> list[str]:
    """Every text in a value, and every number as a text."""
    found: list[str] = []
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, dict):
            left += [*one, *one.values()]
        elif isinstance(one, list | tuple):
            left += one
        elif one is not None and not isinstance(one, bool):
            found.append(str(one))
    return found


@lru_cache(maxsize=4096)
def _asked(function: Redact, text: str) -> str:
    """What a user's function makes of the text; the same texts come again and again, and the function may be slow."""
    name = getattr(function, "__name__", type(function).__name__)
    try:
        answer: Any = function(text)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # Its message may hold the very text.
        frame = traceback.extract_tb(error.__traceback__)[-1]
        msg = f"{name} raised {type(error).__name__}"
        raise RedactionError(msg, path=frame.filename, line=frame.lineno, hint=_WITHHELD) from None
    if answer is None or isinstance(answer, str):
        return text if answer is None else answer
    code = getattr(function, "__code__", None)
    where = {"path": code.co_filename, "line": code.co_firstlineno} if code is not None else {}
    msg = f"{name} returned {type(answer).__name__}, no text"
    raise RedactionError(msg, hint=_WITHHELD, **where)


_WITHHELD = "what it was asked about is neither written nor shown: correct it, or return None for a text as it is"
