"""Checks of what the reply says: equals, contains, contains_any, excludes, matches.

Each takes one text or several. Of several, `equals` wants one, `contains` and `matches` want all, `contains_any` wants
one, `excludes` none. With `ignore_case` case is folded as Unicode folds it (for `matches`, as `re.IGNORECASE` does).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..conversation.reply import Reply
from ..texts import clip, flat, word_diff
from .base import CheckResult, ReplyCheck
from .find import closest, most_like, spans
from .show import around, indented, listed, quoted, said

_ONLY_CASE = "  they differ only in case: ignore_case = true would let the reply pass"
_MOST_NAMES = 10
_MARGIN = 20


@dataclass(frozen=True, slots=True)
class Equals(ReplyCheck):
    """The reply is one of the texts, character by character; one final newline is content of neither."""

    texts: tuple[str, ...]
    ignore_case: bool = False
    name = "equals"

    def judge(self, reply: Reply) -> CheckResult:
        text = reply.text.removesuffix("\n")
        texts = [wanted.removesuffix("\n") for wanted in self.texts]
        in_case = text.casefold() in [wanted.casefold() for wanted in texts]
        if text in texts or (self.ignore_case and in_case):
            return CheckResult.passed()
        none = "the reply is another text" if len(texts) == 1 else f"the reply is none of {len(texts)} texts; nearest"
        diff = indented(word_diff(most_like(text, texts), text))
        return CheckResult.failed(f"{none}: [-expected-] {{+said+}}", diff, _ONLY_CASE if in_case else "")


@dataclass(frozen=True, slots=True)
class Contains(ReplyCheck):
    """Each of the texts is somewhere in the reply."""

    texts: tuple[str, ...]
    ignore_case: bool = False
    name = "contains"

    def judge(self, reply: Reply) -> CheckResult:
        absent = [wanted for wanted in self.texts if not _stands_in(reply.text, wanted, self.ignore_case)]
        if not absent:
            return CheckResult.passed()
        which = f"{len(absent)} of {len(self.texts)} are " if len(self.texts) > 1 else ""
        what = f"{which}not in the reply: {_names(absent)}"
        return CheckResult.failed(what, _closest(absent, reply), said(reply.text))


@dataclass(frozen=True, slots=True)
class ContainsAny(ReplyCheck):
    """At least one of the texts is somewhere in the reply."""

    texts: tuple[str, ...]
    ignore_case: bool = False
    name = "contains_any"

    def judge(self, reply: Reply) -> CheckResult:
        if any(_stands_in(reply.text, wanted, self.ignore_case) for wanted in self.texts):
            return CheckResult.passed()
        none = "not in the reply" if len(self.texts) == 1 else "none of these is in the reply"
        return CheckResult.failed(f"{none}: {_names(self.texts)}", _closest(self.texts, reply), said(reply.text))


@dataclass(frozen=True, slots=True)
class Excludes(ReplyCheck):
    """None of the texts is anywhere in the reply."""

    texts: tuple[str, ...]
    ignore_case: bool = False
    name = "excludes"

    def judge(self, reply: Reply) -> CheckResult:
        present = [wanted for wanted in self.texts if _stands_in(reply.text, wanted, self.ignore_case)]
        if not present:
            return CheckResult.passed()
        places = [self._place(wanted, reply.text) for wanted in present]
        return CheckResult.failed(f"in the reply, and must not be: {_names(present)}", listed(places, _MOST_NAMES))

    def _place(self, wanted: str, text: str) -> str:
        found = list(spans(wanted, text, ignore_case=self.ignore_case))
        return around(text, *found[0]) + (f" ({len(found)} times)" if len(found) > 1 else "")


@dataclass(frozen=True, slots=True)
class Matches(ReplyCheck):
    """Each of the patterns is found somewhere in the reply (`re.search`).

    Python's `re` backtracks and cannot be interrupted: a pattern like `(a+)+$` can take for ever on a long reply.
    """

    patterns: tuple[re.Pattern[str], ...]
    name = "matches"

    def judge(self, reply: Reply) -> CheckResult:
        found = {pattern: pattern.search(reply.text) for pattern in self.patterns}
        unmatched = [flat(clip(pattern.pattern, 200)) for pattern, match in found.items() if match is None]
        if not unmatched:
            return CheckResult.passed()
        some = f"{len(unmatched)} of {len(found)} patterns are" if len(found) > 1 else "the pattern is"
        matched = [f"found: {around(reply.text, *match.span())}" for match in found.values() if match]
        return CheckResult.failed(f"{some} not in the reply:", listed(unmatched), listed(matched), said(reply.text))


def _stands_in(text: str, wanted: str, ignore_case: bool) -> bool:
    return wanted.casefold() in text.casefold() if ignore_case else wanted in text


def _names(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _MOST_NAMES} more" if len(texts) > _MOST_NAMES else ""
    return ", ".join(quoted(text) for text in texts[:_MOST_NAMES]) + more


def _closest(texts: Sequence[str], reply: Reply) -> str:
    """For each text that is not in the reply, the passage of it that comes closest, where there is one."""
    lines = [_closest_line(wanted, reply.text, several=len(texts) > 1) for wanted in texts[:_MOST_NAMES]]
    return listed([line for line in lines if line], _MOST_NAMES)


def _closest_line(wanted: str, text: str, *, several: bool) -> str:
    to = f" to {quoted(wanted, 40)}" if several else ""
    in_another_case = next(spans(wanted, text, ignore_case=True), None)
    if in_another_case:
        return f"closest{to}, in another case: {around(text, *in_another_case, margin=_MARGIN)}"
    place = closest(wanted, text)
    return f"closest{to}: {around(text, *place, margin=_MARGIN)}" if place else ""
