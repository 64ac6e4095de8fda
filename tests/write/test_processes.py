"""Two processes at one hole, and one that is killed while it writes."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from pytest_convo.errors import ConvoError

WRITER = """
import sys
from pathlib import Path
from pytest_convo.conversation.reply import Reply
from pytest_convo.errors import ConvoError
from pytest_convo.redaction import Redactor
from pytest_convo.write.scribe import Writer

directory, text = Path(sys.argv[1]), sys.argv[2]
try:
    with Writer(directory, None, Redactor(), None, holes={1}).turn(1) as sheet:
        sheet.say(f"{text} is ")
        print("writes", flush=True)
        sys.stdin.readline()
        sheet.finish(Reply(text), [Reply(text).to_message()])
    print("done", flush=True)
except ConvoError as error:
    print(error.what, flush=True)
"""


@pytest.fixture
def start(place):
    """Start a process that answers turn 1 with a text, once it is sent a line."""
    running = []

    def start(text: str) -> subprocess.Popen:
        arguments = [sys.executable, "-c", WRITER, str(place.path), text]
        running.append(subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.communicate()


def says(process: subprocess.Popen) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def go_on(process: subprocess.Popen) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def test_two_processes_do_not_write_the_same_hole(place, start):
    first, second = start("One"), None
    assert says(first) == "writes"
    second = start("Two")
    assert says(second) == "is being written by another process"
    go_on(first)
    assert says(first) == "done"
    assert place.files == {"0001_assistant.md": "One\n"}
    assert says(start("Three")) == "stands here, and did not when the conversation was read"


def test_of_many_that_come_at_once_one_writes(place, start):
    processes = [start(f"Number-{number}") for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(says, processes))
    writing = [process for process, word in zip(processes, said, strict=True) if word == "writes"]
    assert len(writing) == 1, said
    go_on(writing[0])
    assert says(writing[0]) == "done"
    assert place.files == {"0001_assistant.md": f"Number-{processes.index(writing[0])}\n"}


def test_what_a_killed_process_left_is_taken_over(place, start):
    first = start("One")
    assert says(first) == "writes"
    with pytest.raises(ConvoError, match="by another process"):
        place.write()
    first.kill()
    first.wait()
    assert place.files == {"0001_assistant.md.partial": "One is"}
    place.write("Two")
    assert place.files == {"0001_assistant.md": "Two\n", "0001_assistant.md.partial~": "One is"}
