"""How a secret value may be written in a text."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

LONG_WORD = 16
"""Characters of a word that is secret by itself in a value of several lines, such as a private key."""


def written(value: str) -> Iterator[str]:
    """The value as it is, and as JSON, Python, HTML, an address and base64 write it; of several lines, their words."""
    escaped = value.encode("unicode_escape").decode()
    once = [json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1], ascii(value)[1:-1]]
    once += [escaped, escaped.replace("'", r"\'"), *(text.replace("/", r"\/") for text in once)]
    yield from (value, html.escape(value), html.escape(value, quote=False), *once)
    for text in once:  # JSON in JSON, or in Python: arguments of a tool call
        yield from (json.dumps(text, ensure_ascii=False)[1:-1], text.replace("\\", r"\\"))
    data = value.encode(errors="surrogateescape")
    for address in (quote(data), quote(data, safe=""), quote_plus(data)):
        yield from (address, re.sub("%..", lambda match: match[0].lower(), address))
    for ending in (data[: len(data) // 3 * 3], data, data + b"\n"):  # the first is what all that begin so have
        for encoded in (base64.b64encode(ending).decode(), base64.urlsafe_b64encode(ending).decode()):
            yield from (encoded, encoded.rstrip("="))
    if "\n" in value:
        yield from (word for word in value.split() if len(word) >= LONG_WORD)
