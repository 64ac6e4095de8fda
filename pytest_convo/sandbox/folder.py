"""The folder of a sandbox: bound into the container as it is, or as a private copy whose changes can be told."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import SandboxUnavailable
from . import workspace
from .base import KIB, WORKSPACE, Change, SandboxSpec
from .changes import Manifest
from .command import READY
from .output import HeadTail

if TYPE_CHECKING:
    from docker.types import Mount

    from .container import Container

_OPEN = f"""printf %s "$1"
chmod -R a+rwX {WORKSPACE} 2>/dev/null
chown -hR "$2" {WORKSPACE} 2>/dev/null
exit 0
"""
_OPENING = 60.0


@dataclass(frozen=True, slots=True)
class Folder:
    """What stands at `/workspace`."""

    source: Path
    copy: Path | None = None
    """The private copy, where the sandbox may write."""
    foreign: bool = False
    """Whether files in the copy may belong to another user than ours."""
    manifest: Manifest | None = None
    """Of the copy as it was, where what becomes of it counts: in a folder that is scratch it does not."""

    @classmethod
    def of(cls, spec: SandboxSpec, *, shares_files: bool) -> Folder | None:
        """The folder that `spec` asks for; raises `SandboxUnavailable` where the engine does not see our files."""
        if spec.folder is None:
            return None
        if not shares_files:
            msg = f"the container engine is reached over a network and may not see the folder {spec.folder}"
            raise SandboxUnavailable(msg, hint="Use an engine of this machine, or have the files in the image.")
        source = workspace.usable(spec.folder)
        if spec.permission == "READ_ONLY" and not spec.scratch:
            return cls(source)
        copy = workspace.private_copy(source)
        counts = spec.permission == "READ_WRITE" and not spec.scratch
        return cls(source, copy, manifest=Manifest.of(copy, source) if counts else None)

    def mount(self) -> Mount:
        """As docker-py wants it. A `Mount` fails where the folder is not; a volume would make one (moby#13121)."""
        from docker.types import Mount

        mount = Mount(WORKSPACE, str(self.copy or self.source), type="bind", read_only=self.copy is None)
        # What is mounted further below would be writable in a folder that is read-only (moby#37838).
        mount["BindOptions"] = {"NonRecursive": True}
        return mount

    def handed_to(self, uid: int, gid: int) -> Folder:
        """The folder, its copy given to the sandbox's user: by its owner where we are root, else open to everybody."""
        if self.copy is None or (uid, gid) == (os.getuid(), os.getgid()):
            return self
        for path in _everything(self.copy):
            if os.getuid() == 0:
                mode = path.lstat().st_mode
                os.chown(path, uid, gid, follow_symlinks=False)
                if not stat.S_ISLNK(mode):  # a change of owner takes away set-user-id
                    path.chmod(stat.S_IMODE(mode))
            elif not path.is_symlink():
                mode = stat.S_IMODE(path.lstat().st_mode)
                path.chmod(mode | 0o666 | (0o111 if path.is_dir() or mode & 0o111 else 0))
        # Modes are part of it; those given here are such that opening it from inside leaves them as they are.
        return replace(self, foreign=True, manifest=self.manifest and Manifest.of(self.copy, self.source))

    def open_from_inside(self, container: Container) -> None:
        """Let us read and remove what the sandbox's user made, and others may not touch: only they can change that."""
        if self.copy is None or not self.foreign or os.getuid() == 0:
            return  # root reads and removes everything
        arguments = ["sh", "-c", _OPEN, "convo", READY.decode(), f"{os.getuid()}:{os.getgid()}"]
        as_whom = container.users.killer  # root, where it has its capabilities
        container.execute(arguments, b"", HeadTail(0), HeadTail(0), user=as_whom, timeout=_OPENING, most=KIB)

    def changes(self) -> list[Change]:
        """What is not as it was; nothing where the sandbox may not write, or nothing of it lasts."""
        return [] if self.manifest is None else self.manifest.changes()

    def diff(self, limit: int) -> str:
        """The changes as a unified diff of at most `limit` characters."""
        return "" if self.manifest is None else self.manifest.diff(limit)

    def leave(self) -> None:
        """Let the private copy stay when this process has gone."""
        if self.copy is not None:
            workspace.leave(self.copy.parent)

    def remove(self) -> None:
        """The private copy; what the folder itself holds is never touched."""
        if self.copy is not None:
            workspace.remove(self.copy.parent)


def _everything(folder: Path) -> Iterator[Path]:
    yield folder
    for directory, directories, files in os.walk(folder):
        yield from (Path(directory, name) for name in (*directories, *files))
