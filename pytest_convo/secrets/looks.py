"""What is a secret by its look: keys of known services, tokens, private keys, and what stands after a header's name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Look:
    r"""What one kind of secret looks like, as a regular expression; what its group 1 finds is no secret and stays.

    One of `hints` is, in lower case, in every text in which anything is found: to look for them takes a small part of
    the time of a search, and no expression is compiled before it is needed. Expressions that begin with a letter, and
    look back from there for a word that they would be the end of, are searched ten times as fast as those with `\b`.
    """

    pattern: str
    hints: tuple[str, ...]


_VALUE = r"[^\s\"'\\,;<>{}\[\]$]"
"""A character of a header's value: none that ends one, and none by which a text says "put your key here"."""
_TOKEN = r"(?=[\w.~+/-]*[\d=])[\w.~+/=-]{12,}"
"""What stands behind the name of a scheme and is no word."""

LOOKS = (
    # OpenAI, Anthropic, OpenRouter, Stripe; also as servers mask them: sk-proj-****abcd
    Look(r"[srp]k-(?<!\w..-)(?=[A-Za-z_-]*(?:\d|\*{3})|[\w-]{24})[\w*-]{8,}", ("k-",)),
    Look(r"[srp]k_(?<!\w.._)(?=[A-Za-z_]*\d)\w{16,}", ("k_",)),
    Look(r"gsk_(?<!\wgsk_)[A-Za-z0-9]{12,}", ("gsk_",)),
    Look(r"AIza(?<!\wAIza)[\w-]{16,}", ("aiza",)),
    Look(r"gh[pousr]_(?<!\wgh._)\w{16,}", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
    Look(r"(?:github_pat_|glpat-|pplx-)[\w-]{16,}", ("github_pat_", "glpat-", "pplx-")),
    Look(r"(?:hf|r8)_(?<!\w...)[A-Za-z0-9]{16,}", ("hf_", "r8_")),
    Look(r"xai-(?<!\w....)[A-Za-z0-9]{16,}", ("xai-",)),
    Look(r"A[KS]IA(?<!\w....)[0-9A-Z]{16}\b", ("akia", "asia")),
    Look(r"xox[a-z]-(?<!\w.....)[\w-]{10,}", ("xox",)),
    Look(r"eyJ(?<!\w...)[\w-]{10,}\.[\w-]{10,}\.[\w-]*", ("eyj",)),  # JSON web token
    Look(rf"(Bearer +){_TOKEN}", ("bearer ",)),
    Look(rf"(bearer +){_TOKEN}", ("bearer ",)),
    Look(rf"(Basic +){_TOKEN}", ("basic ",)),
    Look(
        r"(?i)(authorization\\?[\"']?\s*[:=]\s*\\?[\"']?(?:bearer|basic|token|digest|apikey|negotiate)\s+)"
        rf"{_VALUE}{{8,}}",
        ("authorization",),
    ),
    Look(
        rf"(?i)(api[_-]?key\\?[\"']?\s*[:=]\s*\\?[\"']?)(?=[\w.~+/-]*\d){_VALUE}{{16,}}",
        ("api-key", "api_key", "apikey"),
    ),
    Look(r"(://[^/\s@:]*:)[^/\s@]+(?=@)", ("://",)),  # user:password@host
    Look(r"([?&](?:api[_-]?key|key|(?:access_|auth_)?token)=)[^&\s{\[\"'<>]+", ("key=", "token=")),
    Look(
        r"-----BEGIN [A-Z ]*PRIVATE KEY"
        r"(?:[\s\S]{0,16384}?-----END [A-Z ]*PRIVATE KEY-----|-*(?:\\[nr]|[A-Za-z0-9+/=\s])*)",
        ("private key",),
    ),
)
_HINTS = tuple({hint: None for look in LOOKS for hint in look.hints})


def looks_secret(text: str) -> bool:
    """Whether anything in the text looks like a secret."""
    return next(looking_so(text), None) is not None


def looking_so(text: str) -> Iterator[str]:
    """What in the text looks like a secret."""
    for look in _looks_of(text):
        for match in re.finditer(look.pattern, text):
            yield match[0].removeprefix(_kept(match))


def without_looks(text: str, placeholder: str) -> str:
    """The text with the placeholder for everything that looks like a secret."""
    for look in _looks_of(text):
        text = re.sub(look.pattern, lambda match: _kept(match) + placeholder, text)
    return text


def _looks_of(text: str) -> list[Look]:
    """The looks of which something may be found in the text."""
    has = text.lower().__contains__
    return [look for look in LOOKS if any(map(has, look.hints))] if any(map(has, _HINTS)) else []


def _kept(match: re.Match[str]) -> str:
    return (match[1] or "") if match.re.groups else ""
