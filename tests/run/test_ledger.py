from __future__ import annotations

import asyncio
import multiprocessing
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.agreement.outcome import Outcome
from pytest_convo.agreement.verdict import Tally
from pytest_convo.run.notebook import Notebook
from pytest_convo.run.shared import FORGOTTEN, PREFIX, SharedLedger, open_ledger, sweep


@pytest.fixture(params=["memory", "file"])
def ledger(request, tmp_path):
    ledger = SharedLedger(tmp_path / "shared") if request.param == "file" else Notebook()
    yield ledger
    ledger.close()


def test_outcomes_are_tallied_by_group(ledger):
    ledger.record("a", "a::run-1", Outcome.PASS)
    ledger.record("a", "a::run-2", Outcome.FAIL)
    ledger.record("b", "b::run-1", Outcome.FAIL)
    ledger.record("a", "a::run-3", Outcome.ERROR)
    assert ledger.tally("a") == Tally(1, 1, 1)
    assert ledger.tally("b") == Tally(0, 1, 0)


def test_an_outcome_takes_the_place_of_an_earlier_one_of_the_same_run(ledger):
    ledger.record("a", "a::run-1", Outcome.ERROR)
    ledger.record("a", "a::run-1", Outcome.PASS)
    assert ledger.tally("a") == Tally(1, 0, 0)


def test_answers_are_in_the_class_that_they_were_put_in_first(ledger):
    for run in ("a::run-1", "a::run-2", "a::run-3"):
        ledger.start("a", run)
    ledger.say("a", "a::run-1", "30 days")
    assert ledger.classify("a", "a::run-1", "class 1") == "class 1"
    assert ledger.classify("a", "a::run-1", "class 2") == "class 1"
    ledger.classify("a", "a::run-2", "class 1")
    ledger.classify("a", "a::run-3", "")
    assert ledger.said("a") == {
        "a::run-1": ("30 days", "class 1"),
        "a::run-2": (None, "class 1"),
        "a::run-3": (None, ""),
    }
    assert ledger.tally("a") == Tally()  # a run must not be spared by its own answer
    for run, outcome in (("a::run-1", Outcome.PASS), ("a::run-2", Outcome.FAIL), ("a::run-3", Outcome.ERROR)):
        ledger.record("a", run, outcome)
    assert ledger.tally("a") == Tally(1, 1, 1, (2,))


def test_a_run_that_is_made_again_has_said_nothing(ledger):
    ledger.start("a", "a::run-1")
    ledger.say("a", "a::run-1", "30 days")
    ledger.classify("a", "a::run-1", "class 1")
    ledger.clear("a", "a::run-1")
    assert (ledger.said("a"), ledger.tally("a")) == ({}, Tally())


def test_then_answers_that_were_compared_are_in_no_class_and_those_with_a_key_stay_in_theirs(ledger):
    for run in ("a::run-1", "a::run-2", "a::run-3"):
        ledger.start("a", run)
    ledger.say("a", "a::run-2", "30 days")
    ledger.classify("a", "a::run-2", "class 1")
    ledger.classify("a", "a::run-3", "no answer")
    ledger.clear("a", "a::run-1")
    assert ledger.said("a") == {"a::run-2": ("30 days", None), "a::run-3": (None, "no answer")}


def test_an_answer_that_is_withdrawn_is_in_no_class(ledger):
    ledger.start("a", "a::run-1")
    ledger.say("a", "a::run-1", "30 days")
    ledger.withdraw("a", "a::run-1")
    assert (ledger.said("a"), ledger.tally("a")) == ({"a::run-1": (None, "")}, Tally())


def test_a_run_is_in_flight_between_start_and_outcome(ledger):
    ledger.start("a", "a::run-1")
    ledger.start("a", "a::run-2")
    ledger.record("a", "a::run-1", Outcome.PASS)
    assert ledger.in_flight("a") == 1
    ledger.abandon("a", "a::run-2")
    ledger.abandon("a", "a::run-1")  # has its outcome: nothing to abandon
    assert (ledger.in_flight("a"), ledger.tally("a")) == (0, Tally(1, 0, 0))


def test_only_a_run_that_is_cleared_loses_its_outcome(ledger):
    ledger.record("a", "a::run-1", Outcome.ERROR)
    ledger.start("a", "a::run-1")
    assert ledger.tally("a") == Tally(0, 0, 1)
    ledger.clear("a", "a::run-1")
    assert (ledger.in_flight("a"), ledger.in_flight("a", besides="a::run-1"), ledger.tally("a")) == (1, 0, Tally())


def test_the_last_to_report_is_told_once_what_all_have_reported(ledger):
    assert ledger.report("a", "3", "error", 4, transient=False) is None
    assert ledger.report("a", "4", "skipped", 4, transient=False) is None
    assert ledger.report("a", "2", "error", 4, transient=True) is None
    told = {"3": ("error", False), "4": ("skipped", False), "2": ("error", True), "1": ("pass", False)}
    assert ledger.report("a", "1", "pass", 4, transient=False) == told
    assert ledger.report("a", "1", "pass", 4, transient=False) is None


_GROUP, _RUN = st.sampled_from("ab"), st.sampled_from("123")
_ENTRIES = st.one_of(
    st.tuples(st.sampled_from(["start", "clear", "abandon", "has_outcome", "in_flight"]), _GROUP, _RUN),
    st.tuples(st.just("tally"), _GROUP),
    st.tuples(st.just("record"), _GROUP, _RUN, st.sampled_from(Outcome)),
    st.tuples(st.just("report"), _GROUP, _RUN, st.sampled_from(["pass", "error", "spared"]), st.integers(1, 3)),
    st.tuples(st.sampled_from(["claim", "discard", "release", "fetch", "noted"]), _RUN),
    st.tuples(st.sampled_from(["deliver", "note"]), _RUN, st.sampled_from(["yes", "no"])),
    st.tuples(st.just("note_all"), st.dictionaries(_RUN, st.just("many"))),
)


