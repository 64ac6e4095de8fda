"""`prompt`, which is a table and may be written short."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_convo.errors import ConvoError, FormatError, SettingsError
from pytest_convo.settings.explain import explain
from pytest_convo.settings.resolve import Resolver, assignments_layer, environment_layer

FILES = {"a.md": "A", "c/b.md": "B", "c/d.md.j2": "D"}
LACKS = 'names a file that is not there: "ROOT/c/e.md"\n  did you mean b.md or d.md.j2?'


def rows(resolved, directory: Path) -> list[str]:
    """What is explained of the prompt, but for what is not set."""
    lines = (" ".join(line.split()) for line in explain(resolved, directory).splitlines())
    return [line for line in lines if line.startswith("prompt")]


def told(root: Path, *nearest, **how) -> str:
    with pytest.raises(ConvoError) as caught:
        Resolver(root, nearest).resolve(root / "c", **how)
    return str(caught.value).replace(str(root), "ROOT")


def test_files_that_are_nearer_keep_a_budget_from_above(write):
    root = write({**FILES, "convo.toml": "[prompt]\nfiles = 'a.md'\nbudget = 500", "c/convo.toml": "prompt = 'b.md'"})
    resolved = Resolver(root).resolve(root / "c")
    assert (resolved.settings.prompt.files, resolved.settings.prompt.budget) == ((root / "c/b.md",), 500)
    assert rows(resolved, root / "c") == ['prompt "c/b.md" c/convo.toml:1', "prompt.budget 500 convo.toml:3"]


def test_a_budget_that_is_nearer_keeps_files_from_above(write):
    root = write({**FILES, "convo.toml": "prompt = ['a.md', 'c/b.md']", "c/convo.toml": "[prompt]\nbudget = 500"})
    resolved = Resolver(root).resolve(root / "c")
    assert resolved.settings.prompt.files == (root / "a.md", root / "c/b.md")
    assert rows(resolved, root / "c") == ['prompt ["a.md", "c/b.md"] convo.toml:1', "prompt.budget 500 c/convo.toml:2"]


@pytest.mark.parametrize("order", [1, -1])
def test_on_one_command_line_files_and_the_rest_work_together(write, monkeypatch, order):
    root = write(FILES)
    monkeypatch.chdir(root)
    said = assignments_layer(["prompt=a.md", "prompt.budget=2000"][::order])
    found = Resolver(root, [said]).resolve(root).settings.prompt
    assert (found.files, found.budget) == ((root / "a.md",), 2000)


def test_so_they_do_in_the_environment(write, monkeypatch):
    root = write(FILES)
    monkeypatch.chdir(root / "c")
    said = environment_layer({"PYTEST_CONVO_PROMPT": '["b.md", "d.md.j2"]', "PYTEST_CONVO_PROMPT__BUDGET": "2000"})
    resolved = Resolver(root, [said]).resolve(root)
    assert rows(resolved, root) == [
        'prompt ["c/b.md", "c/d.md.j2"] PYTEST_CONVO_PROMPT',
        "prompt.budget 2000 PYTEST_CONVO_PROMPT__BUDGET",
    ]


def test_one_thing_under_two_names_in_the_environment_is_an_error():
    with pytest.raises(SettingsError, match="PYTEST_CONVO_PROMPT__FILES and PYTEST_CONVO_PROMPT set the same, prompt"):
        environment_layer({"PYTEST_CONVO_PROMPT": "a.md", "PYTEST_CONVO_PROMPT__FILES": "b.md"})


def test_cases_tasks_and_marks_may_write_it_short(write):
    task = "version = '1.0'\n[convo]\nprompt = 'b.md'"
    root = write({**FILES, "c/task.toml": task, "d/convo.toml": "[[case]]\nid = 'x'\nprompt = '../a.md'"})
    resolver = Resolver(root)
    assert resolver.resolve(root / "c").settings.prompt.files == (root / "c/b.md",)
    assert resolver.resolve(root / "d", case="x").settings.prompt.files == (root / "a.md",)
    marked = resolver.resolve(root / "c", mark={"prompt": ("b.md", Path("d.md.j2"))})
    assert marked.settings.prompt.files == (root / "c/b.md", root / "c/d.md.j2")


@pytest.mark.parametrize(
    "text, message",
    [
        ("prompt = []", "1: prompt must name at least one file"),
        ("prompt = 5", "1: prompt must be text, not 5\n  text stands in quotes"),
        ("prompt = ['b.md',\n'']", "2: prompt must not be empty"),
        ("prompt = ['b.md',\n'e.md']", f"2: prompt {LACKS}"),
        ("\n[prompt]\nfiles = 5", "3: prompt.files must be text, not 5\n  text stands in quotes"),
        (
            "[prompt]\nfiles = 'e.md'",
            f"2: prompt.files {LACKS}",
        ),
        (
            "[[case]]\nid = 'x'\nprompt = 'e.md'",
            f"3: case.prompt {LACKS}",
        ),
        (
            "prompt.bugdet = 5",
            '1: unknown key "bugdet" in [prompt]\n  did you mean budget? known are files, style, budget, reserve, '
            "on_overflow, tokenizer",
        ),
        (
            "[prompt]\nbudget = 5\nreserve = 5",
            "2: prompt.reserve must be below prompt.budget, but they are 5 and 5\n"
            "  the reserve is the part of the budget that is left for the answer",
        ),
        (
            "summarize.reserve = 5\nsummarize.budget = 3",
            "2: summarize.reserve must be below summarize.budget, but they are 5 and 3\n"
            "  the reserve is the part of the budget that is left for the answer",
        ),
    ],
)
def test_what_is_wrong_is_told_as_it_was_written(write, text, message):
    root = write({**FILES, "c/convo.toml": text})
    assert told(root) == f"ROOT/c/convo.toml:{message}"


def test_a_reserve_that_a_nearer_budget_does_not_hold_is_told_there(write):
    root = write({"convo.toml": "prompt.reserve = 9", "c/convo.toml": "\nprompt.budget = 9"})
    assert told(root).startswith("ROOT/c/convo.toml:2: prompt.reserve must be below prompt.budget")


def test_from_elsewhere_too_what_is_wrong_is_told_as_it_was_written(write, monkeypatch):
    root = write(FILES)
    monkeypatch.chdir(root)
    lacks = 'prompt names a file that is not there: "ROOT/e.md"\n  did you mean a.md?'
    assert told(root, assignments_layer(["prompt=e.md", "prompt.budget=1"])) == f"command line --convo-set: {lacks}"
    assert told(root, environment_layer({"PYTEST_CONVO_PROMPT": "e.md"})) == f"PYTEST_CONVO_PROMPT: {lacks}"
    assert told(root, mark={"prompt": []}) == "@pytest.mark.convo: prompt must name at least one file"


@pytest.mark.parametrize(
    "text",
    [
        "prompt = 'a.md'\n[prompt]\nbudget = 1",
        "prompt.budget = 1\nprompt = 'a.md'",
        "[convo]\nprompt = 'a'\n[convo.prompt]\n",
    ],
)
def test_both_ways_in_one_file_get_a_hint(write, text):
    root = write({"convo.toml": text})
    with pytest.raises(FormatError, match=r"in the table they stand as files = \.\.\.$"):
        Resolver(root).resolve(root)


SETS = st.fixed_dictionaries(
    {},
    optional={
        "files": st.sampled_from(["a.md", "c/b.md"]),
        "budget": st.integers(100, 200),
        "reserve": st.integers(0, 99),
        "style": st.sampled_from(["messages", "xml", "text"]),
    },
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(layers=st.lists(st.tuples(SETS, st.booleans()), min_size=1, max_size=4))
def test_each_key_is_that_of_the_nearest_layer_however_it_is_written(write, layers):
    root = write(FILES)
    nearest = []
    for said, short in layers:
        said = dict(said)
        files = said.pop("files", None)
        texts = [f"prompt.{key}={value}" for key, value in said.items()]
        texts += [f"prompt={files}" if short else f"prompt.files={files}"] if files is not None else []
        nearest.append(assignments_layer(texts, base=root))
    found = Resolver(root, nearest).resolve(root).settings.prompt
    for key in ("files", "budget", "reserve", "style"):
        expected = next((said[key] for said, _ in layers if key in said), "messages" if key == "style" else None)
        if key == "files" and expected is not None:
            expected = (root / expected,)
        assert getattr(found, key) == expected
