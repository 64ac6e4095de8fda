"""Which container engine there is: Docker, or Podman behind the same interface, on this machine or another."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from math import ceil
from typing import TYPE_CHECKING, Any

from ..errors import SandboxUnavailable
from ..texts import clip, one_line
from .environ import environment

if TYPE_CHECKING:
    from docker import DockerClient

DOCKER_SOCKET = "/var/run/docker.sock"
PODMAN_SOCKET = "/run/podman/podman.sock"

OLDEST_API = (1, 40)
"""Of Docker 19.03, the first whose mounts can be non-recursive."""

REQUEST_TIMEOUT = 60
"""Seconds that an engine may take for one request; many containers at once make it slow."""

CONNECTIONS = 32

_UNIX = "unix://"
_HOW_TO = (
    "To have one, start Docker, or Podman by `systemctl --user start podman.socket`, "
    "or set DOCKER_HOST to where one listens."
)


@dataclass(frozen=True)
class Engine:
    """An engine that answers."""

    client: DockerClient
    url: str
    rootless: bool
    """Whether its root is the user who started it, and no more."""
    shares_files: bool
    """Whether it sees the files that we see, by the same paths."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Where an engine may be: its `url`, and docker-py's `tls`; or, with a `flaw`, why that cannot even be said."""

    url: str
    tls: Any = None
    flaw: str = ""


class _Unusable(Exception):
    """Why one place has no engine for us."""


def find(environ: Mapping[str, str] | None = None, patience: float = 3.0) -> Engine:
    """The first engine that answers within `patience` seconds: that of DOCKER_HOST alone where it is set.

    Raises `SandboxUnavailable`, in one line that says what was tried.
    """
    tried = []
    for candidate in candidates(environment() if environ is None else environ):
        try:
            return _engine(candidate, patience)
        except _Unusable as reason:
            tried.append(f"{candidate.url}: {reason}")
    msg = f"no container engine can be used. Tried {'; '.join(tried)}. {_HOW_TO}"
    raise SandboxUnavailable(msg)


def unusable(candidate: Candidate, patience: float) -> str | None:
    """Why there is no engine for us, in a few words; None where there is one."""
    try:
        _engine(candidate, patience).client.close()
    except _Unusable as reason:
        return str(reason)
    return None


def candidates(environ: Mapping[str, str]) -> list[Candidate]:
    """Where an engine may be, in the order of trying."""
    from docker.utils import kwargs_from_env

    if environ.get("DOCKER_HOST"):
        return [_candidate(kwargs_from_env(environment=dict(environ)))]
    sockets = [DOCKER_SOCKET]
    if runtime := environ.get("XDG_RUNTIME_DIR"):
        sockets += [f"{runtime}/docker.sock", f"{runtime}/podman/podman.sock"]
    sockets.append(PODMAN_SOCKET)
    by_url = {candidate.url: candidate for candidate in _of_context(environ)}
    for path in sockets:
        by_url.setdefault(f"{_UNIX}{path}", Candidate(f"{_UNIX}{path}"))
    return list(by_url.values())


def _of_context(environ: Mapping[str, str]) -> list[Candidate]:
    """What `docker context use` has chosen."""
    from docker.context import ContextAPI
    from docker.errors import ContextException

    try:
        chosen = ContextAPI.kwargs_from_context(environment=dict(environ))
    except (ContextException, OSError, ValueError) as error:  # other programs write it: the usual places remain
        return [Candidate("the context of docker's command line", flaw=one_line(str(error)))]
    return [_candidate(chosen)] if chosen else []


def _candidate(arguments: Mapping[str, Any]) -> Candidate:
    return Candidate(arguments["base_url"].replace("http+unix://", _UNIX), arguments.get("tls"))


def _engine(candidate: Candidate, patience: float) -> Engine:
    from docker.errors import DockerException
    from requests import RequestException
    from requests.utils import get_environ_proxies

    from .client import Client

    if candidate.flaw:
        raise _Unusable(candidate.flaw)
    options: dict[str, Any] = {"base_url": candidate.url, "tls": candidate.tls or False}
    by_socket = candidate.url.startswith(_UNIX)
    try:
        if by_socket:
            _ping(candidate.url.removeprefix(_UNIX), patience)
        else:
            options["proxies"] = get_environ_proxies(candidate.url)
            Client(**options, timeout=ceil(patience)).close()  # asks for the version
        client = Client(**options, timeout=REQUEST_TIMEOUT, max_pool_size=CONNECTIONS)
        try:
            return Engine(client, candidate.url, _rootless(client), shares_files=by_socket)
        except BaseException:
            client.close()
            raise
    except (DockerException, RequestException) as error:
        raise _Unusable(_in_words(str(error), patience)) from error


def _rootless(client: DockerClient) -> bool:
    version = client.api.api_version
    if tuple(int(part) for part in version.split(".")) < OLDEST_API:
        msg = f"its API {version} is older than {'.'.join(map(str, OLDEST_API))}"
        raise _Unusable(msg)
    info: Mapping[str, Any] = client.info()
    return bool(info.get("Rootless")) or any("rootless" in option for option in info.get("SecurityOptions") or ())


class _UnixConnection(HTTPConnection):
    """HTTP over a unix socket; docker-py would wait its whole timeout, and several times, for a silent one."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _ping(path: str, patience: float) -> None:
    connection = _UnixConnection(path, patience)
    try:
        connection.request("GET", "/_ping")
        if (status := connection.getresponse().status) != 200:
            msg = f"answered with HTTP status {status}"
            raise _Unusable(msg)
    except (FileNotFoundError, NotADirectoryError):
        msg = "absent"
        raise _Unusable(msg) from None
    except ConnectionRefusedError:
        msg = "nothing listens there"
        raise _Unusable(msg) from None
    except PermissionError:
        msg = "permission denied (is this user in the group docker?)"
        raise _Unusable(msg) from None
    except TimeoutError:
        raise _Unusable(_silent(patience)) from None
    except (HTTPException, OSError) as error:
        msg = f"what listens there is no engine ({type(error).__name__})"
        raise _Unusable(msg) from error
    finally:
        connection.close()


def _silent(patience: float) -> str:
    return f"did not answer within {patience:g} s"


def _in_words(error: str, patience: float) -> str:
    if "timed out" in error:
        return _silent(patience)
    if "refused" in error:
        return "nothing listens there"
    return clip(one_line(error), 200)
