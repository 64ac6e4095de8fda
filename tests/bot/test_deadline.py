from __future__ import annotations

import asyncio

import pytest

from pytest_convo.bot.deadline import limited, untimed

pytestmark = pytest.mark.asyncio


async def test_time_that_is_not_counted_does_not_use_up_the_limit():
    async with asyncio.timeout(0.05) as limit:
        with limited(limit):
            with untimed():
                await asyncio.sleep(0.2)
            await asyncio.sleep(0)
    assert not limit.expired()


async def test_what_was_left_is_left_afterwards():
    now = asyncio.get_running_loop().time
    async with asyncio.timeout(60) as limit:
        with limited(limit):
            before = limit.when() - now()
            with untimed():
                assert limit.when() is None
                await asyncio.sleep(0.1)
            assert limit.when() - now() == pytest.approx(before, abs=0.05)


async def test_all_other_time_still_counts():
    async def too_long() -> None:
        async with asyncio.timeout(0.05) as limit:
            with limited(limit):
                with untimed():
                    await asyncio.sleep(0.1)
                await asyncio.sleep(60)

    with pytest.raises(TimeoutError):
        await too_long()


async def test_several_may_wait_at_once_and_the_last_starts_the_clock():
    release = [asyncio.Event(), asyncio.Event()]

    async def wait(event: asyncio.Event) -> None:
        with untimed():
            await event.wait()

    async with asyncio.timeout(60) as limit:
        with limited(limit):
            waiting = [asyncio.create_task(wait(event)) for event in release]
            await asyncio.sleep(0)
            release[0].set()
            await waiting[0]
            assert limit.when() is None
            release[1].set()
            await waiting[1]
            assert limit.when() is not None


async def test_without_a_limit_nothing_happens():
    with untimed():
        await asyncio.sleep(0)


async def test_a_task_may_outlive_the_limit():
    go_on = asyncio.Event()

    async def wait() -> str:
        with untimed():
            await go_on.wait()
        return "done"

    async with asyncio.timeout(60) as limit:
        with limited(limit):
            task = asyncio.create_task(wait())
            await asyncio.sleep(0)
    go_on.set()
    assert await task == "done"


async def test_a_wait_that_begins_after_the_time_is_up_changes_nothing():
    async def waits_too_late() -> None:
        async with asyncio.timeout(0.01) as limit:
            with limited(limit):
                try:
                    await asyncio.sleep(60)
                finally:
                    with untimed():
                        pass

    with pytest.raises(TimeoutError):
        await waits_too_late()
