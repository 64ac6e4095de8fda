from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from pathlib import Path

import pytest

from pytest_convo.errors import ConvoError, SettingsError
from pytest_convo.settings.layer import leaves
from pytest_convo.settings.resolve import (
    DEFAULT_KEYS,
    Layer,
    Resolved,
    Resolver,
    assignments_layer,
    environment_layer,
)

PLACES = {
    "command line": "command line --convo-set",
    "environment": "PYTEST_CONVO_RUNS",
    "mark": "@pytest.mark.convo",
    "case": "a/b/convo.toml:3",
    "file": "a/b/convo.toml:1",
    "file above": "a/convo.toml:1",
    "file at the rootdir": "convo.toml:1",
    "ini": "pytest ini convo_runs",
    "built-in": "built-in default",
}
"""Every layer, nearest first, and how it is named where it sets `runs`."""


def resolve_runs(write, said: dict[str, int]) -> Resolved:
    """`runs` as resolved for the case of a/b, where each layer in `said` says something else."""
    runs = {place: f"runs = {value}" if place in said else "" for place, value in said.items()}
    root = write(
        {
            "convo.toml": runs.get("file at the rootdir", ""),
            "a/convo.toml": runs.get("file above", ""),
            "a/b/convo.toml": f"{runs.get('file', '')}\n[[case]]\n{runs.get('case', '')}\nid = 'x'\n",
        }
    )
    nearest = [
        assignments_layer([f"runs={said['command line']}"] if "command line" in said else []),
        environment_layer({"PYTEST_CONVO_RUNS": str(said["environment"])} if "environment" in said else {}),
    ]
    defaults = [Layer({"runs": said["ini"]} if "ini" in said else {}, "pytest ini convo_runs")]
    mark = {"runs": said["mark"]} if "mark" in said else None
    return Resolver(root, nearest, defaults).resolve(root / "a/b", case="x", mark=mark)


@pytest.mark.parametrize("nearer, farther", list(combinations(PLACES, 2)))
def test_of_two_layers_the_nearer_one_holds(write, nearer, farther):
    said = {nearer: 7, farther: 3} if farther != "built-in" else {nearer: 7}
    resolved = resolve_runs(write, said)
    assert (resolved.settings.runs, resolved.origins["runs"]) == (7, PLACES[nearer])


@pytest.mark.parametrize("place", PLACES)
def test_a_layer_that_is_alone_holds(write, place):
    resolved = resolve_runs(write, {place: 7} if place != "built-in" else {})
    assert (resolved.settings.runs, resolved.origins["runs"]) == (7 if place != "built-in" else 1, PLACES[place])


def test_tables_of_all_layers_merge_and_each_key_knows_its_place(write):
    root = write(
        {
            "convo.toml": "[bot]\nmodel = 'a'\nrequest.seed = 1\n[expect]\nexcludes = 'no'\n[expect.1]\ncontains = 'x'",
            "c/convo.toml": "[bot]\ntemperature=0\n[bot.request]\ntop_p = 1\n[expect.1]\nmatches = 'y'\n[vars]\nn = 1",
        }
    )
    resolver = Resolver(root, [environment_layer({"PYTEST_CONVO_BOT__REQUEST__SEED": "2", "PYTEST_CONVO_MODEL": "b"})])
    resolved = resolver.resolve(root / "c")
    bot, expect = resolved.settings.bot, resolved.settings.expect
    assert (bot.model, bot.temperature, bot.request) == ("b", 0, {"seed": 2, "top_p": 1})
    assert (expect.last.excludes, expect.turns[1].contains, expect.turns[1].matches) == (("no",), ("x",), ("y",))
    assert {key: place for key, place in resolved.origins.items() if place != "built-in default"} == {
        "bot.model": "PYTEST_CONVO_MODEL",
        "bot.temperature": "c/convo.toml:2",
        "bot.request.seed": "PYTEST_CONVO_BOT__REQUEST__SEED",
        "bot.request.top_p": "c/convo.toml:4",
        "expect.excludes": "convo.toml:5",
        "expect.1.contains": "convo.toml:7",
        "expect.1.matches": "c/convo.toml:6",
        "vars.n": "c/convo.toml:8",
    }


def test_origins_cover_every_key_that_is_set_and_every_default(write):
    root = write({"convo.toml": "version = 1\nvars = { a = 1, 'é' = {} }\n[bot.request]\nstop = ['a']\n"})
    resolved = Resolver(root).resolve(root, mark={"expect": {"3": {"calls": []}}})
    given = {".".join(keys) for keys, _ in leaves(resolved.values)}
    assert given == {"version", "vars.a", "vars.é", "bot.request.stop", "expect.3.calls"}
    assert set(resolved.origins) == given | set(DEFAULT_KEYS)
    assert resolved.origins["expect.3.calls"] == "@pytest.mark.convo"
    assert all(resolved.origins.values())


