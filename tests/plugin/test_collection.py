"""What pytest collects, under which ids, and what it says of directories that are not as they should be."""

from __future__ import annotations

import pytest


def collected(convos, *args: str) -> list[str]:
    result = convos.pytester.runpytest_inprocess("--collect-only", "-q", *args)
    return [line for line in result.outlines if "::" in line]


def test_ids(convos):
    convos.say("with", toml="runs = 2\n")
    convos.say("without")
    (convos.path / "without/convo.toml").unlink()
    convos.write({"convo.toml": '[bot]\nprovider = "scripted"\n'})
    assert collected(convos) == [
        "with/convo.toml::run-1",
        "with/convo.toml::run-2",
        "without/0000_user.md::run-1",
    ]


def test_ids_do_not_change_with_the_number_of_runs_or_when_an_answer_is_added(convos):
    convos.say("a")
    before = collected(convos)
    convos.write({"a/0001_assistant.md": "Hello!", "a/0002_user.md": "And?"})
    assert collected(convos) == before == ["a/convo.toml::run-1"]
    assert collected(convos, "--convo-runs=2")[:1] == before


@pytest.mark.parametrize(
    "argument", ["a", "a/convo.toml", "a/0000_user.md", "a/convo.toml::run-1", "a/0000_user.md::run-1"]
)
def test_what_can_be_named_on_the_command_line(convos, argument):
    convos.say("a")
    convos.say("b")
    assert collected(convos, argument) == ["a/convo.toml::run-1"]


def test_a_file_of_defaults_is_no_conversation(convos):
    convos.say("a/b")
    convos.write({"a/convo.toml": "runs = 2\n"})
    assert collected(convos) == ["a/b/convo.toml::run-1", "a/b/convo.toml::run-2"]


def test_other_peoples_files_are_none_of_our_business(convos):
    convos.write({"migrations/0002_user.py": "raise SystemExit", "notes/2024-01-01.md": "x", "img/0001.png": "x"})
    assert collected(convos) == []
    assert convos.pytester.runpytest_inprocess().ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_a_near_miss_is_a_warning_that_says_why(convos):
    convos.say("a", {"002_user.md": "And?"})
    result = convos.pytester.runpytest_inprocess("-p", "no:cacheprovider", "-W", "default")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*ConvoWarning*002_user.md*"])


def test_bad_directories_are_collection_errors_of_their_own(convos):
    convos.say("good")
    convos.say("bad", {"0002_usr.md": "x", "0004_user.pdf": "x"})
    convos.say("worse", toml="rnus = 3\nagreement = 7\n")
    result = convos.pytester.runpytest_inprocess()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert result.parseoutcomes()["errors"] == 2
    result.stdout.fnmatch_lines(
        [
            "bad/0002_usr.md: *",
            "bad/0004_user.pdf: *",
            'worse/convo.toml:1: unknown key "rnus"*',
            "worse/convo.toml:2: *",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    again = convos.pytester.runpytest_inprocess("--continue-on-collection-errors")
    assert again.parseoutcomes() == {"passed": 1, "errors": 2}


def test_a_key_in_a_file_is_refused_and_not_shown(convos):
    convos.say("a", toml='[bot]\nprovider = "scripted"\napi_key = "sk-proj-abcdefghijklmnop0123456789"\n')
    result = convos.pytester.runpytest_inprocess()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert "abcdefghijklmnop" not in result.stdout.str()


def test_a_model_that_nobody_set(convos):
    convos.say("a", toml="[bot]\n")
    result = convos.pytester.runpytest_inprocess()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*no model is set*", "*`model` in*bot*--convo-model*"])


@pytest.mark.parametrize(
    ("argument", "told"),
    [
        ("--convo-runs=none", "*--convo-runs*"),
        ("--convo-runs=0", "*--convo-runs*"),
        ("--convo-agreement=1.5", "*--convo-agreement*"),
        ("--convo-set=rnus=3", "*--convo-set*rnus*"),
        ("--convo-set=rnus", "*KEY=VALUE*"),
        ("--convo-concurrency=0", "*--convo-concurrency*"),
        ("--convo-inconclusive=maybe", "*maybe*"),
    ],
)
def test_a_bad_option_is_a_usage_error(convos, argument, told):
    convos.say("a")
    result = convos.run(argument)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([told])
    assert "Traceback" not in result.stderr.str()


def test_a_bad_variable_is_a_usage_error(convos, monkeypatch):
    monkeypatch.setenv("PYTEST_CONVO_RUNS", "many")
    convos.say("a")
    result = convos.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*PYTEST_CONVO_RUNS*"])


def test_precedence_from_ini_to_command_line(convos, monkeypatch):
    convos.say("a")
    convos.pytester.makeini("[pytest]\nconvo_runs = 2\n")
    assert len(collected(convos)) == 2
    convos.say("a", toml="runs = 3\n")
    assert len(collected(convos)) == 3
    monkeypatch.setenv("PYTEST_CONVO_RUNS", "4")
    assert len(collected(convos)) == 4
    assert len(collected(convos, "--convo-set=runs=6", "--convo-runs=5")) == 6
    assert len(collected(convos, "--convo-runs=5")) == 5


def test_an_answered_conversation_is_skipped_and_alone_it_is_no_green_session(convos):
    convos.say("a", {"0001_assistant.md": "Hello."})
    result = convos.pytester.runpytest_inprocess("-rs")
    assert result.ret == 1
    result.stdout.fnmatch_lines_random(["*already answered; set regenerate*", "*no model was asked*"])
    convos.say("b")
    again = convos.pytester.runpytest_inprocess()
    assert again.ret == 0
    assert again.parseoutcomes() == {"passed": 1, "skipped": 1}
    redone = convos.pytester.runpytest_inprocess("--convo-set=regenerate=all")
    assert redone.parseoutcomes() == {"passed": 2}


def test_conversations_can_be_left_out_by_their_mark(convos):
    convos.say("a")
    convos.pytester.makepyfile("def test_x(): pass")
    assert collected(convos, "-m", "not convo", "--strict-markers") == [
        "test_conversations_can_be_left_out_by_their_mark.py::test_x"
    ]


def test_what_was_kept_of_earlier_sessions_is_never_collected(convos):
    convos.say("a")
    convos.pytester.makeini("[pytest]\nnorecursedirs = nothing\n")
    assert convos.pytester.runpytest_inprocess("-p", "no:cacheprovider").ret == 0
    assert collected(convos) == ["a/convo.toml::run-1"]


def test_a_dry_session_prints_every_request_and_calls_nothing(convos):
    convos.say("a", {"prompt.md": "Be kind.", "0002_user.md": "And then?"}, toml="runs = 3\n")
    before = sorted(path for path in convos.path.rglob("*") if "pycache" not in str(path))
    result = convos.pytester.runpytest_inprocess("--convo-dry", "-p", "no:cacheprovider")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["a/convo.toml: request at 1", '*"Be kind."*', "a/convo.toml: request at 3"])
    result.stdout.fnmatch_lines(["*‹reply at 1›*"])
    assert sorted(path for path in convos.path.rglob("*") if "pycache" not in str(path)) == before


def test_a_dry_session_over_xdist_is_the_same(convos):
    convos.say("a")
    result = convos.run("--convo-dry", "-p", "xdist.plugin", "-n2")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["a/convo.toml: request at 1"])


