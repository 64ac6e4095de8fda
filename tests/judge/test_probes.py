from __future__ import annotations

import pytest

from pytest_convo.conversation.message import Message
from pytest_convo.errors import FormatError
from pytest_convo.judge.probes import FILE, Probe, of_approved, read_probes

GOOD = """
[[probe]]
reply = "30 days."
verdict = "pass"

[[probe]]
criterion = "It is polite."
context = "Hello?"
reply = ""
verdict = "fail"
"""


@pytest.fixture
def probes(tmp_path):
    def write(text: str | bytes):
        path = tmp_path / FILE
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_a_file_is_read_in_its_order_and_each_probe_says_where_it_comes_from(probes):
    assert read_probes(probes(GOOD)) == (
        Probe("30 days.", True, "judge_probes.toml, probe 1"),
        Probe("", False, "judge_probes.toml, probe 2", (Message("user", "Hello?"),), "It is polite."),
    )


def test_a_probe_is_of_its_criterion_or_of_any():
    every, polite = Probe("", True, ""), Probe("", True, "", criterion="It is polite.")
    assert [every.of("It is polite."), every.of("It is short.")] == [True, True]
    assert [polite.of("It is polite."), polite.of("It is short.")] == [True, False]


def test_an_approved_reply_is_one_that_passes():
    before = [Message("user", "By when?")]
    assert of_approved(Message("assistant", "30 days."), before) == Probe(
        "30 days.", True, "the approved reply", tuple(before)
    )


@pytest.mark.parametrize(
    "text, line, told",
    [
        ("", None, "probe is needed"),
        ("probe = []", 1, "at least 1 item"),
        ('probe = "x"', 1, "probe is wrong"),
        ("probe = [1]", 1, "probe 1 must be a table"),
        ("[probe]\nreply = 'x'\nverdict = 'pass'", 1, "probe is wrong"),
        ("\n[[probes]]\nreply = 'x'", None, "probe is needed"),
        (f"{GOOD}\n[other]\n", 12, "other is no key of a probe"),
        (f"{GOOD}\n[[probe]]\nreply = 'x'", 12, "verdict is needed"),
        (f"{GOOD}\n[[probe]]\nverdict = 'pass'", 12, "reply is needed"),
        (f"{GOOD}\n[[probe]]\nreply = 'x'\nverdict = 'passed'", 14, 'verdict must be "pass" or "fail"'),
        (f"{GOOD}\n[[probe]]\nreply = 'x'\nverdict = true", 14, 'verdict must be "pass" or "fail"'),
        (f"{GOOD}\n[[probe]]\nreply = 3\nverdict = 'pass'", 13, "reply is wrong"),
        (f"{GOOD}\n[[probe]]\nreply = 'x'\nverdict = 'pass'\ncriterion = ''", 15, "criterion is wrong"),
        (f"{GOOD}\n[[probe]]\nreply = 'x'\nverdict = 'pass'\ncontext = ['a']", 15, "context is wrong"),
        (f"{GOOD}\n[[probe]]\nreply = 'x'\nverdict = 'pass'\nmood = 'a'", 15, "mood is no key of a probe"),
        (f"{GOOD}\n[[probe]\n", 12, "is not TOML"),
        ("[[probe]]\nreply = 'x'\nreply = 'y'", 3, "is not TOML"),
        (b"[[probe]]\nreply = '\xff'", 2, "is not UTF-8"),
    ],
)
def test_a_mistake_is_told_with_its_file_and_line(probes, text, line, told):
    path = probes(text)
    with pytest.raises(FormatError) as caught:
        read_probes(path)
    error = caught.value
    assert told in error.what
    assert (error.path, error.line) == (path, line)
    assert len(str(error).splitlines()) <= 3


def test_a_file_that_is_not_there_or_is_none_is_told(tmp_path):
    for path in (tmp_path / FILE, tmp_path):
        with pytest.raises(FormatError) as caught:
            read_probes(path)
        assert caught.value.path == path
