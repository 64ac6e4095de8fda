"""Embeddings of the scripted server: vectors that are near where texts share words, the same on every machine."""

from __future__ import annotations

import math
import re
import struct
from base64 import b64encode
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from .chat_body import need
from .chat_wire import encoded

DIMENSIONS = 256


def embed(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """The words of a text, counted, as a vector of length 1.

    Case and order of words do not count, nor what stands between them. Each word has its place by a hash of it; of two
    places that fall together the counts are added. The cosine of two texts is thus 1 where they have the same words
    equally often, and near 0 where they share none. A text without any word is one.
    """
    counts = [0.0] * dimensions
    for word in re.findall(r"\w+", text.casefold()) or [text]:
        digest = blake2b(word.encode(errors="surrogatepass"), digest_size=8).digest()
        counts[int.from_bytes(digest) % dimensions] += 1.0
    length = math.hypot(*counts)
    return [count / length for count in counts]


def check_embeddings(body: Mapping[str, Any]) -> None:
    """Raise `BadBody` where the API would refuse, and for tokens in the place of texts, which are no words here."""
    need(isinstance(body.get("model"), str) and body["model"], "you must provide a model parameter", "model")
    texts = _texts(body)
    several = isinstance(texts, list) and texts and all(isinstance(text, str) for text in texts)
    need(several, "'input' must be a text or a list of at least one text", "input")
    need(all(texts), "'input' cannot contain an empty text", "input")
    need(body.get("encoding_format") in (None, "float", "base64"), "'encoding_format' is unknown", "encoding_format")
    size = body.get("dimensions")
    need(size is None or (type(size) is int and 0 < size <= 65536), "'dimensions' must be above 0", "dimensions")


def embedded(body: Mapping[str, Any]) -> bytes:
    """The body of the answer to `POST /v1/embeddings`; a token is a word."""
    texts = _texts(body)
    as_base64 = body.get("encoding_format") == "base64"
    vectors = [embed(text, body.get("dimensions") or DIMENSIONS) for text in texts]
    data = [
        {"object": "embedding", "index": index, "embedding": _base64(vector) if as_base64 else vector}
        for index, vector in enumerate(vectors)
    ]
    tokens = sum(len(text.split()) for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return encoded({"object": "list", "data": data, "model": body["model"], "usage": usage})


def _texts(body: Mapping[str, Any]) -> Any:
    given = body.get("input")
    return [given] if isinstance(given, str) else given


def _base64(vector: list[float]) -> str:
    return b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode("ascii")