def test_a_directory_without_a_file_has_what_holds_above_it(write):
    root = write({"convo.toml": "runs = 3", "a/b/0000_user.md": "", "a/c/0000_user.md": ""})
    resolver = Resolver(root)
    assert resolver.resolve(root / "a/b") is resolver.resolve(root / "a/c") is resolver.resolve(root)


def test_a_file_is_read_once(write):
    root = write({"convo.toml": "runs = 3", "a/convo.toml": "bot.model = 'x'"})
    resolver = Resolver(root)
    resolver.resolve(root / "a")
    write({"convo.toml": "runs = 4", "a/convo.toml": "runs"})
    assert resolver.resolve(root / "a", mark={"timeout": 3}).settings.runs == 3
    assert resolver.resolve(root / "b").settings.runs == 3


def test_inheritance_stops_at_the_rootdir(write):
    root = write({"convo.toml": "runs = 3", "a/convo.toml": "timeout = 4", "a/b/convo.toml": ""})
    settings = Resolver(root / "a").resolve(root / "a/b").settings
    assert (settings.runs, settings.timeout) == (1, 4)


def test_outside_of_the_rootdir_only_the_directory_itself_counts(write):
    root = write({"convo.toml": "runs = 3", "ab/convo.toml": "timeout = 4", "a/b/convo.toml": ""})
    settings = Resolver(root / "a").resolve(root / "ab").settings
    assert (settings.runs, settings.timeout) == (1, 4)


def test_the_rootdir_may_be_the_root_of_all():
    assert Resolver(Path("/")).resolve(Path("/no/such/directory")).settings.runs == 1


def test_paths_start_at_the_file_that_sets_them(write):
    root = write(
        {
            "prompts/a.md": "",
            "checks.py": "",
            "c/schema.json": "{}",
            "convo.toml": "prompt = 'prompts/a.md'\n[expect]\npython = 'checks.py:polite'\n",
            "c/d/convo.toml": "[expect.1]\njson_schema = '../schema.json'\n[[case]]\nid = 'x'\nprompt = '../p.md'",
            "c/p.md": "",
        }
    )
    resolver = Resolver(root)
    settings = resolver.resolve(root / "c/d").settings
    assert settings.prompt.files == (root / "prompts/a.md",)
    assert settings.expect.last.python == f"{root / 'checks.py'}:polite"
    assert settings.expect.turns[1].json_schema == root / "c/schema.json"
    assert resolver.resolve(root / "c/d", case="x").settings.prompt.files == (root / "c/p.md",)


def test_paths_from_elsewhere_start_where_they_were_said(write, monkeypatch):
    root = write({"a/p.md": "", "b/p.md": "", "p.md": ""})
    monkeypatch.chdir(root / "a")
    said = assignments_layer(["prompt=p.md"])
    monkeypatch.chdir(root / "b")
    assert Resolver(root, [said]).resolve(root).settings.prompt.files == (root / "a/p.md",)
    assert Resolver(root, [], [Layer({"prompt": "p.md"}, "ini")]).resolve(root / "a").settings.prompt.files == (
        root / "p.md",
    )
    assert Resolver(root).resolve(root / "b", mark={"prompt": Path("p.md")}).settings.prompt.files == (root / "b/p.md",)


def test_cases_are_those_of_the_conversation_itself(write):
    root = write(
        {
            "convo.toml": "[[case]]\nid = 'above'",
            "a/convo.toml": "[[case]]\nid = 'b'\nvars.x = 1\n[[case]]\nid = 'a'\n",
            "b/convo.toml": "",
        }
    )
    resolver = Resolver(root)
    assert resolver.cases(root / "a") == ("b", "a")
    assert resolver.cases(root / "b") == resolver.cases(root / "c") == ()
    assert resolver.resolve(root / "a").settings.case == ()


def test_a_case_sets_what_it_says_and_leaves_the_rest(write):
    text = """
    runs = 2
    vars = { a = 1, b = 1 }
    [expect]
    contains = "x"
    [[case]]
    id = "y"
    agreement = "2/3"
    vars.b = 2
    expect.1.excludes = "z"
    """
    root = write({"convo.toml": text})
    resolver = Resolver(root)
    case, whole = resolver.resolve(root, case="y").settings, resolver.resolve(root).settings
    assert (case.runs, case.agreement, case.vars) == (2, Fraction(2, 3), {"a": 1, "b": 2})
    assert (case.expect.last.contains, case.expect.turns[1].excludes) == (("x",), ("z",))
    assert (whole.agreement, whole.vars, whole.expect.turns) == (Fraction(4, 5), {"a": 1, "b": 1}, {})