def test_a_dry_run_shows_what_a_judge_would_be_asked(convos):
    convos.say(
        "a",
        {"0001_assistant.md": "Yes, of course."},
        toml='regenerate = "all"\n[bot]\nprovider = "scripted"\n[judge]\nmodel = "m"\n[embeddings]\nmodel = "e"\n'
        '[expect]\njudge = "It is polite."\napproved = "judge"\nsimilar = { to = "Sure.", by = "embedding" }\n',
    )
    output = convos.pytester.runpytest("--convo-dry", "-p", "no:cacheprovider").stdout.str()
    titles = ("request at 1", "similar at 1", "judge at 1", "approved at 1")
    assert all(f"a/convo.toml: {title}\n" in output for title in titles)
    assert "It is polite." in output
    assert output.count("‹reply at 1›") == 3
    assert "Yes, of course." in output


def test_explain_says_where_each_setting_comes_from(convos, monkeypatch):
    convos.say("a", toml='agreement = "2/3"\n')
    monkeypatch.setenv("PYTEST_CONVO_RUNS", "3")
    result = convos.pytester.runpytest_inprocess("--convo-explain", "a")
    assert result.ret == 0
    result.stdout.fnmatch_lines_random(["*runs*3*PYTEST_CONVO_RUNS*", "*agreement*needs 2 of 3*a/convo.toml:1*"])


def test_the_schema_is_json(convos):
    result = convos.pytester.runpytest_inprocess("--convo-schema")
    assert result.ret == 0
    result.stdout.fnmatch_lines(['*"$schema"*'])


def test_help_and_hooks_are_there(convos):
    result = convos.pytester.runpytest_inprocess("--help")
    result.stdout.fnmatch_lines(["*--convo-runs=N*", "*convo_runs*"])


def test_folders_of_recordings_are_not_looked_into(convos):
    convos.say("a", {"__recordings__/parts/test_x.py": "raise SystemExit"})
    convos.pytester.makeconftest(
        """
        def pytest_collectstart(collector):
            assert "__recordings__" not in str(collector.path)
        """
    )
    assert collected(convos) == ["a/convo.toml::run-1"]


def test_where_there_is_no_conversation_every_folder_is_as_any_other(convos):
    convos.write({"__recordings__/test_x.py": "def test_x(): pass"})
    assert collected(convos) == ["__recordings__/test_x.py::test_x"]


def test_a_conftest_speaks_for_what_lies_below_it_and_for_no_neighbour(convos):
    for name in ("first", "second"):
        convos.say(
            name,
            {
                "conftest.py": "def pytest_convo_tools():\n"
                f"    def look() -> str:\n        return 'seen by {name}'\n    return [look]\n"
                f"def pytest_convo_redact(text):\n    return text.replace('of {name}', '')\n",
                "script.toml": '[[reply]]\nwhen = "Hello"\ncalls = [{ name = "look" }]\n'
                f"[[reply]]\nwhen = 'seen by {name}$'\ntext = 'It was {name}.'\n",
            },
        )
    convos.pytester.runpytest("-p", "no:cacheprovider").assert_outcomes(passed=2)
