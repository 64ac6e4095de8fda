"""Options of writing and watching: what goes together, and what is taken for a value."""

from __future__ import annotations

import pytest

from pytest_convo.flags import unfold


@pytest.mark.parametrize(
    "args, said",
    [
        (["--convo-trunc=2"], "--convo-trunc is a part of writing: it needs --convo-write"),
        (["--convo-next"], "--convo-next is a part of writing: it needs --convo-write"),
        (["--convo-trunc-all"], "--convo-trunc-all is a part of writing: it needs --convo-write"),
        (["--convo-write", "--convo-trunc"], "after which message? Give its index, as in --convo-trunc=2"),
        (["--convo-write", "--convo-trunc-all"], "after which message? Give its index, as in --convo-trunc=2"),
        (["--convo-write", "--convo-trunc=two"], "an index from 0 to 9999 is needed, not 'two'"),
        (["--convo-write", "--convo-fork=10000"], "an index from 0 to 9999 is needed, not '10000'"),
        (["--convo-write", "--convo-trunc=2", "--convo-fork=4"], "name two points: give one index"),
        (["--convo-watch", "--convo-watch-poll=0"], "a number of seconds is needed, not '0'"),
        (["--convo-watch-queue"], "--convo-watch-queue is a part of watching: it needs --convo-watch"),
        (["--convo-watch-poll"], "--convo-watch-poll is a part of watching: it needs --convo-watch"),
        (["--convo-watch", "--convo-dry"], "--convo-dry and --convo-watch do not go together"),
        (["--convo-watch", "--convo-write", "--convo-runs=3"], "--convo-write writes the answers of one run, not of 3"),
        (["--convo-watch", "--convo-watch-tools"], "--convo-watch-tools asks somebody at a terminal, and here is none"),
    ],
)
def test_what_does_not_go_together(convos, args, said) -> None:
    convos.say("tea")
    result = convos.run(*args, "tea")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert said in result.stderr.str()
    assert sorted(path.name for path in (convos.path / "tea").iterdir()) == [
        "0000_user.md",
        "convo.toml",
        "script.toml",
    ]


@pytest.mark.parametrize("before", ["--convo-fork", "--convo-trunc"])
def test_a_path_behind_an_option_is_no_value_of_it(convos, before) -> None:
    convos.say("tea")
    convos.say("coffee")
    convos.write({"tea/conftest.py": "def pytest_report_header():\n    return 'tea is served'\n"})
    args = ["--convo-trunc=0"] if before == "--convo-fork" else ["--convo-fork=0"]
    result = convos.run("--collect-only", "--convo-write", *args, before, "tea")
    result.stdout.fnmatch_lines(["tea is served"])  # its conftest is among the first: the path was seen at once
    result.stdout.no_fnmatch_line("*coffee*")
    assert result.ret == 0


def test_nothing_is_an_option_behind_two_dashes() -> None:
    args = ["--", "--convo-fork"]
    unfold(None, None, args)
    assert args == ["--", "--convo-fork"]
