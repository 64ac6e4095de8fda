"""An OpenAI-compatible server, reached through the official SDK's client: what is sent to it, and what goes wrong."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..errors import NoCredentials, ProviderError, SettingsError
from ..redaction import Redactor
from .clients import DEFAULT_URL, Transport, shared_client
from .faults import Server, fault

if TYPE_CHECKING:
    from openai import AsyncOpenAI

NO_KEY = "no-key-needed"
"""Sent where a server needs no key: the SDK insists on one."""


class Endpoint:
    """Where to ask, with which key.

    `base_url` None is the SDK's own, and needs a key; `variable` is the one that the user would set it in, and `table`
    the one of convo.toml that says all this. `timeout` is that of one silence of the server, in seconds. A `client` of
    one's own takes the place of these, and is its owner's to close. What a server says is told without what `redactor`
    takes out. Raises `SettingsError` for what is no address; nothing is opened before `client` is called.
    """

    def __init__(
        self,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        variable: str = "OPENAI_API_KEY",
        table: str = "bot",
        timeout: float = 600.0,
        transport: Transport | None = None,
        client: AsyncOpenAI | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        self.base_url = _checked(base_url)
        self.timeout = timeout
        self.address = str(client.base_url) if client is not None else base_url or DEFAULT_URL
        self._own = client
        self._transport = transport
        key = client.api_key if client is not None else api_key
        name = urlsplit(self.address).netloc.rpartition("@")[2]
        self.server = Server(name, key, variable, redactor or Redactor.of_environment(), table)

    def client(self) -> AsyncOpenAI:
        """The client, shared by all who ask the same server on this event loop; `NoCredentials` without a key."""
        if self._own is not None:
            return self._own
        server = self.server
        if server.key is None and self.base_url is None:
            msg = f"{server.name} needs a key, and {server.variable} is not set"
            hint = f"export {server.variable}, or set base_url in [{server.table}] for a local server"
            raise NoCredentials(msg, hint=hint)
        if server.key is not None and not server.key.isascii():
            msg = f"{server.variable} holds characters that no header can carry"
            raise NoCredentials(msg, hint="copy the key anew")
        return shared_client(self.base_url, server.key or NO_KEY, self.timeout, self._transport)

    async def post(self, client: AsyncOpenAI, path: str, body: Mapping[str, Any]) -> bytes:
        """The body of the answer to one request, sent once; raises what `faults` makes of anything else."""
        import httpx2

        with self.faults():
            response = await client.post(path, cast_to=httpx2.Response, body=body, options={"max_retries": 0})
        return response.content

    @contextmanager
    def faults(self) -> Iterator[None]:
        """Turn what the SDK and its transport raise into our errors; their own texts may show the key."""
        import openai

        try:
            yield
        except openai.APIStatusError as error:
            raise fault(error.body, self.server, status=error.status_code, headers=error.response.headers) from None
        except Exception as error:
            if not isinstance(error, (openai.APIConnectionError, *transport_errors())):
                raise
            raise self._unreached(error) from None

    def _unreached(self, error: BaseException) -> ProviderError:
        causes = [error]
        while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
            causes.append(cause)
        if any(isinstance(cause, TimeoutError) for cause in causes):
            return ProviderError(f"{self.server.name} was silent for {self.timeout:g} s")
        # The first cause says what happened; what the transports make of it is often misleading.
        first = next((cause for cause in reversed(causes) if str(cause)), error)
        why = self.server.excerpt(str(first)) or type(first).__name__
        what = f"the connection to {self.server.name} failed: {why}"
        return ProviderError(what, hint=f"is the server running, and base_url in [{self.server.table}] right?")


def transport_errors() -> tuple[type[Exception], ...]:
    """What the transports raise where a connection fails."""
    import anyio
    import httpx2

    aiohttp = sys.modules.get("aiohttp")
    return (httpx2.HTTPError, OSError, anyio.EndOfStream, *((aiohttp.ClientError,) if aiohttp else ()))


def _checked(base_url: str | None) -> str | None:
    if base_url is not None and urlsplit(base_url).scheme not in ("http", "https"):
        msg = f"base_url = {base_url!r} is not an address"
        raise SettingsError(msg, hint="it begins with http:// or https://, as in http://localhost:8080/v1")
    return base_url
