"""What an engine tells while it works on one long request, message by message, within a time."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from docker import DockerClient
    from requests import Response

_CONNECTING = 60.0


def post(
    client: DockerClient,
    path: str,
    timeout: float,
    *,
    params: Mapping[str, str | int],
    headers: Mapping[str, str] | None = None,
    data: IO[bytes] | str | None = None,
) -> Response:
    """The answer to a POST, of which nothing but the head has been read; close it.

    docker-py's own methods have one timeout for everything, or none. Raises `docker.errors.APIError` where the engine
    refuses, and `requests.Timeout`.
    """
    from docker.errors import create_api_error_from_http_exception
    from requests import HTTPError

    url = f"{client.api.base_url}/v{client.api.api_version}{path}"
    waiting = (_CONNECTING, timeout)
    answer = client.api.post(
        url, params=dict(params), headers=dict(headers or {}), data=data, stream=True, timeout=waiting
    )
    try:
        answer.raise_for_status()
    except HTTPError as error:
        # The reason is in the body, which is lost once the answer is closed.
        with answer:
            create_api_error_from_http_exception(error)
    return answer


def told(
    client: DockerClient,
    path: str,
    timeout: float,
    *,
    params: Mapping[str, str | int],
    headers: Mapping[str, str] | None = None,
    data: IO[bytes] | None = None,
) -> Iterator[dict[str, Any]]:
    """POST to the engine, and each message of its answer as it comes; the engine gives up when nobody reads on.

    Raises `TimeoutError` when the whole takes longer than `timeout` seconds, and else what docker and requests raise.
    """
    from requests import RequestException

    until = time.monotonic() + timeout
    try:
        with post(client, path, timeout, params=params, headers=headers, data=data) as answer:
            for line in answer.iter_lines():
                if line.strip():
                    yield json.loads(line)
                _wait_until(answer, until)
    except RequestException as error:
        if _timed_out(error):
            raise _too_late(timeout) from None
        raise
    except TimeoutError:
        raise _too_late(timeout) from None


def _wait_until(answer: Response, until: float) -> None:
    """Let the next read of the answer end at `until` (monotonic): a timeout of requests begins anew at each."""
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    raw = getattr(getattr(getattr(answer.raw, "_fp", None), "fp", None), "raw", None)
    held = getattr(raw, "_sock", None)
    if isinstance(held, socket.socket):
        held.settimeout(left)


def _timed_out(error: BaseException) -> bool:
    """Whether a time was up: requests shows one that is up amid an answer as a broken connection."""
    from requests import Timeout
    from urllib3.exceptions import ReadTimeoutError

    return isinstance(error, Timeout) or any(isinstance(cause, ReadTimeoutError) for cause in error.args)


def _too_late(timeout: float) -> TimeoutError:
    return TimeoutError(f"it took longer than {timeout:g} s")
