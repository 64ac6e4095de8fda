from __future__ import annotations

import asyncio

from pytest_convo.watch.gate import Gate


def test_each_call_waits_for_its_own_answer() -> None:
    told = []
    gate = Gate(told.append)

    async def ask() -> list[bool]:
        first, second = (asyncio.ensure_future(gate.ask("look", arguments, "found")) for arguments in ("1", "2"))
        await asyncio.sleep(0)
        gate.decide(told[1]["call"], send=False)
        assert await second is False
        assert not first.done()
        gate.decide(told[0]["call"], send=True)
        return [await first, await second]

    assert asyncio.run(ask()) == [True, False]
    assert [(note["kind"], note["call"]) for note in told] == [("gate", 0), ("gate", 1), ("gone", 1), ("gone", 0)]
    assert told[0] == {"kind": "gate", "call": 0, "name": "look", "arguments": "1", "result": "found"}


def test_an_answer_that_comes_too_late_is_nobody_s() -> None:
    told = []
    gate = Gate(told.append)

    async def cancelled() -> None:
        asked = asyncio.ensure_future(gate.ask("look", "1", "found"))
        await asyncio.sleep(0)
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)

    asyncio.run(cancelled())
    gate.decide(0, send=True)
    assert told[-1] == {"kind": "gone", "call": 0}
