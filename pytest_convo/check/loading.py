"""Python files of checks: loaded by path, again when they have changed, in a name space of their own.

Each folder with check files is a package of ours, `convo_checks.<its digest>`, so that two folders may each have a
`checks.py` and no module of the user's is shadowed. A file reaches its neighbours as `from .helpers import ...`. They
are imported by the ordinary machinery: whoever registers `PACKAGE` with `pytest.register_assert_rewrite` gets pytest's
assertion messages in them.
"""

from __future__ import annotations

import importlib
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from types import ModuleType

from ..errors import CheckError

PACKAGE = "convo_checks"

_lock = threading.RLock()
_stamps: dict[str, dict[Path, tuple[int, int]]] = {}
"""Package → the files it was loaded from, with the time of change and the size that they had."""


def load(path: Path) -> ModuleType:
    """The module of the file; the same object until it or a neighbour it imported changes.

    Raises `CheckError` where there is no such file, or where it cannot be imported: with the line at fault.
    """
    if not path.is_file():
        msg = "there is no such file of checks"
        raise CheckError(msg, path=path, hint=_files_in(path.parent))
    if path.suffix != ".py" or "." in path.stem:
        msg = "a file of checks is named like a module: checks.py"
        raise CheckError(msg, path=path)
    with _lock:
        package = _package(path.absolute().parent)
        if any(_stamp(file) != stamp for file, stamp in _stamps.get(package, {}).items()):
            _forget(package)
            package = _package(path.absolute().parent)
        return _import(f"{package}.{path.stem}", path)


def _import(name: str, path: Path) -> ModuleType:
    package = name.rpartition(".")[0]
    if name in sys.modules:
        return sys.modules[name]
    importlib.invalidate_caches()
    try:
        with _no_bytecode():
            module = importlib.import_module(name)
    except (Exception, SystemExit) as error:
        _forget(package)
        raise _unloadable(error, path, package) from error
    _stamps[package] = {file: _stamp(file) for file in _files_of(package)}
    return module


def _package(folder: Path) -> str:
    """The name of the folder's package, made where it is not there yet."""
    name = f"{PACKAGE}.{blake2b(str(folder).encode(), digest_size=6).hexdigest()}"
    if name not in sys.modules:
        package = ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules[name] = package
    return name


def _forget(package: str) -> None:
    _stamps.pop(package, None)
    for name in [name for name in list(sys.modules) if name == package or name.startswith(f"{package}.")]:
        del sys.modules[name]


def _files_of(package: str) -> Iterator[Path]:
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{package}.") and module.__file__:
            yield Path(module.__file__)


def _stamp(file: Path) -> tuple[int, int]:
    try:
        status = file.stat()
    except OSError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_size)


@contextmanager
def _no_bytecode() -> Iterator[None]:
    """Nothing is written beside the user's messages; and bytecode would hide an edit made within the same second."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


def _unloadable(error: BaseException, path: Path, package: str) -> CheckError:
    if isinstance(error, SyntaxError):
        msg = f"{type(error).__name__}: {error.msg}"
        return CheckError(msg, path=error.filename or path, line=error.lineno)
    frame = innermost(error, path.absolute().parent)
    msg = f"{type(error).__name__} while it was loaded: {error}".replace(f"{package}.", ".")
    where, line = (frame.filename, frame.lineno) if frame else (path, None)
    return CheckError(msg, path=where, line=line, hint=_neighbour(error, path))


def innermost(error: BaseException, under: Path) -> traceback.FrameSummary | None:
    """The deepest frame of the error's traceback in a file at or below `under`."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(under)]
    return ours[-1] if ours else None


def _neighbour(error: BaseException, path: Path) -> str:
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    if name and (path.parent / f"{name}.py").is_file():
        return f"a neighbour is imported as: from .{name} import ... (two folders may each have a {name}.py)"
    return ""


def _files_in(folder: Path) -> str:
    names = sorted(file.name for file in folder.glob("*.py"))[:8] if folder.is_dir() else []
    return f"Python files in {folder}: {', '.join(names)}" if names else f"there are no Python files in {folder}"
