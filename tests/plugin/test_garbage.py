"""The search for garbage waits while conversations are collected, and is as it was when the session ends."""

from __future__ import annotations

import gc

import pytest

from pytest_convo.collect.garbage import Garbage

WATCH = """
    import gc
    from pathlib import Path

    def seen(when):
        with Path("seen.txt").open("a") as file:
            file.write(f"{when} {gc.isenabled()} {gc.get_freeze_count() > 0}\\n")

    def pytest_collection_modifyitems():
        seen("collecting")

    def pytest_runtest_setup():
        seen("running")
"""


@pytest.fixture(autouse=True)
def as_it_was():
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
    yield
    gc.unfreeze()
    gc.enable()


def seen(convos) -> list[str]:
    return (convos.path / "seen.txt").read_text().splitlines()


def test_nobody_searches_while_conversations_are_collected_nor_in_them_afterwards(convos):
    convos.say("a")
    convos.pytester.makeconftest(WATCH)
    assert convos.pytester.runpytest_inprocess().ret == 0
    assert seen(convos) == ["collecting False False", "running True True"]
    assert (gc.isenabled(), gc.get_freeze_count()) == (True, 0)


def test_a_session_without_conversations_searches_as_ever(convos):
    convos.pytester.makepyfile("def test_x(): pass")
    convos.pytester.makeconftest(WATCH)
    assert convos.pytester.runpytest_inprocess().ret == 0
    assert seen(convos) == ["collecting True False", "running True False"]


@pytest.mark.parametrize(
    "conftest, args, code",
    [
        ("", ["--collect-only"], pytest.ExitCode.OK),
        ("", ["a/convo.toml::run-7"], pytest.ExitCode.USAGE_ERROR),
        ("raise KeyboardInterrupt", ["a", "b"], pytest.ExitCode.INTERRUPTED),
        ("def pytest_collection_modifyitems(): raise KeyboardInterrupt", ["a", "b"], pytest.ExitCode.INTERRUPTED),
        ("def pytest_collection_modifyitems(): 1 / 0", ["a", "b"], pytest.ExitCode.INTERNAL_ERROR),
        ("def pytest_collection_finish(): raise KeyboardInterrupt", ["a", "b"], pytest.ExitCode.INTERRUPTED),
    ],
)
def test_however_collection_ends_the_search_goes_on(convos, conftest, args, code):
    convos.say("a")
    convos.say("b", {"c/conftest.py": conftest, "c/0000_user.md": "Hello?"})
    assert convos.pytester.runpytest_inprocess(*args, no_reraise_ctrlc=True).ret == code
    assert (gc.isenabled(), gc.get_freeze_count()) == (True, 0)


def test_an_error_of_collection_leaves_nothing_aside(convos):
    convos.say("a", toml="runz = 2\n")
    assert convos.pytester.runpytest_inprocess().ret == pytest.ExitCode.INTERRUPTED
    assert (gc.isenabled(), gc.get_freeze_count()) == (True, 0)


def test_who_has_switched_it_off_keeps_it_off():
    gc.disable()
    garbage = Garbage()
    garbage.wait()
    garbage.search()
    assert (gc.isenabled(), gc.get_freeze_count()) == (False, 0)


def test_what_others_have_set_aside_stays_there():
    gc.freeze()
    before = gc.get_freeze_count()
    garbage = Garbage()
    garbage.wait()
    garbage.search()
    garbage.forget()
    assert gc.isenabled()
    assert 0 < gc.get_freeze_count() <= before


def test_it_may_wait_again_after_others_have_switched_it_on():
    garbage = Garbage()
    garbage.wait()
    gc.enable()
    garbage.wait()
    assert not gc.isenabled()
    garbage.forget()
    assert (gc.isenabled(), gc.get_freeze_count()) == (True, 0)
