from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.settings.layer import Layer, TomlPart, holds, leaves, merge
from pytest_convo.settings.toml import Toml

words = st.sampled_from(["a", "b", "c"])
scalars = st.one_of(st.integers(0, 9), words, st.lists(st.integers(0, 2), max_size=2))
values = st.one_of(scalars, st.dictionaries(words, scalars, max_size=2))
checks = st.fixed_dictionaries({}, optional={"contains": scalars, "json_equals": values})
settings = st.fixed_dictionaries(
    {},
    optional={
        "runs": scalars,
        "agreement": scalars,
        "bot": st.fixed_dictionaries(
            {}, optional={"model": scalars, "request": st.dictionaries(words, values, max_size=3)}
        ),
        "vars": st.dictionaries(words, values, max_size=3),
        "expect": st.fixed_dictionaries({}, optional={"contains": scalars, "1": checks, "2": checks}),
    },
)


def at(values: Any, keys: tuple[str | int, ...]) -> Any:
    return reduce(lambda inner, key: inner[key], keys, values)


@given(settings, settings, settings)
def test_merging_is_associative(a, b, c):
    assert merge(merge(a, b), c) == merge(a, merge(b, c))


@given(settings)
def test_nothing_changes_nothing(a):
    assert merge({}, a) == merge(a, {}) == merge(a, a) == a


@given(settings, settings)
def test_the_nearest_that_says_something_wins(below, above):
    merged = dict(leaves(merge(below, above)))
    given = dict(leaves(below)) | dict(leaves(above))
    assert merged == given
    assert all(at(merge(below, above), keys) == value for keys, value in leaves(above))


@given(settings, settings)
def test_merging_leaves_both_as_they_were(below, above):
    before = repr((below, above))
    merge(below, above)
    assert repr((below, above)) == before


def test_tables_of_settings_merge_key_by_key():
    below = {"bot": {"model": "a", "request": {"seed": 1, "top_p": 1}}, "expect": {"1": {"contains": "x"}}}
    above = {"bot": {"request": {"seed": 2}}, "expect": {"1": {"excludes": "y"}, "contains": "z"}}
    assert merge(below, above) == {
        "bot": {"model": "a", "request": {"seed": 2, "top_p": 1}},
        "expect": {"1": {"contains": "x", "excludes": "y"}, "contains": "z"},
    }


def test_a_table_that_is_a_value_is_replaced_whole():
    below = {
        "bot": {"request": {"response_format": {"type": "json_object"}}},
        "expect": {"json_schema": {"type": "object"}, "1": {"number": {"value": 1, "within": 2}}},
        "vars": {"customer": {"name": "Ann"}},
    }
    above = {
        "bot": {"request": {"response_format": {"x": 1}}},
        "expect": {"json_schema": {"minimum": 1}, "1": {"number": {"value": 3}}},
        "vars": {"customer": {"age": 7}},
    }
    assert merge(below, above) == above


@given(settings)
def test_leaves_are_what_a_layer_holds(values):
    assert all(holds(values, keys) and at(values, keys) == value for keys, value in leaves(values))


def test_nothing_is_held_below_a_value():
    assert not holds({"runs": 3}, ("runs", "x"))
    assert not holds({"bot": {}}, ("bot", "model"))


def test_a_place_is_a_line_of_a_file_as_seen_from_the_rootdir():
    toml = Toml(Path("/p/convos/convo.toml"), "runs = 1\n[[case]]\nid = 'a'\nruns = 2\n", {})
    assert Layer({}, TomlPart(toml)).place(("runs",), Path("/p")) == "convos/convo.toml:1"
    assert Layer({}, TomlPart(toml)).place(("runs",), Path("/q")) == "/p/convos/convo.toml:1"
    assert Layer({}, TomlPart(toml, ("case", 0))).place(("runs",), Path("/p")) == "convos/convo.toml:4"
    assert Layer({}, TomlPart(toml)).place(("vars", "x"), Path("/p")) == "convos/convo.toml"


def test_a_place_may_have_a_name_for_each_key():
    layer = Layer({}, {"runs": "RUNS", "bot": "BOT", "bot.model": "MODEL"})
    places = [layer.place(keys, Path("/")) for keys in (("runs",), ("bot", "model"), ("bot", "request", "seed"))]
    assert places == ["RUNS", "MODEL", "BOT"]
