"""Several at once, and a machine that is busy: nothing is lost, and nothing is mixed up."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from .backend import Backend
from .case import Cases
from .seen import SOON

CASES = Cases()


@CASES.add(39, of_image=False)
def busy_process(backend: Backend) -> None:
    """No output is lost while other threads of this process use all that there is of it."""
    over = threading.Event()

    def spin() -> None:
        while not over.is_set():
            pass

    threads = [threading.Thread(target=spin, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        said = [backend.sandbox.execute("echo hi", SOON).output for _ in range(10)]
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert said == ["hi\n"] * 10, said


@CASES.add(40, of_image=False)
def eight_at_once(backend: Backend) -> None:
    """Eight sandboxes work at once, each for itself."""

    def one(number: int) -> str:
        sandbox = backend.open(folder=folder, permission="READ_WRITE")
        sandbox.execute(f"echo {number} >file; export NUMBER={number}")
        return sandbox.execute("cat file; echo $NUMBER", SOON).output

    folder = backend.folder({"file": "none"})
    with ThreadPoolExecutor(8) as threads:
        said = list(threads.map(one, range(8)))
    assert said == [f"{number}\n{number}\n" for number in range(8)], said


@CASES.add(59)
def several_threads(backend: Backend) -> None:
    """Commands of several threads in one sandbox run one after the other, each with its own output."""
    sandbox = backend.open()

    def one(number: int) -> str:
        return sandbox.execute(f"echo {number}; mkdir busy && sleep 0.2 && rmdir busy; echo {number}", SOON).output

    with ThreadPoolExecutor(4) as threads:
        said = list(threads.map(one, range(4)))
    assert said == [f"{number}\n{number}\n" for number in range(4)], said
