"""What a rewriter wrote: the new prompt out of its reply, and why it wrote it so."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..texts import clip, one_line

_BEGIN, _END = "<prompt>", "</prompt>"
_MOST_OF_REASON = 400

_FENCED = re.compile(r"(?P<fence>`{3,})[^`\n]*\n(?P<inside>.*\n)?(?P=fence)", re.DOTALL)
_FENCE_LINE = re.compile(r"^ {0,3}(?P<fence>`{3,})(?P<language>.*)$", re.MULTILINE)
_LINE_OF_FENCE_ALONE = re.compile(r"^[ \t]*`{3,}\w*[ \t\r]*$", re.MULTILINE)


class Unwritten(Exception):
    """A reply that holds no prompt, or not the whole of one; the message says it to the rewriter."""


@dataclass(frozen=True, slots=True)
class Written:
    """The `text` of the new prompt, and on one line the `reason` that came with it, if any did."""

    text: str
    reason: str


def read(reply: str) -> Written:
    """The prompt between the first `<prompt>` and the last `</prompt>`: one may itself speak of such tags.

    A reply without tags is the prompt. `Unwritten` where a tag lacks its counterpart, as in a reply that was cut off:
    half a prompt would be taken for a whole one; and where nothing is written.
    """
    start, end = reply.find(_BEGIN), reply.rfind(_END)
    if start < 0 and end < 0:
        return Written(_said(_unfenced(reply.strip("\r\n"))), "")
    if start < 0:
        msg = f"Your reply has {_END} but no {_BEGIN} before it: put the whole prompt between the two."
        raise Unwritten(msg)
    if end < start:
        msg = f"Your reply has {_BEGIN} but no {_END} after it, so it was cut off: write the whole prompt."
        raise Unwritten(msg)
    text = _between(reply[start + len(_BEGIN) : end])
    return Written(_said(text), _reason(reply[:start], reply[end + len(_END) :]))


def keeping(text: str, old: str) -> str:
    """The text with the line ends of the old one, and with its end: a rewriting is no reason to change those.

    Where the old one has both kinds of line ends, there is nothing to go by, and those of the text stay.
    """
    lines, crlf = old.count("\n"), old.count("\r\n")
    body = text.rstrip("\r\n")
    if crlf in (0, lines):
        body = body.replace("\r\n", "\n")
    if crlf and crlf == lines:
        body = body.replace("\n", "\r\n")
    return body + old[len(old.rstrip("\r\n")) :]


def _said(text: str) -> str:
    if not text.strip():
        msg = "Your reply holds no prompt: write the whole text of it."
        raise Unwritten(msg)
    return text


def _between(text: str) -> str:
    """The text without the line ends of the tags; CRLF is one only where both tags have it."""
    newline = "\r\n" if text.startswith("\r\n") else "\n"
    return text.removeprefix(newline).removesuffix(newline)


def _reason(before: str, after: str) -> str:
    """What is said around the tags; a fence around them says nothing."""
    return clip(one_line(_LINE_OF_FENCE_ALONE.sub("", f"{before}\n{after}")), _MOST_OF_REASON)


def _unfenced(text: str) -> str:
    """What a fence around the whole text holds; the text as it is where its first fence ends before it does."""
    match = _FENCED.fullmatch(text.strip())
    if match is None:
        return text
    inside = match["inside"] or ""
    first = _FENCE_LINE.search(inside)
    if first is not None and not first["language"].strip() and len(first["fence"]) >= len(match["fence"]):
        return text
    return inside.removesuffix("\n").removesuffix("\r")