def test_an_unknown_case_is_an_error_with_those_there_are(write):
    root = write({"convo.toml": "[[case]]\nid = 'a'\n[[case]]\nid = 'b'"})
    with pytest.raises(SettingsError) as caught:
        Resolver(root).resolve(root, case="c")
    assert str(caught.value) == f'{root}/convo.toml: there is no case "c"\n  cases are: a, b'


def test_the_cases_of_a_bad_file_are_an_error(write):
    root = write({"convo.toml": "runs = 0\n[[case]]\nid = 'a'\n"})
    with pytest.raises(SettingsError, match="runs must be at least 1"):
        Resolver(root).cases(root)


def test_a_mark_holds_for_its_test_alone(write):
    root = write({"convo.toml": "runs = 3"})
    resolver = Resolver(root)
    marked = resolver.resolve(root, mark={"runs": 5, "agreement": 0.8, "regenerate": (1, 3)}).settings
    assert (marked.runs, marked.agreement, marked.regenerate) == (5, Fraction(4, 5), (1, 3))
    assert resolver.resolve(root, mark={"runs": 6}).settings.runs == 6
    assert resolver.resolve(root, mark={}).settings.runs == 3


def test_what_was_said_may_change_afterwards_without_effect(write):
    root = write({"convo.toml": "runs = 3"})
    said = {"bot": {"model": "a"}}
    resolver = Resolver(root, [Layer(said, "x")])
    before = resolver.resolve(root).settings.bot.model
    resolver.resolve(root).settings.bot.request["seed"] = 1
    assert (before, said) == ("a", {"bot": {"model": "a"}})


def test_the_checks_of_conftests_are_allowed_where_they_hold(write):
    root = write({"a/convo.toml": "expect.polite = true", "b/convo.toml": "expect.1.polite = 1"})
    resolver = Resolver(root, extra_checks=lambda path: frozenset({"polite"} if path.name == "a" else {"politer"}))
    assert resolver.resolve(root / "a").settings.expect.last.checks == {"polite": True}
    with pytest.raises(SettingsError, match=r'b/convo\.toml:1: unknown key "polite".*\n  did you mean politer\?'):
        resolver.resolve(root / "b")
    everywhere = Resolver(root, extra_checks=frozenset({"polite"}))
    assert everywhere.resolve(root / "b").settings.expect.turns[1].checks == {"polite": 1}


def test_a_check_of_a_file_above_is_allowed_where_a_conftest_below_adds_it(write):
    root = write({"convo.toml": "expect.polite = true", "a/x": "", "b/x": ""})
    resolver = Resolver(root, extra_checks=lambda path: frozenset({"polite"} if path.name == "a" else ()))
    with pytest.raises(SettingsError, match=r'convo\.toml:1: unknown key "polite"'):
        resolver.resolve(root / "b")
    assert resolver.resolve(root / "a").settings.expect.last.checks == {"polite": True}


def test_the_checks_of_a_directory_are_asked_for_once(write):
    asked = []
    root = write({"convo.toml": "[[case]]\nid = 'a'"})
    resolver = Resolver(root, extra_checks=lambda path: frozenset(asked.append(path) or ()))
    resolver.cases(root)
    resolver.resolve(root, case="a")
    assert asked == [root]


def test_a_later_mistake_about_a_setting_is_told_with_its_place(write):
    root = write({"convo.toml": "runs = 3\n[expect.1]\nmax_usd = 1\n"})
    resolved = Resolver(root, [environment_layer({"PYTEST_CONVO_MODEL": "x"})]).resolve(root)
    errors = [resolved.mistake(key, "is bad", "do better") for key in ("expect.1.max_usd", "bot.model", "timeout")]
    assert [str(error) for error in errors] == [
        f"{root}/convo.toml:3: is bad\n  do better",
        "PYTEST_CONVO_MODEL: is bad\n  do better",
        "is bad\n  do better",
    ]


def test_a_wrong_pair_of_values_from_two_files_is_told_with_the_nearer_place(write):
    root = write({"convo.toml": "good = 0.8\n", "a/convo.toml": "\nbad = 0.9\n"})
    with pytest.raises(ConvoError) as caught:
        Resolver(root).resolve(root / "a")
    assert str(caught.value) == f"{root}/a/convo.toml:2: good must be above bad, but good = 0.8 and bad = 0.9"


def test_a_nearer_price_is_never_mixed_with_one_from_above(write):
    root = write(
        {
            "convo.toml": "[bot]\nprice = { input = 1, output = 2, cached = 0.5 }\n[limits]\nrequests_per_minute = 9",
            "c/convo.toml": "[bot]\nprice = { input = 3, output = 4 }\n[limits]\ntokens_per_minute = 99",
        }
    )
    settings = Resolver(root).resolve(root / "c").settings
    assert settings.bot.price.cached is None
    assert (settings.limits.requests_per_minute, settings.limits.tokens_per_minute) == (9, 99)
