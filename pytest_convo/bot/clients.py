"""The SDK's clients: one for each server, key and timeout, shared by everything on an event loop.

Each has its own connections. Making one costs 15 to 30 ms, nearly all of it the TLS context, which all share.
"""

from __future__ import annotations

import gc
import sys
from functools import cache
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import ssl
    from asyncio import AbstractEventLoop

    import httpx2
    from openai import AsyncOpenAI

Transport = Literal["httpx2", "aiohttp"]
DEFAULT_URL = "https://api.openai.com/v1"
"""Where the SDK asks if nothing else is said."""

_Key = tuple[str | None, str, float, Transport]

_clients: dict[AbstractEventLoop, dict[_Key, AsyncOpenAI]] = {}


def preload() -> None:
    """Import the SDK and make the TLS context, which takes a third of a second: for a thread with nothing else to do.

    It makes a hundred thousand objects, none of them garbage: looking for some meanwhile takes a sixth of the time.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        import openai.resources.chat  # noqa: F401 the SDK imports it with the first request

        _tls()
    finally:
        if collecting:
            gc.enable()


def shared_client(
    base_url: str | None, api_key: str, timeout: float, transport: Transport | None = None
) -> AsyncOpenAI:
    """The running loop's client for a server; `timeout` is that of one silence of the server, in seconds.

    The transport is aiohttp's where it is installed, else httpx2: with the SDK both are the SDK's own. It imports
    aiohttp in any case where it can, which costs 130 ms of CPU; used, it saves two fifths of the CPU of a request. It
    does not take an address with a password in it.
    """
    import asyncio

    import openai

    loop = asyncio.get_running_loop()
    for ended in [known for known in _clients if known.is_closed()]:
        del _clients[ended]
    if transport is None or "@" in (base_url or ""):
        transport = "aiohttp" if "aiohttp" in sys.modules and "@" not in (base_url or "") else "httpx2"
    clients = _clients.setdefault(loop, {})
    key = (base_url, api_key, timeout, transport)
    if key not in clients:
        clients[key] = openai.AsyncOpenAI(
            base_url=base_url,
            api_key=api_key,
            timeout=openai.Timeout(timeout, connect=min(timeout, 5.0)),
            max_retries=0,
            http_client=_http_client(transport, proxies=not is_here(base_url)),
        )
    return clients[key]


def is_here(base_url: str | None) -> bool:
    """Whether the server is on this machine: no proxy of the environment can reach it."""
    host = urlsplit(base_url or "").hostname or ""
    return host == "localhost" or host == "::1" or host.startswith("127.")


def _http_client(transport: Transport, *, proxies: bool) -> httpx2.AsyncClient:
    import openai

    make = openai.DefaultAioHttpClient if transport == "aiohttp" else openai.DefaultAsyncHttpxClient
    return make(verify=_tls(), trust_env=proxies)


@cache
def _tls() -> ssl.SSLContext:
    import httpx2

    return httpx2.create_ssl_context()


async def close_clients() -> None:
    """Close the running loop's clients and their connections; to be called before the loop is closed."""
    import asyncio

    for client in _clients.pop(asyncio.get_running_loop(), {}).values():
        await client.close()
