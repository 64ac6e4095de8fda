"""The folder of a sandbox: which may be one, and how a private copy of it comes and goes."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from ..errors import SandboxError
from .whose import host, started

PREFIX = "pytest-convo-"
"""How the name of every temporary directory of ours begins. What is named otherwise is not removed."""

KEPT = ".kept"
"""A file in a directory that is to stay when its process has gone."""

SOCKETS = ("docker.sock", "podman/podman.sock")
"""Sockets of engines, below a directory of what runs: who reaches one is as good as root on this machine."""

_MADE_BY = re.compile(rf"{PREFIX}(?P<place>[0-9a-f]{{6}})-(?P<pid>\d+)-(?P<started>\d*)-.")


def usable(folder: Path) -> Path:
    """The folder's absolute path; `SandboxError` for one that is missing, or that no agent should get hold of."""
    path = Path(os.path.abspath(folder))  # noqa: PTH100  # with `..` taken out, and links as they are
    if not path.is_dir():
        msg = f"the folder {path} does not exist" if not path.exists() else f"{path} is no folder"
        raise SandboxError(msg)
    real = path.resolve()
    if str(real) == real.root:
        held = "is the root of this machine's files"
    elif (home := _home()) is not None and home.is_relative_to(real):
        held = f"{'is' if home == real else 'holds'} your home directory"
    elif socket := next((socket for socket in _sockets() if socket.is_relative_to(real)), None):
        held = f"holds the container engine's socket {socket}"
    else:
        return path
    msg = f"the folder {path} {held}, and is not given to an agent"
    raise SandboxError(msg, hint="give it a folder of its own, for instance one below the test file")


def directory(kind: str = "") -> Path:
    """A new temporary directory that only this user can enter, and that `remove` will remove.

    Its name says which process made it, so that `sweep` knows when nobody is left to remove it.
    """
    pid = os.getpid()
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{_place()}-{pid}-{started(pid) or ''}-{kind}")).resolve()


def leave(path: Path) -> None:
    """Let a `directory` stay when this process has gone, until somebody removes it."""
    (path / KEPT).touch()


def sweep() -> None:
    """Remove the directories that processes of this user and machine have left, which were killed; not what is kept.

    `SandboxError` where some cannot be removed, when the others are.
    """
    failed = []
    for path in Path(tempfile.gettempdir()).resolve().glob(f"{PREFIX}*"):
        if _is_left(path):
            try:
                remove(path)
            except SandboxError as error:
                if path.exists():  # else another session was quicker
                    failed.append(error)
    if failed:
        raise failed[0]


def private_copy(folder: Path) -> Path:
    """A copy of a folder, as `workspace` in a new `directory`; who is done with it removes `copy.parent`."""
    target = directory() / "workspace"
    try:
        copy(folder, target)
    except BaseException:
        remove(target.parent)
        raise
    return target


def copy(folder: Path, target: Path) -> None:
    """Copy a folder with modes and times, links as links wherever they lead; sockets, pipes and devices are left out.

    The copies belong to who copies: an owner that is not the sandbox's user could not be written to there.
    """
    try:
        shutil.copytree(folder, target, symlinks=True, copy_function=_copy_file)
    except shutil.Error as error:
        source, _, why = error.args[0][0]
        msg = f"{source} cannot be copied: {why}"
        raise SandboxError(msg) from None
    except OSError as error:
        msg = f"the folder {folder} cannot be copied: {error}"
        raise SandboxError(msg) from None


def remove(path: Path) -> None:
    """Remove a `directory` with all that is in it, also what is not writable; one that is missing is no error.

    Anything else is refused: a path that came out wrong must not cost somebody their files. Directories are first moved
    up beside each other: no depth is then too deep for a path. `SandboxError` where something cannot be removed, as a
    rule because it belongs to another user.
    """
    if not _is_ours(path):
        msg = f"{str(path)!r} is no temporary directory of pytest-convo's, and is not removed"
        raise SandboxError(msg)
    try:
        if not path.exists():
            return
        beside = Path(tempfile.mkdtemp(prefix=f"{path.name}-", dir=path.parent))
        directories, names = [str(path)], count()
        while directories:
            directories += _emptied(directories.pop(), beside, names)
        beside.rmdir()
    except OSError as error:
        msg = f"{path} cannot be removed: {error}"
        raise SandboxError(msg) from None


def _is_ours(path: Path) -> bool:
    """Whether a path can only be of a `directory`: by its name, directly below the temporary one, and no link."""
    return (
        path.is_absolute()
        and path.name.startswith(PREFIX)
        and path.name != PREFIX
        and path.parent.resolve() == Path(tempfile.gettempdir()).resolve()
        and not path.is_symlink()
    )


def _is_left(path: Path) -> bool:
    """Whether the process that made a `directory` has gone, and it was one of this user and machine."""
    made_by = _MADE_BY.match(path.name)
    if made_by is None or made_by["place"] != _place() or started(int(made_by["pid"])) == made_by["started"]:
        return False
    try:
        return path.lstat().st_uid == os.getuid() and not (path / KEPT).exists()
    except FileNotFoundError:
        return False  # another session has just removed it


def _place() -> str:
    """This machine, as far as numbers of processes go, in six characters."""
    return hashlib.sha256(host().encode()).hexdigest()[:6]


def _emptied(directory: str, beside: Path, names: Iterator[int]) -> list[str]:
    """Remove a directory; its directories are moved `beside`, where they are yet to be removed.

    What a sandbox that outlived its engine puts in the place of a directory meanwhile, a link for instance, is an
    OSError: only what was opened as a directory is emptied.
    """
    moved = []
    _let_in(directory)
    opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        with os.scandir(opened) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    _let_in(entry.name, opened)  # also to be moved it must be writable
                    moved.append(f"{beside}/{next(names)}")
                    os.rename(entry.name, moved[-1], src_dir_fd=opened)
                else:
                    os.unlink(entry.name, dir_fd=opened)
    finally:
        os.close(opened)
    os.rmdir(directory)  # noqa: PTH106
    return moved


def _let_in(name: str, below: int | None = None) -> None:
    """Make a directory ours to enter, to read and to write, whatever its mode; a link is not followed."""
    if os.chmod in os.supports_follow_symlinks:
        os.chmod(name, stat.S_IRWXU, dir_fd=below, follow_symlinks=False)
        return
    opened = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=below)  # Linux
    try:
        os.chmod(f"/proc/self/fd/{opened}", stat.S_IRWXU)  # noqa: PTH101
    finally:
        os.close(opened)


def _copy_file(source: str, target: str) -> None:
    if stat.S_ISREG(os.lstat(source).st_mode):
        shutil.copy2(source, target)


def _home() -> Path | None:
    home = os.environ.get("HOME", "")
    return Path(home).resolve() if os.path.isabs(home) else None  # noqa: PTH117


def _sockets() -> Iterator[Path]:
    """Where engines listen on this machine, with links followed."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    directories = ["/run", "/var/run", *([runtime] if runtime else [])]
    named = [str(Path(directory, name)) for directory in directories for name in SOCKETS]
    kind, _, named_by_user = os.environ.get("DOCKER_HOST", "").partition("://")
    if kind == "unix":
        named.append(named_by_user)
    yield from (path.resolve() for path in map(Path, named) if path.exists())