@given(st.lists(_ENTRIES, max_size=40))
def test_a_notebook_says_what_the_ledger_on_disk_says(entries):
    with tempfile.TemporaryDirectory() as directory:
        on_disk, notebook = SharedLedger(Path(directory)), Notebook()
        for name, *arguments in entries:
            more = {"transient": arguments[1] == "1"} if name == "report" else {}
            told, noted = (getattr(ledger, name)(*arguments, **more) for ledger in (on_disk, notebook))
            assert noted == told
            assert name != "report" or [*(noted or ())] == [*(told or ())]  # in the same order
        on_disk.close()


def test_a_transcript_is_made_by_whoever_claims_it_first(tmp_path):
    one, two = SharedLedger(tmp_path, "gw0"), SharedLedger(tmp_path, "gw1")
    assert one.claim("key")
    assert not two.claim("key")
    assert two.fetch("key") is None
    one.deliver("key", {"said": "yes"})
    assert two.fetch("key") == {"said": "yes"}
    one.close(), two.close()


def test_what_a_lost_process_did_not_report_is_free_for_others(tmp_path):
    one, two = SharedLedger(tmp_path, "gw0"), SharedLedger(tmp_path, "gw1")
    one.claim("key")
    one.start("a", "a::run-1")
    one.record("a", "a::run-2", Outcome.PASS)
    one.report("a", "a::run-2", "pass", 3, transient=False)
    one.record("a", "a::run-3", Outcome.PASS)
    two.forget("gw0")
    assert two.claim("key")
    assert (two.in_flight("a"), two.tally("a")) == (0, Tally(1, 0, 0))
    one.close(), two.close()


def test_a_transcript_that_is_thrown_away_can_be_claimed_anew(tmp_path):
    one, two = SharedLedger(tmp_path, "gw0"), SharedLedger(tmp_path, "gw1")
    one.claim("key")
    two.discard("key")  # still in the making
    assert not two.claim("key")
    one.deliver("key", "an error")
    two.discard("key")
    assert two.claim("key")
    one.close(), two.close()


def test_only_the_holder_can_release_a_claim(tmp_path):
    one, two = SharedLedger(tmp_path, "gw0"), SharedLedger(tmp_path, "gw1")
    one.claim("key")
    two.release("key")
    assert not two.claim("key")
    one.release("key")
    assert two.claim("key")
    one.close(), two.close()


def test_a_pause_holds_up_every_process(tmp_path):
    one, two = SharedLedger(tmp_path, "gw0"), SharedLedger(tmp_path, "gw1")
    one.hold(0.2)
    begin = time.monotonic()
    asyncio.run(two.wait())
    assert time.monotonic() - begin > 0.1
    asyncio.run(two.wait())
    one.close(), two.close()


def test_a_shorter_pause_does_not_end_a_longer_one(ledger):
    ledger.hold(60)
    ledger.hold(0)

    async def wait() -> None:
        async with asyncio.timeout(0.05):
            await ledger.wait()

    with pytest.raises(TimeoutError):
        asyncio.run(wait())


def test_notes_reach_other_processes(tmp_path):
    one, two = SharedLedger(tmp_path), SharedLedger(tmp_path)
    one.note("header", "convo: 1 group")
    assert two.noted("header") == "convo: 1 group"
    assert two.noted("stop") is None
    one.close(), two.close()


def test_the_directory_is_nobody_elses_to_read(tmp_path):
    SharedLedger(tmp_path / "shared").close()
    assert (tmp_path / "shared").stat().st_mode & 0o777 == 0o700


def test_without_a_shared_disk_each_process_keeps_its_own(tmp_path):
    ledger = open_ledger(str(tmp_path / "no" / "such" / "place"), "gw0")
    assert not ledger.shared
    ledger.close()


def test_threads_may_write_at_once(ledger):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: ledger.record("a", f"run-{number}", Outcome.PASS), range(200)))
    assert ledger.tally("a") == Tally(200, 0, 0)


def _open(path: Path) -> None:
    SharedLedger(path).close()


def test_processes_may_open_it_at_once(tmp_path):
    context = multiprocessing.get_context("fork")
    for attempt in range(10):
        workers = [context.Process(target=_open, args=(tmp_path / f"{attempt}",)) for _ in range(6)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(30)
        assert [worker.exitcode for worker in workers] == [0] * 6


def _record(path: Path, holder: str) -> None:
    ledger = SharedLedger(path, holder)
    for number in range(50):
        ledger.record("a", f"{holder}-{number}", Outcome.PASS)
    ledger.close()


def test_processes_may_write_at_once(tmp_path):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_record, args=(tmp_path / "shared", f"gw{number}")) for number in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    ledger = SharedLedger(tmp_path / "shared")
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert ledger.tally("a") == Tally(150, 0, 0)
    ledger.close()


def test_what_a_killed_session_left_is_swept_away_and_nothing_else(tmp_path):
    names = ("left", "written to", "begun")
    for name in (*(PREFIX + name for name in names), "other"):
        (tmp_path / name).mkdir()
    long_ago = time.time() - FORGOTTEN - 1
    for name in names[:2]:
        SharedLedger(tmp_path / (PREFIX + name)).close()
    for path in (*(tmp_path / f"{PREFIX}left").iterdir(), *tmp_path.iterdir()):
        os.utime(path, (long_ago, long_ago))
    os.utime(tmp_path / f"{PREFIX}begun")
    sweep(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", f"{PREFIX}begun", f"{PREFIX}written to"]
