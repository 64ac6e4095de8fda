from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from pytest_convo.watch.stop import Stop


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    before = signal.getsignal(signal.SIGUSR1)
    yield
    signal.signal(signal.SIGUSR1, before)


def test_before_the_first_step_a_signal_ends_it_at_once() -> None:
    Stop().at(signal.SIGUSR1)
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGUSR1)


def test_from_then_on_it_is_noted_and_whoever_waits_is_woken() -> None:
    woken = []
    stop = Stop()
    stop.at(signal.SIGUSR1)
    asked = stop.between_steps(lambda: woken.append(1))
    assert not asked()
    os.kill(os.getpid(), signal.SIGUSR1)
    assert (asked(), woken) == (True, [1])


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_one_that_was_lost_in_a_finaliser_is_known_all_the_same() -> None:
    class Tea:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGUSR1)

    stop = Stop()
    stop.at(signal.SIGUSR1)
    Tea()
    assert stop.between_steps(lambda: None)()


def test_what_is_ignored_stays_so() -> None:
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    Stop().at(signal.SIGUSR1)
    assert signal.getsignal(signal.SIGUSR1) == signal.SIG_IGN
