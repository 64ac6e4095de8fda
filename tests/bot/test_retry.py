from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.bot.events import observed
from pytest_convo.bot.retry import LocalPauses, Retry, refusal, retry_after
from pytest_convo.conversation.reply import Usage
from pytest_convo.errors import BotFailure, ContextOverflow, HarnessError, NoCredentials, ProviderError


class Attempts:
    """Fails with each of `errors` in turn, then answers."""

    def __init__(self, *errors):
        self.errors = list(errors)
        self.made = 0

    async def __call__(self):
        self.made += 1
        if self.errors:
            raise self.errors.pop(0)
        return "answer"


def failed(status=None, after=None):
    return ProviderError(f"status {status}", status=status, retry_after=after)


def policy(clock, retries=3, **more):
    return Retry(retries, **{"chance": lambda: 0.0, "sleep": clock.sleep, **more})


def tried(clock, attempts, **more):
    pauses = LocalPauses(clock=clock, sleep=clock.sleep)
    return asyncio.run(policy(clock, **more).run(attempts, pauses))


@pytest.mark.parametrize("status", [None, 408, 409, 429, 500, 502, 503, 504, 529])
def test_what_may_pass_is_tried_again(clock, status):
    assert tried(clock, Attempts(failed(status), failed(status))) == ("answer", 3)


@pytest.mark.parametrize("status", [200, 400, 401, 402, 403, 404, 413, 422])
def test_a_refusal_is_final(clock, status):
    attempts = Attempts(failed(status))
    with pytest.raises(ProviderError) as raised:
        tried(clock, attempts)

    assert attempts.made == 1
    assert raised.value.hint == ""
    assert clock.slept == []


@pytest.mark.parametrize("error", [BotFailure("x"), ContextOverflow("x"), NoCredentials("x"), ValueError("x")])
def test_what_is_no_fault_of_the_server_is_final(clock, error):
    attempts = Attempts(error)
    with pytest.raises(type(error)):
        tried(clock, attempts)

    assert attempts.made == 1


def test_used_up_credit_is_final_though_it_is_a_429(clock):
    error = failed(429)
    error.transient = False
    with pytest.raises(ProviderError):
        tried(clock, attempts := Attempts(error))

    assert attempts.made == 1


@pytest.mark.parametrize("retries", [0, 1, 4])
def test_attempts_are_counted(clock, retries):
    attempts = Attempts(*[failed(500)] * 9)
    with pytest.raises(ProviderError) as raised:
        tried(clock, attempts, retries=retries)

    assert attempts.made == retries + 1
    assert raised.value.hint == (f"given up after {retries + 1} attempts" if retries else "")


def test_the_wait_doubles_up_to_its_cap(clock):
    tried(clock, Attempts(*[failed(500)] * 6), retries=6, first=0.5, cap=4.0)

    assert clock.slept == [0.5, 1, 2, 4, 4, 4]


@given(st.integers(1, 2000), st.integers(0, 2**32))
def test_chance_takes_at_most_half_of_the_wait_and_a_seed_repeats_it(attempt, seed):
    def delay():
        return Retry(9999, first=1.0, cap=8.0, chance=random.Random(seed).random).delay(failed(500), attempt)

    full = min(8.0, 2.0 ** min(attempt - 1, 20))
    assert full / 2 <= delay() <= full
    assert delay() == delay()


def test_the_wait_is_as_long_as_the_server_asks(clock):
    tried(clock, Attempts(failed(503, after=17.0), failed(429, after=0.0)))

    assert clock.slept == [17.0]


def test_a_server_that_asks_for_too_long_is_not_waited_for(clock):
    with pytest.raises(ProviderError, match="asks to wait 3600 s, longer than the 60 s"):
        tried(clock, Attempts(failed(429, after=3600.0)))

    assert clock.slept == []


def test_a_429_holds_up_everybody_and_other_errors_only_the_one(clock):
    class Noted(LocalPauses):
        def hold(self, seconds):
            held.append(seconds)
            super().hold(seconds)

    held: list[float] = []
    asyncio.run(policy(clock).run(Attempts(failed(503, 3.0), failed(429, 5.0)), Noted(clock=clock, sleep=clock.sleep)))

    assert held == [5.0]
    assert clock.slept == [3.0, 5.0]


