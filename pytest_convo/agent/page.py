"""A web page as text: headings, lists, links and what stands between them, without scripts and styles."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import urljoin

_UNREAD = frozenset({"script", "style", "noscript", "template", "svg"})
_BLOCKS = (
    "address article aside blockquote body dd details div dl dt fieldset figcaption figure footer form head header hr "
    "html main nav ol p pre section summary table tbody thead title tr ul"
)
_OPENING = {
    **{f"h{level}": f"\n{'#' * level} " for level in range(1, 7)},
    **dict.fromkeys(_BLOCKS.split(), ""),
    "br": "",
    "li": "- ",
}
"""What a line begins with that an element opens."""


def page_text(html: str, address: str = "") -> str:
    """What `html` says, with links as `[text](url)`: absolute ones, where the page's `address` is given."""
    reader = _Reader(address)
    reader.feed(html)
    reader.close()
    return reader.text()


class _Reader(HTMLParser):
    def __init__(self, address: str) -> None:
        super().__init__(convert_charrefs=True)
        self._address = address
        self._pieces: list[str] = []
        self._unread: list[str] = []
        self._kept_as_is = 0
        self._links: list[tuple[int, str]] = []

    def text(self) -> str:
        while self._links:
            self._end_link()
        lines = "".join(self._pieces).split("\n")
        return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in lines)).strip("\n")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in _UNREAD:
            self._unread.append(tag)
        elif self._unread:
            return
        elif tag in _OPENING:
            self._open(_OPENING[tag])
        elif tag in ("td", "th"):
            self._say("| ")
        elif tag == "img" and given.get("alt"):
            self._say(f"[image: {given['alt']}]")
        elif tag == "a" and given.get("href"):
            self._links.append((len(self._pieces), given["href"] or ""))
        self._kept_as_is += tag == "pre" and not self._unread

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _UNREAD:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._unread:
            del self._unread[self._unread.index(tag) :]
        elif self._unread:
            return
        elif tag == "a" and self._links:
            self._end_link()
        elif tag in _OPENING:
            self._open("")
        if tag == "pre":
            self._kept_as_is = max(0, self._kept_as_is - 1)

    def handle_data(self, data: str) -> None:
        if not self._unread:
            self._say(data if self._kept_as_is else re.sub(r"\s+", " ", data))

    def _say(self, text: str) -> None:
        at_start = not self._pieces or self._pieces[-1].endswith(("\n", " "))
        text = text.lstrip(" ") if at_start and not self._kept_as_is else text
        self._pieces += [text] if text else []

    def _open(self, beginning: str) -> None:
        if self._pieces and not self._pieces[-1].endswith("\n"):
            self._pieces.append("\n")
        self._pieces += [beginning] if beginning else []

    def _end_link(self) -> None:
        start, address = self._links.pop()
        said = " ".join("".join(self._pieces[start:]).split())
        if said:
            before = "\n" if self._pieces[start].startswith("\n") else ""
            self._pieces[start:] = [f"{before}[{said}]({urljoin(self._address, address)})"]
