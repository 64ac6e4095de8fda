from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.baseline.file import Baseline, Entry, read, write
from pytest_convo.errors import FormatError

ENTRY = Entry(passes=(10, 9), runs=(10, 10), models=("m-1",), messages="ab", checks={"contains": "cd"}, samples=("ef",))

counts = st.integers(0, 50)
entries = st.builds(
    lambda passes, fails, **rest: Entry(passes=passes, runs=(passes[0] + fails[0], passes[1] + fails[1]), **rest),
    passes=st.tuples(counts, counts),
    fails=st.tuples(counts, counts),
    errors=counts,
    models=st.lists(st.text(), max_size=2).map(tuple),
    messages=st.text("0123456789abcdef"),
    checks=st.dictionaries(st.text(), st.text("0123456789abcdef"), max_size=3),
    samples=st.lists(st.text("0123456789abcdef"), max_size=5).map(tuple),
)


@given(st.dictionaries(st.text(), entries, max_size=5))
def test_what_is_written_is_read(tmp_path_factory, cases):
    path = tmp_path_factory.mktemp("baseline") / "convo-baseline.json"
    baseline = Baseline(date="2026-11-21", cases=cases)
    write(path, baseline)
    assert read(path) == baseline


def test_cases_are_sorted_and_one_a_line(tmp_path):
    path = tmp_path / "new" / "convo-baseline.json"
    write(path, Baseline(date="2026-11-21", cases={"b": ENTRY, "a": ENTRY}))
    lines = path.read_text().splitlines()
    assert [line.strip()[:3] for line in lines if '"passes"' in line] == ['"a"', '"b"']
    assert json.loads(path.read_text())["version"] == 1
    assert list(path.parent.iterdir()) == [path]


def test_a_missing_file_is_told_from_a_broken_one(tmp_path):
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is no baseline: Invalid JSON"),
        ("[]", "is no baseline"),
        ('{"version": 2, "date": "", "cases": {}}', "version"),
        ('{"version": 1, "date": "", "cases": {"a": {}}}', "cases.a.passes"),
        ('{"version": 1, "date": "", "cases": {}, "more": 1}', "more"),
        (
            '{"version": 1, "date": "", "cases": {"a": {"passes": [3, 0], "runs": [2, 0], "models": [],'
            ' "messages": "", "checks": {}, "samples": []}}}',
            "more passes than runs",
        ),
    ],
)
def test_what_is_no_baseline_is_told_with_its_file(tmp_path, text, told):
    path = tmp_path / "convo-baseline.json"
    path.write_text(text)
    with pytest.raises(FormatError) as error:
        read(path)
    assert str(path) in str(error.value)
    assert told in str(error.value)
    assert "--convo-update-baseline" in str(error.value)