def test_all_wait_until_the_longest_pause_is_over(clock):
    pauses = LocalPauses(clock=clock, sleep=clock.sleep)
    pauses.hold(5.0)
    pauses.hold(2.0)

    async def wait_and_look():
        await pauses.wait()
        return clock.now

    async def both():
        return await asyncio.gather(wait_and_look(), wait_and_look())

    began = clock.now
    assert min(asyncio.run(both())) - began >= 5.0


def test_a_pause_that_grows_while_one_waits_is_waited_for():
    now, pauses = [0.0], None

    async def sleep(seconds):
        now[0] += seconds
        if now[0] < 5:
            pauses.hold(5.0)

    pauses = LocalPauses(clock=lambda: now[0], sleep=sleep)
    pauses.hold(1.0)
    asyncio.run(pauses.wait())

    assert now[0] == 6.0


def test_a_cancellation_is_never_tried_again(clock):
    with pytest.raises(asyncio.CancelledError):
        tried(clock, attempts := Attempts(asyncio.CancelledError()))

    assert attempts.made == 1


def test_a_cancellation_ends_the_wait_at_once():
    async def main():
        task = asyncio.create_task(Retry(3, first=3600, cap=3600).run(Attempts(failed(500)), LocalPauses()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())


def test_observers_hear_of_each_further_attempt_and_its_reason(clock):
    heard = []
    with observed(heard.append):
        tried(clock, Attempts(failed(500), failed(429, after=2.0)))

    assert heard == [
        {"kind": "retry", "attempt": 1, "reason": "status 500", "delay": 0.5},
        {"kind": "request", "attempt": 2},
        {"kind": "retry", "attempt": 2, "reason": "status 429", "delay": 2.0},
        {"kind": "request", "attempt": 3},
    ]


def test_the_pause_after_a_429_does_not_use_up_a_run_s_time():
    from pytest_convo.bot.deadline import within

    limited = ProviderError("limited", status=429, retry_after=0.2)

    async def ask() -> str:
        async with within(0.1):
            return (await Retry(1).run(Attempts(limited), LocalPauses()))[0]

    assert asyncio.run(ask()) == "answer"


@pytest.mark.parametrize(
    "error, usage",
    [
        (failed(503), Usage()),
        (ContextOverflow("too long"), Usage()),
        (BotFailure("filtered"), Usage()),
        (ProviderError("broke off"), None),
        (HarnessError("crashed"), None),
        (asyncio.CancelledError(), None),
    ],
)
def test_what_a_server_refuses_takes_nothing(error, usage):
    assert refusal(error) == usage


NOW = 784111777.0  # Sun, 06 Nov 1994 08:49:37 GMT


@pytest.mark.parametrize(
    "headers, seconds",
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "Sun, 06 Nov 1994 08:49:47 GMT"}, 10.0),
        ({"retry-after": "Sun, 06 Nov 1994 08:49:07 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "2"}, 2.0),
        ({"x-ratelimit-reset-requests": "6m0s"}, None),
        ({"x-ratelimit-reset-requests": "6m0s", "x-ratelimit-remaining-requests": "0"}, 360.0),
        ({"x-ratelimit-reset-tokens": "1.5s", "x-ratelimit-remaining-tokens": "0"}, 1.5),
        ({"x-ratelimit-reset-tokens": "20ms", "x-ratelimit-remaining-tokens": "0"}, 0.02),
        ({"x-ratelimit-reset-tokens": "1h2m3s", "x-ratelimit-remaining-tokens": "0"}, 3723.0),
        ({"x-ratelimit-reset-tokens": "12", "x-ratelimit-remaining-tokens": "0"}, 12.0),
        ({"x-ratelimit-reset-tokens": "later", "x-ratelimit-remaining-tokens": "0"}, None),
    ],
)
def test_how_long_a_server_asks_to_wait(headers, seconds):
    assert retry_after(headers, now=lambda: NOW) == pytest.approx(seconds)


@given(st.dictionaries(st.sampled_from(["retry-after", "retry-after-ms", "x-ratelimit-reset-tokens"]), st.text()))
def test_no_header_whatever_breaks_it(headers):
    seconds = retry_after({**headers, "x-ratelimit-remaining-tokens": "0"})

    assert seconds is None or seconds >= 0
