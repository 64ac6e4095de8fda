"""Test functions that are run several times."""

from __future__ import annotations

import pytest


@pytest.fixture
def project(convos):
    convos.say(".", toml='runs = 3\nagreement = "2/3"\n', answer="It takes 30 days.")
    return convos


def ids(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if "::" in line]


def test_a_test_with_convo_is_run_on_every_run_of_its_conversation(project):
    project.pytester.makepyfile(
        test_days="""
        runs = set()
        def test_days(convo):
            assert "30 days" in convo.reply(1).text
            assert convo.last.text == convo.replies[0].text
            assert convo.calls == []
            assert convo.usage.total_tokens > 0
            assert [message.role for message in convo.messages] == ["user", "assistant"]
            runs.add(convo.run)
        def test_runs():
            assert runs == {1, 2}
        """
    )
    result = project.pytester.runpytest_inprocess("-v")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["test_days.py::test_days::run-1 PASS*", "test_days.py::test_days PASSED*"])


def test_both_read_the_same_transcript(project):
    project.pytester.makepyfile(test_days="def test_days(convo): assert convo.run")
    result = project.pytester.runpytest_inprocess("--convo-eager")
    result.stdout.fnmatch_lines(["3 calls*"])


def test_a_failing_assert_shows_its_values(project):
    project.pytester.makepyfile(test_days="def test_days(convo): assert convo.last.text == 'never'")
    result = project.pytester.runpytest_inprocess("test_days.py")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["*stable fail*", "*- never", "*+ It takes 30 days.", "FAILED test_days.py::test_days*"]
    )


def test_convo_without_a_conversation_is_a_collection_error(convos):
    convos.pytester.makepyfile(test_alone="def test_alone(convo): pass")
    result = convos.pytester.runpytest_inprocess()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*test_alone takes `convo`, but * holds no conversation, and no task"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_cases_are_judged_by_themselves(convos):
    convos.say(
        ".",
        {"0000_user.md": None or "", "0000_user.md.j2": "{{ order }}?"},
        toml='[[case]]\nid = "late"\nvars = { order = "A17" }\n[[case]]\nid = "early"\nvars = { order = "B2" }\n'
        '[bot]\nprovider = "scripted"\n',
    )
    (convos.path / "0000_user.md").unlink()
    convos.pytester.makepyfile(
        test_case="def test_case(convo): assert convo.messages[0].text == {'late': 'A17?', 'early': 'B2?'}[convo.case]"
    )
    result = convos.pytester.runpytest_inprocess("--collect-only", "-q")
    assert ids(result) == [
        "convo.toml::late::run-1",
        "convo.toml::early::run-1",
        "test_case.py::test_case::late::run-1",
        "test_case.py::test_case::early::run-1",
    ]
    assert convos.pytester.runpytest_inprocess().ret == 0


MARKED = """
    import pytest

    seen = []

    @pytest.mark.convo(runs=3, agreement="2/3")
    def test_function(bot):
        assert "30 days" in bot.ask("How long?").text

    class TestClass:
        @pytest.mark.convo(runs=2)
        def test_method(self, bot):
            assert not hasattr(self, "used")
            self.used = True
            assert bot.ask("How long?")

    @pytest.mark.convo(runs=2, agreement=1)
    @pytest.mark.parametrize("what", ["a/b", "x::y", "[z]"])
    def test_parameters(bot, what):
        assert bot.ask(what).text
        seen.append(what)

    @pytest.mark.convo(runs=2)
    async def test_coroutine(bot):
        import asyncio
        one, two = await asyncio.gather(bot.aask("How long?"), bot.aask("And you?"))
        assert one.text == two.text

    def test_ordinary(bot):
        assert bot.ask("How long?").text
    """


def test_the_mark_on_functions_methods_parameters_and_coroutines(project):
    project.pytester.makepyfile(test_marked=MARKED)
    result = project.pytester.runpytest_inprocess("test_marked.py", "-v")
    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines_random(
        [
            "test_marked.py::test_function PASSED*",
            "test_marked.py::TestClass::test_method PASSED*",
            "test_marked.py::test_parameters::a-b PASSED*",
            "test_marked.py::test_parameters::x-y PASSED*",
            "test_marked.py::test_parameters::z PASSED*",
            "test_marked.py::test_coroutine PASSED*",
            "test_marked.py::test_ordinary PASSED*",
        ]
    )


