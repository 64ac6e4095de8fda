from __future__ import annotations

import asyncio

import pytest

from pytest_convo.run.slots import Place, Slots


def test_the_limit_is_never_exceeded_and_always_used():
    async def main() -> list[int]:
        slots, busy, seen = Slots(3), 0, []

        async def work(rank: int) -> None:
            nonlocal busy
            place = Place(slots, (rank,))
            await place.take()
            busy += 1
            seen.append(busy)
            await asyncio.sleep(0)
            busy -= 1
            place.give_up()

        await asyncio.gather(*map(work, range(20)))
        assert slots.free == 3
        return seen

    assert max(asyncio.run(main())) == 3


def test_the_lowest_rank_is_served_first():
    async def main() -> list[int]:
        slots, served = Slots(1), []
        assert slots.take()

        async def work(rank: int) -> None:
            await slots.acquire((rank,))
            served.append(rank)
            slots.release()

        waiting = [asyncio.create_task(work(rank)) for rank in (5, 1, 3)]
        await asyncio.sleep(0)
        slots.release()
        await asyncio.gather(*waiting)
        return served

    assert asyncio.run(main()) == [1, 3, 5]


def test_whoever_is_cancelled_while_being_served_gives_the_slot_back():
    async def main() -> int:
        slots = Slots(1)
        slots.take()
        waiting = asyncio.create_task(slots.acquire((1,)))
        await asyncio.sleep(0)
        slots.release()  # serves the waiting task, which has not run since
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return slots.free

    assert asyncio.run(main()) == 1


def test_whoever_gives_up_waiting_is_passed_over():
    async def main() -> int:
        slots = Slots(1)
        slots.take()
        waiting = asyncio.create_task(slots.acquire((1,)))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        slots.release()
        return slots.free

    assert asyncio.run(main()) == 1


def test_a_lent_place_is_used_by_others_and_taken_again():
    async def main() -> tuple[int, int, int]:
        slots = Slots(1)
        place = Place(slots, (1,))
        await place.take()
        async with place.lent():
            lent = slots.free
        held = slots.free
        place.give_up()
        place.give_up()
        return lent, held, slots.free

    assert asyncio.run(main()) == (1, 0, 1)


def test_a_block_that_raises_leaves_its_place_free():
    async def main() -> int:
        slots = Slots(1)
        place = Place(slots, (1,))
        await place.take()
        with pytest.raises(ValueError, match="broken"):
            async with place.lent():
                raise ValueError("broken")
        place.give_up()
        return slots.free

    assert asyncio.run(main()) == 1


def test_a_free_slot_that_nobody_waits_for_is_offered():
    offered = []
    slots = Slots(1, lambda: offered.append(True))
    slots.take()
    slots.release()
    assert offered == [True]
