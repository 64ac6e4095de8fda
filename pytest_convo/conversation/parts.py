"""A message's content as a list of parts: text, images, files.

Each part has the API's form, or a short one:

    - just text                               {"type": "text", "text": "just text"}
    - text: the same                          the same
    - image: photo.png                        {"type": "image_url", "image_url": {"url": "data:image/png;base64,…"}}
      detail: low                             … "detail": "low"
    - image: https://example.org/photo.png    {"type": "image_url", "image_url": {"url": "https://…"}}
    - file: terms.pdf                         {"type": "file", "file": {"filename": "terms.pdf", "file_data": "data:…"}}

Paths are relative to the message file and become data URLs when it is read, in the API's form of an image as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import FormatError
from .disk import read_bytes
from .document import Document, kind, shown
from .formats import Place
from .names import did_you_mean

_FIELDS = {
    "text": {"text"},
    "image_url": {"url", "detail"},
    "file": {"file_id", "filename", "file_data"},
    "input_audio": {"data", "format"},
}
_NEEDED = {"image_url": ("url",), "file": ("file_data",), "input_audio": ("data", "format")}
_DETAILS = ("auto", "low", "high")
_IMAGES = ((b"\x89PNG\r\n", "png"), (b"\xff\xd8\xff", "jpeg"), (b"GIF8", "gif"))
_FILES = {
    ".pdf": "application/pdf",
    ".json": "application/json",
    ".html": "text/html",
    ".csv": "text/csv",
    ".md": "text/markdown",
    ".txt": "text/plain",
}


def read_part(value: Any, document: Document, place: Place, directory: str) -> dict[str, Any]:
    """One part in the API's form; paths are relative to `directory`. `FormatError` where it has no known form."""
    if isinstance(value, str):
        return {"type": "text", "text": value}
    if not isinstance(value, Mapping):
        msg = f"a part of the content must be text or a mapping, not {kind(value)}"
        raise document.error(msg, place, "as `- text: ...`, `- image: photo.png` or `- file: terms.pdf`")
    part = _full(value, document, place) if "type" in value else _short(value, document, place)
    fields = part[part["type"]]
    if part["type"] == "image_url":
        fields["url"] = _image(fields["url"], document, place, directory)
    elif part["type"] == "file" and "path" in fields:
        part["file"] = _file(fields["path"], document, place, directory)
    return part


def _short(value: Mapping[str, Any], document: Document, place: Place) -> dict[str, Any]:
    what = next((key for key in ("text", "image", "file") if key in value), None)
    if what is None:
        msg = "this part of the content is neither text nor image nor file"
        raise document.error(msg, place, "as `- text: ...`, `- image: photo.png` or `- file: terms.pdf`")
    _known_keys(value, (what, "detail") if what == "image" else (what,), document, place)
    _texts(value, document, place)
    if what == "text":
        return {"type": "text", "text": value["text"]}
    if what == "file":
        return {"type": "file", "file": {"path": value["file"]}}
    image = {"url": value["image"]} | ({"detail": value["detail"]} if "detail" in value else {})
    return {"type": "image_url", "image_url": _detailed(image, document, place)}


def _full(value: Mapping[str, Any], document: Document, place: Place) -> dict[str, Any]:
    type_ = value["type"]
    if not isinstance(type_, str) or type_ not in _FIELDS:
        msg = f"unknown type {shown(type_)} of a part"
        raise document.error(msg, (*place, "type"), did_you_mean(str(type_), _FIELDS))
    _known_keys(value, ("type", type_), document, place)
    fields = value.get(type_)
    if type_ == "text":
        _texts({"text": fields}, document, place)
        return {"type": "text", "text": fields}
    return {"type": type_, type_: _fields(type_, fields, document, (*place, type_))}


def _fields(type_: str, fields: Any, document: Document, place: Place) -> dict[str, Any]:
    """What a part holds in the API's form, under the key that its type names."""
    keys = sorted(_FIELDS[type_])
    if not isinstance(fields, Mapping):
        msg = f"{type_!r} of a part must be a mapping, not {kind(fields)}"
        raise document.error(msg, place, f"its keys: {', '.join(keys)}")
    _known_keys(fields, keys, document, place)
    _texts(fields, document, place)
    needed = () if "file_id" in fields else _NEEDED[type_]
    missing = next((key for key in needed if key not in fields), None)
    if missing:
        msg = f"{type_!r} of a part lacks {missing!r}"
        raise document.error(msg, place, f"its keys: {', '.join(keys)}")
    return _detailed(dict(fields), document, place)


def _known_keys(value: Mapping[str, Any], known: Any, document: Document, place: Place) -> None:
    for key in value:
        if key not in known:
            msg = f"unknown key {shown(key)} in a part of the content"
            raise document.error(msg, (*place, key), did_you_mean(key, known))


def _texts(fields: Mapping[str, Any], document: Document, place: Place) -> None:
    for key, value in fields.items():
        if not isinstance(value, str):
            msg = f"{key!r} of a part must be text, not {kind(value)}"
            raise document.error(msg, (*place, key), "put it in quotes")


def _detailed(image: dict[str, Any], document: Document, place: Place) -> dict[str, Any]:
    if image.get("detail", "auto") not in _DETAILS:
        msg = f"unknown detail {shown(image['detail'])} of an image"
        raise document.error(msg, (*place, "detail"), did_you_mean(image["detail"], _DETAILS))
    return image


def _image(url: str, document: Document, place: Place, directory: str) -> str:
    if url.startswith(("https://", "http://", "data:")):
        return url
    data = _local(url, document, place, directory)
    image = next((name for start, name in _IMAGES if data.startswith(start)), None)
    if image is None and data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        image = "webp"
    if image is None:
        msg = f"{shown(url)} is no PNG, JPEG, GIF or WebP image"
        raise document.error(msg, place, "convert it; a file that git keeps elsewhere must be fetched first")
    return _data_url(f"image/{image}", data)


def _file(path: str, document: Document, place: Place, directory: str) -> dict[str, str]:
    mime = _FILES.get(Path(path).suffix.lower(), "application/octet-stream")
    data = _local(path, document, place, directory)
    return {"filename": Path(path).name, "file_data": _data_url(mime, data)}


def _local(path: str, document: Document, place: Place, directory: str) -> bytes:
    if "://" in path:
        msg = f"{shown(path)} is neither a path nor an https URL"
        raise document.error(msg, place, "name a file relative to this one")
    try:
        return read_bytes(Path(directory, path))
    except FormatError as error:
        msg = f"{shown(path)} {error.what}"
        raise document.error(msg, place, "paths are relative to the message file") from None


def _data_url(mime: str, data: bytes) -> str:
    from base64 import b64encode

    return f"data:{mime};base64,{b64encode(data).decode()}"
