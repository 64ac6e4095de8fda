from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading
import time

import pytest

from pytest_convo.bot.threads import in_thread, running


def test_a_function_runs_in_a_daemon_thread_of_its_own():
    def where(a, b):
        thread = threading.current_thread()
        return a, b, thread.daemon, thread is not threading.main_thread()

    assert asyncio.run(in_thread(where, 1, 2)) == (1, 2, True, True)


def test_many_run_at_once():
    barrier = threading.Barrier(40)

    async def main():
        return await asyncio.gather(*(in_thread(barrier.wait, 10) for _ in range(40)))

    assert sorted(asyncio.run(main())) == list(range(40))


class Own(BaseException):
    pass


@pytest.mark.parametrize("error", [ValueError("x"), KeyError("x"), OSError("x"), Own("x")])
def test_what_the_function_raises_arrives_as_it_is(error):
    def fail():
        raise error

    with pytest.raises(type(error)) as raised:
        asyncio.run(in_thread(fail))

    assert raised.value is error


@pytest.mark.parametrize("error", [SystemExit(3), StopIteration(3)])
def test_what_would_break_the_loop_arrives_as_something_else(error):
    def fail():
        raise error

    with pytest.raises(RuntimeError, match=f"fail raised {type(error).__name__}: 3"):
        asyncio.run(in_thread(fail))


def test_context_variables_are_there():
    variable = contextvars.ContextVar("variable", default=0)

    async def main():
        variable.set(7)
        return await in_thread(variable.get)

    assert asyncio.run(main()) == 7


def test_running_names_what_has_not_returned_though_nobody_waits_for_it():
    started, may_end = threading.Event(), threading.Event()

    def slow_lookup():
        started.set()
        may_end.wait(10)

    async def main():
        task = asyncio.create_task(in_thread(slow_lookup))
        while not started.is_set():
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    named = running()
    may_end.set()
    while running():
        time.sleep(0.001)

    assert named == ["slow_lookup"]


def test_running_waits_for_what_is_about_to_return():
    may_end = threading.Event()

    async def main():
        task = asyncio.create_task(in_thread(may_end.wait, 10))
        await asyncio.sleep(0)
        threading.Timer(0.05, may_end.set).start()
        return running(patience=10), await task

    assert asyncio.run(main()) == ([], True)


def test_no_thread_is_left_when_its_function_has_returned():
    asyncio.run(in_thread(int))

    for thread in threading.enumerate():
        if thread.name.startswith("convo-int"):
            thread.join(5)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("convo-int")]


def test_a_function_that_hangs_does_not_hold_up_the_end_of_the_interpreter():
    program = """
import asyncio, threading
from pytest_convo.bot.threads import in_thread
async def main():
    asyncio.create_task(in_thread(threading.Event().wait))
    await asyncio.sleep(0.05)
asyncio.run(main())
"""
    assert subprocess.run([sys.executable, "-W", "error", "-c", program], timeout=20, check=False).returncode == 0