def test_the_mark_over_xdist(project):
    project.pytester.makepyfile(test_marked=MARKED)
    result = project.run("-p", "xdist.plugin", "-n2")
    assert result.ret == 0, result.stdout.str()
    assert result.parseoutcomes()["passed"] == 8


@pytest.mark.parametrize("plugin", ["pytest_asyncio.plugin", "anyio.pytest_plugin"])
def test_coroutines_of_async_plugins(project, plugin):
    mark = "asyncio" if "asyncio" in plugin else "anyio"
    project.pytester.makepyfile(
        test_async=f"""
        import pytest

        @pytest.fixture
        def anyio_backend():
            return "asyncio"

        @pytest.mark.{mark}
        @pytest.mark.convo(runs=2)
        async def test_coroutine(bot):
            assert (await bot.aask("How long?")).text
        """
    )
    args = ["-o", "asyncio_default_fixture_loop_scope=function"] if mark == "asyncio" else []
    result = project.pytester.runpytest_subprocess("test_async.py", "-p", plugin, *args)
    assert result.ret == 0, result.stdout.str()
    assert result.parseoutcomes()["passed"] == 1


@pytest.mark.parametrize(
    ("mark", "told"),
    [
        ("runs=0", "*runs*"),
        ("agreement=2", "*agreement*"),
        ("rnus=3", "*@pytest.mark.convo does not take rnus*"),
        ("5", "*@pytest.mark.convo does not take 5*"),
    ],
)
def test_a_bad_mark_is_a_collection_error(project, mark, told):
    project.pytester.makepyfile(f"import pytest\n@pytest.mark.convo({mark})\ndef test_x(bot): pass")
    result = project.pytester.runpytest_inprocess()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines([told])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_the_runs_of_the_command_line_win_over_the_mark(project):
    project.pytester.makepyfile(
        "import pytest\n@pytest.mark.convo(runs=3)\ndef test_x(bot): assert bot.ask('How long?').text"
    )
    result = project.pytester.runpytest_inprocess("--convo-runs=2", "--collect-only", "-q", "-k", "test_x")
    assert [line.rpartition("::")[2] for line in ids(result)] == ["run-1", "run-2"]


def test_what_breaks_in_a_fixture_measures_nothing(project):
    project.pytester.makepyfile(
        """
        import pytest

        @pytest.fixture
        def broken():
            raise OSError("no database")

        @pytest.mark.convo(runs=2)
        def test_x(broken): pass
        """
    )
    result = project.pytester.runpytest_inprocess("-k", "test_x")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*inconclusive: no run measured anything*", "*no database*"])


def test_fixtures_of_every_scope_work(project):
    project.pytester.makepyfile(
        """
        import pytest
        made = []

        @pytest.fixture(scope="module")
        def module():
            made.append("module")

        @pytest.fixture(scope="class")
        def cls():
            made.append("class")

        @pytest.fixture(autouse=True)
        def function():
            made.append("function")

        class TestX:
            @pytest.mark.convo(runs=2, agreement=1)
            def test_x(self, module, cls): pass

        def test_made():
            assert sorted(made) == ["class", "function", "function", "function", "module"]
        """
    )
    assert project.pytester.runpytest_inprocess("-p", "no:convo-none").ret == 0


def test_a_bot_may_be_asked_with_messages_tools_and_fields(project):
    project.pytester.makepyfile(
        """
        import pytest

        def test_x(bot):
            history = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}, "How long?"]
            assert "30" in bot.ask(history, system="Be brief.", temperature=0, seed=7).text
            assert bot.conversation(".").last.text == "It takes 30 days."
        """
    )
    result = project.pytester.runpytest_inprocess("-k", "test_x")
    assert result.ret == 0, result.stdout.str()


def test_skips_and_expected_failures_stay_what_they_are(project):
    project.pytester.makepyfile(
        """
        import pytest

        @pytest.mark.skip(reason="not now")
        @pytest.mark.convo(runs=2)
        def test_skipped(): pass

        @pytest.mark.xfail
        @pytest.mark.convo(runs=2)
        def test_expected(): assert False
        """
    )
    result = project.pytester.runpytest_inprocess("-k", "test_skipped or test_expected")
    assert result.ret == 0
    assert result.parseoutcomes() == {"skipped": 2, "xfailed": 2, "deselected": 3}
