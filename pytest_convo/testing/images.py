"""Images for tests of sandboxes that no registry is asked for: made from the programs of this machine.

```python
client = docker.from_env()
spec = SandboxSpec(image=images.hostbin(client))
```
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import SandboxUnavailable
from ..sandbox.cached import locked

if TYPE_CHECKING:
    from docker import DockerClient

VERSION = 1
"""Counted up whenever an image of the same name would be another one."""

PROGRAMS = """
awk base64 basename bash cat chmod chown cmp cp cut date dd diff dirname env expr false find grep head hostname id kill
ln ls mkdir mktemp more mount mv nohup od printf ps pwd readlink realpath rm rmdir sed seq setsid sh sleep sort stat
tail tar tee test timeout touch tr true uniq wc which whoami xargs yes
"""
"""What a script may take for granted; what this machine has of it."""

DIRECTORIES = ("bin", "dev", "etc", "home", "lib", "lib64", "proc", "root", "run", "sys", "usr", "workspace")

USERS = {"etc/passwd": "root:x:0:0:root:/root:/bin/sh\n", "etc/group": "root:x:0:\n"}

LEFT_OUT = frozenset(
    "dist-packages ensurepip idlelib lib2to3 site-packages test tests tkinter turtledemo".split()  # noqa: SIM905
)
"""Parts of Python's standard library that no sandbox needs, and what was installed beside it."""


def hostbin(client: DockerClient) -> str:
    """An image with bash and the usual commands, copied with the libraries that they need: 10 MB, half a second."""
    return _image(client, "hostbin", lambda image: image.programs(PROGRAMS.split()))


def hostpython(client: DockerClient) -> str:
    """The same with this machine's Python and its standard library."""

    def fill(image: Image) -> None:
        image.programs(PROGRAMS.split())
        image.python()

    return _image(client, "hostpython", fill)


def busybox(client: DockerClient) -> str:
    """An image of busybox alone, whose shell is another one; this machine must have it, linked statically."""
    return _image(client, "busybox", lambda image: image.busybox())


def _image(client: DockerClient, name: str, fill: Callable[[Image], None]) -> str:
    """The tag of an image; made now if the engine does not have it."""
    from docker.errors import ImageNotFound

    repository, tag = f"pytest-convo-test/{name}", str(VERSION)
    with locked(f"{repository}:{tag}"):
        try:
            client.images.get(f"{repository}:{tag}")
        except ImageNotFound:
            image = Image()
            fill(image)
            changes = ["ENV PATH=/bin", "LABEL pytest-convo.test=1"]
            client.api.import_image_from_data(image.packed(), repository=repository, tag=tag, changes=changes)
    return f"{repository}:{tag}"


class Image:
    """The files of an image in the making, as a tar archive in memory."""

    def __init__(self) -> None:
        self._data = io.BytesIO()
        self._archive = tarfile.open(fileobj=self._data, mode="w")  # noqa: SIM115  # until it is packed
        self._names: set[str] = set()
        for name in DIRECTORIES:
            self._directory(name)
        self._directory("tmp", 0o1777)
        self._link("usr/bin", "../bin")
        for name, text in USERS.items():
            self._put(self._info(name, len(text)), text.encode())

    def packed(self) -> bytes:
        self._archive.close()
        return self._data.getvalue()

    def programs(self, names: Iterable[str]) -> None:
        """Copy programs of this machine to `/bin`, and the libraries that they need to where they are."""
        found = [path for name in names if (path := shutil.which(name, path=os.defpath + ":/usr/sbin:/sbin"))]
        for path in found:
            self._file(f"bin/{Path(path).name}", path)
        self._libraries(found)

    def python(self) -> None:
        """Copy the Python that runs this, without what was installed into it, to where it is; and a name in `/bin`."""
        program = os.path.realpath(sys.executable)
        library = Path(sysconfig.get_path("stdlib"))
        self._file(program.lstrip("/"), program)
        for name in ("python3", "python"):
            if f"usr/bin/{name}" != program.lstrip("/"):
                self._link(f"bin/{name}", program)
        files = list(_standard_library(library))
        for path in files:
            self._file(str(path).lstrip("/"), path)
        self._libraries([program, *(path for path in files if path.suffix == ".so")])

    def busybox(self) -> None:
        """Copy busybox to `/bin`, with a link for each of its commands."""
        path = shutil.which("busybox")
        if path is None or _libraries([path]):
            msg = "this machine has no busybox that is linked statically"
            raise SandboxUnavailable(msg, hint="apt-get install busybox-static")
        self._file("bin/busybox", path)
        listed = subprocess.run([path, "--list"], capture_output=True, text=True, check=True)  # noqa: S603
        for name in listed.stdout.split():
            self._link(f"bin/{name}", "busybox")

    def _libraries(self, programs: Iterable[str | Path]) -> None:
        for path in _libraries(programs):
            self._file(path.lstrip("/"), path)

    def _file(self, name: str, source: str | Path) -> None:
        data = Path(source).read_bytes()
        self._put(self._info(name, len(data), 0o755 if os.access(source, os.X_OK) else 0o644), data)

    def _link(self, name: str, target: str) -> None:
        info = self._info(name)
        info.type, info.linkname = tarfile.SYMTYPE, target
        self._put(info)

    def _directory(self, name: str, mode: int = 0o755) -> None:
        info = self._info(name, mode=mode)
        info.type = tarfile.DIRTYPE
        self._put(info)

    def _info(self, name: str, size: int = 0, mode: int = 0o644) -> tarfile.TarInfo:
        info = tarfile.TarInfo(name)
        info.size, info.mode = size, mode
        return info

    def _put(self, info: tarfile.TarInfo, data: bytes = b"") -> None:
        if info.name not in self._names:
            self._names.add(info.name)
            self._archive.addfile(info, io.BytesIO(data))


def _libraries(programs: Iterable[str | Path]) -> set[str]:
    """The paths of the shared libraries that programs need, the loader's among them."""
    listed = subprocess.run(["ldd", *map(str, programs)], capture_output=True, text=True)  # noqa: S603, S607
    return set(re.findall(r"(?:=> |^\t)(/\S+) \(0x", listed.stdout, re.MULTILINE))


def _standard_library(library: Path) -> Iterator[Path]:
    for directory, directories, files in os.walk(library):
        directories[:] = [name for name in directories if name not in LEFT_OUT and not name.startswith("config-")]
        cache = f".{sys.implementation.cache_tag}.pyc"
        yield from (Path(directory, name) for name in files if not name.endswith(".pyc") or name.endswith(cache))
