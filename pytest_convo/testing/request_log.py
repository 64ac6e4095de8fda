"""What a scripted server was asked, and how much of it at once."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass
from threading import Lock
from typing import Any


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request for a chat completion, or for embeddings, as it arrived, and the status of the answer.

    Of the headers only the names are kept (lower case): their values may be credentials.
    """

    raw: bytes
    header_names: tuple[str, ...]
    status: int
    path: str = "/v1/chat/completions"

    @property
    def body(self) -> Any:
        """The JSON body; None where it is none."""
        try:
            return json.loads(self.raw)
        except (ValueError, RecursionError):
            return None


class RequestLog:
    """Counts and keeps requests; safe to read from any thread while a server writes it.

    `keep` is how many requests are remembered, the latest ones; None is all of them.
    """

    def __init__(self, keep: int | None = None) -> None:
        self._lock = Lock()
        self._requests: deque[RecordedRequest] = deque(maxlen=keep)
        self.count = 0
        self.in_flight = 0
        self.in_flight_max = 0

    @property
    def requests(self) -> list[RecordedRequest]:
        """The requests in the order in which they arrived."""
        with self._lock:
            return list(self._requests)

    def begin(self, request: RecordedRequest) -> None:
        """A request has arrived."""
        with self._lock:
            self._requests.append(request)
            self.count += 1
            self.in_flight += 1
            self.in_flight_max = max(self.in_flight_max, self.in_flight)

    def end(self) -> None:
        """Its answer is sent, or the client is gone."""
        with self._lock:
            self.in_flight -= 1

    def reset(self) -> None:
        """Forget what was; what is in flight stays so."""
        with self._lock:
            self._requests.clear()
            self.count = 0
            self.in_flight_max = self.in_flight
