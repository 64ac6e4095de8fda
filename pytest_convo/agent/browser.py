"""The browser that an agent has: headless, in the sandbox, it says what a page is after its scripts have run."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from ..bot.schema import ArgumentsError
from ..errors import SandboxUnavailable
from ..prompt.request import ToolSpec
from .bounds import bounded, told
from .hands import Order, read_object
from .page import page_text

if TYPE_CHECKING:
    from ..sandbox.base import CommandResult, Sandbox

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome", "headless_shell")
LONGEST = 4 << 20
"""How many bytes of a page are read."""

_PAGE = "/tmp/.convo-page.html"  # noqa: S108 -- in the sandbox, where nobody else is
_OPTIONS = (
    "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --disable-extensions "
    "--user-data-dir=/tmp/.convo-browser --virtual-time-budget=10000 --dump-dom"
)
_PARAMETERS = {
    "type": "object",
    "properties": {"url": {"type": "string", "description": "The page's address, with http:// or https://."}},
    "required": ["url"],
    "additionalProperties": False,
}


class Browser:
    """The tool `browse`: a page's text and links, as a browser in the sandbox has them."""

    spec = ToolSpec("browse", "Read a web page: its text and links, after its scripts have run.", _PARAMETERS)

    def __init__(self, program: str) -> None:
        self._program = program

    @classmethod
    def of(cls, sandbox: Sandbox) -> Self:
        """The browser that `sandbox` has; `SandboxUnavailable` where it has none."""
        search = f"for one in {' '.join(PROGRAMS)}; do command -v $one && break; done"
        found = sandbox.execute(search, trusted=True).output.strip()
        if not found:
            msg = f"the sandbox has no browser: none of {', '.join(PROGRAMS)} is on its PATH"
            raise SandboxUnavailable(msg, hint="name an image that has Chromium, or install it with a tool file")
        return cls(found.splitlines()[0])

    def order(self, arguments: str) -> Order:
        """The command that has the page written; `ArgumentsError` where the address is none of a web page."""
        address = _address(arguments)
        browse = f"{shlex.quote(self._program)} {_OPTIONS} {shlex.quote(address)}"
        return Order(f"{browse} >{_PAGE} 2>{_PAGE}.log || {{ cat {_PAGE}.log >&2; exit 1; }}")

    def text(self, result: CommandResult, sandbox: Sandbox, seconds: float) -> str:
        """The page as text, bounded; what went wrong, where it could not be read."""
        if not result.ok:
            return told(result, seconds)
        try:
            page = sandbox.read_file(_PAGE, LONGEST).decode(errors="replace")
        except FileNotFoundError:  # something else that the agent started
            return "the page was removed before it could be read"
        return bounded(page_text(page)) or "nothing was loaded: the page is empty, or it cannot be reached"


def _address(arguments: str) -> str:
    address = read_object(arguments).get("url")
    if not isinstance(address, str) or not _is_of_the_web(address):
        msg = f"`url` must be the address of a web page, http://... or https://..., not {address!r}"
        raise ArgumentsError(msg)
    return address


def _is_of_the_web(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc) and address.isprintable() and " " not in address
