"""docker-py's client, without what it reads of the environment at each request.

requests looks for proxies in all of `os.environ` every time. pytest takes PYTEST_CURRENT_TEST out of it in another
thread, again and again, and now and then that is a KeyError here. So the environment is read once.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from docker import APIClient, DockerClient


class Client(DockerClient):
    """A `DockerClient`; `proxies` are by scheme, as requests has them."""

    def __init__(self, proxies: dict[str, str] | None = None, **options: Any) -> None:
        self.api = _Api(proxies or {}, **options)


class _Api(APIClient):
    def __init__(self, proxies: dict[str, str], **options: Any) -> None:
        self._given = proxies
        super().__init__(**options)  # asks for the engine's version already

    @property
    def trust_env(self) -> bool:
        return False

    @trust_env.setter
    def trust_env(self, value: bool) -> None:
        """requests sets it first of all, `proxies` next."""

    @property
    def proxies(self) -> MutableMapping[str, str]:
        return self._given

    @proxies.setter
    def proxies(self, value: MutableMapping[str, str]) -> None:
        """As `trust_env`."""
