"""What a judge is asked: instructions that are ours, and data that is not, each in a message of its own.

The data stands between tags whose names end in a word that occurs nowhere in it, so that no text of a bot can end its
own tag or begin another. The word depends on what is asked, and on the data only where it has to be another one: the
same question is the same request, which recordings are found by, also once a secret was taken out of the data.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

from ..conversation.message import Message
from ..conversation.text import read_text
from ..errors import FormatError
from ..texts import clip

INSTRUCTIONS = "judge.md.j2"
"""The file that tells a judge what to do; the nearest one of this name, else ours."""

SAME = "judge_same.md.j2"
"""The file that tells a judge how to compare two texts; the nearest one of this name, else ours."""

_MOST_BEFORE = 40
_MOST_OF_ONE = 10_000
"""Messages before a reply that a judge is shown, the last ones, and characters of each, head and tail."""

_DIGITS = "23456789"
"""What the words of tags are made of: 0 and 1 look like letters."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is sent: `instructions` as the system message, `data` as the user's; and whose words count as evidence."""

    instructions: str
    data: str
    held: tuple[str, ...]
    about: str = ""
    """What is asked about, for those who read of it: the criterion."""


def about_reply(
    criterion: str,
    reply: str,
    *,
    steps: Sequence[Message] = (),
    before: Sequence[Message] = (),
    template: Path | None = None,
    variables: Mapping[str, Any] | None = None,
) -> Question:
    """Whether a criterion holds of a reply, given the messages `before` it, and the tool calls and results of its turn.

    `template` is rendered with `criterion`, `fence`, and the conversation's `variables` as `vars`. `FormatError` where
    it cannot be, or where it lacks the criterion or the word of the tags.
    """
    word = fence(criterion, [reply, *_texts(steps), *_texts(before)])
    given = {"criterion": criterion, "fence": word, "vars": dict(variables or {})}
    instructions = read_text(template or _ours(INSTRUCTIONS), variables=given, template=True)
    if template is not None:
        _require(instructions, template, "criterion", criterion.strip())
        _require(instructions, template, "fence", word)
    blocks = [
        ("conversation", "\n".join(_messages(before[-_MOST_BEFORE:], word))),
        ("steps", "\n".join(_messages(steps, word))),
    ]
    data = [_block(name, text, word) for name, text in blocks if text]
    data.append(_block("reply", reply, word))
    return Question(instructions, "\n\n".join(data), (reply,), criterion)


def about_two(
    first: str, second: str, *, template: Path | None = None, variables: Mapping[str, Any] | None = None
) -> Question:
    """Whether a text says the same as another; `template` is rendered with `fence` and `vars`, as for a reply."""
    word = fence("same", [first, second])
    given = {"fence": word, "vars": dict(variables or {})}
    instructions = read_text(template or _ours(SAME), variables=given, template=True)
    if template is not None:
        _require(instructions, template, "fence", word)
    data = f"{_block('first', first, word)}\n\n{_block('second', second, word)}"
    return Question(instructions, data, (first, second), "the two texts say the same")


def fence(about: str, texts: Iterable[str]) -> str:
    """The first word for this question that occurs in none of the texts, however it is disguised there."""
    levelled = [_digits(text) for text in texts]
    return next(word for word in _words(about) if not any(word in text for text in levelled))


def _words(about: str) -> Iterator[str]:
    for number in count():
        digest = sha256(f"{number} {about}".encode(errors="backslashreplace")).digest()
        yield "".join(_DIGITS[byte % len(_DIGITS)] for byte in digest[:8])


def _digits(text: str) -> str:
    """The digits of a text, of whatever script, without all that may stand between them."""
    return "".join(
        str(unicodedata.decimal(character))
        for character in unicodedata.normalize("NFKC", text)
        if character.isdecimal()
    )


def _messages(messages: Iterable[Message], word: str) -> Iterator[str]:
    """Each message between tags of its own, named by its role: no text can pass for another's."""
    for message in messages:
        yield _block(message.role, clip(_said(message), _MOST_OF_ONE), word)


def _said(message: Message) -> str:
    calls = (f"{call.name}({call.arguments})" for call in message.tool_calls)
    return "\n".join(filter(None, (message.text, *calls)))


def _texts(messages: Iterable[Message]) -> Iterator[str]:
    return map(_said, messages)


def _block(name: str, text: str, word: str) -> str:
    return f"<{name}-{word}>\n{text}\n</{name}-{word}>"


def _require(instructions: str, template: Path, name: str, value: str) -> None:
    if value not in instructions:
        msg = f"does not say {{{{ {name} }}}}, without which a judge does not know what it judges"
        raise FormatError(msg, path=template, hint="start from the file that is ours: pytest_convo/judge/")


def _ours(name: str) -> Path:
    return Path(__file__).with_name(name)
