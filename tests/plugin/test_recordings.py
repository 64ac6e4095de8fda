"""Recordings as a user meets them: what is asked, what is replayed, what is written, and what a miss says."""

from __future__ import annotations

import shutil

import pytest

from pytest_convo.testing import ScriptedReply, ScriptedServer

PARALLEL = ["-p", "xdist.plugin", "-n2"]
WAYS = pytest.mark.parametrize("args", [[], PARALLEL], ids=["one process", "xdist"])


@pytest.fixture
def server(convos):
    """A server that answers with the number of the request, so that no two answers are the same."""
    with ScriptedServer([ScriptedReply(text=f"Answer {number}.", times=1) for number in range(200)]) as server:
        convos.write({"convo.toml": f'runs = 3\n[bot]\nmodel = "test"\nbase_url = "{server.url}"\nretries = 0\n'})
        yield server


def write(convos, *names: str) -> None:
    for name in names:
        convos.write({f"{name}/0000_user.md": f"Question of {name}", f"{name}/0002_user.md": "And then?"})


def recordings(convos) -> list[str]:
    return sorted(str(path.relative_to(convos.path)) for path in convos.path.rglob("run-*.yaml"))


def answers(convos) -> list[str]:
    files = sorted(convos.path.rglob("run-*.yaml"))
    return [line.strip() for path in files for line in path.read_text().splitlines() if "Answer " in line]


@WAYS
def test_what_is_recorded_is_replayed_without_a_server(convos, server, args):
    write(convos, "a", "b")
    result = convos.run("--convo-record=new", *args)
    assert result.ret == 0, result.stdout.str()
    assert server.count == 12  # every run of all, though fewer decide
    assert recordings(convos) == [f"{name}/__recordings__/run-{run}.yaml" for name in "ab" for run in (1, 2, 3)]
    assert len(set(answers(convos))) == 12  # none is served to two runs
    server.stop()
    for mode in ("none", "auto"):
        result = convos.run(f"--convo-record={mode}", *args)
        assert result.ret == 0, result.stdout.str()
        result.stdout.fnmatch_lines(["*0 calls needed*", "0 calls · 12 answers replayed · *"])


def test_auto_asks_for_what_is_missing_and_writes_nothing(convos, server):
    write(convos, "a")
    convos.run("--convo-record=new")
    (convos.path / "a/__recordings__/run-2.yaml").unlink()
    before = recordings(convos)
    result = convos.run()
    result.stdout.fnmatch_lines(["convo: 2 calls needed", "2 calls · 4 answers replayed · *"])
    assert recordings(convos) == before
    result = convos.run("--convo-record=new")
    assert len(recordings(convos)) == 3
    assert server.count == 6 + 2 + 2


def test_all_asks_everything_again_and_rewrites(convos, server):
    write(convos, "a")
    convos.run("--convo-record=new")
    before = answers(convos)
    convos.run("--convo-record=all")
    assert server.count == 12
    assert len(answers(convos)) == 6
    assert not set(answers(convos)) & set(before)


@pytest.mark.parametrize(
    ("value", "mode"), [("true", "none (CI)"), ("1", "none (CI)"), ("", "auto"), ("false", "auto")]
)
def test_in_ci_nothing_is_asked(convos, server, monkeypatch, value, mode):
    write(convos, "a")
    monkeypatch.setenv("CI", value)
    result = convos.run()
    result.stdout.fnmatch_lines([f"convo: * · record {mode}"])
    assert server.count == (0 if mode != "auto" else 6)
    assert result.ret == (1 if mode != "auto" else 0)


@pytest.mark.parametrize("how", ["command line", "environment", "ini"])
def test_the_mode_of_ci_can_be_set_otherwise(convos, server, monkeypatch, how):
    write(convos, "a")
    monkeypatch.setenv("CI", "true")
    if how == "environment":
        monkeypatch.setenv("PYTEST_CONVO_RECORD", "auto")
    if how == "ini":
        convos.pytester.makeini("[pytest]\nconvo_record = auto\n")
    result = convos.run(*(["--convo-record=auto"] if how == "command line" else []))
    assert result.ret == 0, result.stdout.str()
    assert server.count == 6


def test_an_edited_prompt_is_shown_with_its_difference(convos, server):
    write(convos, "a")
    convos.write({"a/prompt.md": "You are kind.\nBe brief.\n"})
    convos.run("--convo-record=new")
    convos.write({"a/prompt.md": "You are rude.\nBe brief.\n"})
    result = convos.run("--convo-record=none")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "*run-1 to run-3 measured nothing (error):",
            "*a/__recordings__: request 1 of this run fits no recording: the system prompt changed",
            "*-You are kind.",
            "*+You are rude.",
            "*--convo-record=new*",
        ]
    )
    assert str(convos.path) not in result.stdout.str().split("measured nothing", 1)[1].split("kept in")[0]


def test_no_credentials_and_no_recording_is_an_error_that_says_both(convos, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    convos.write({"a/convo.toml": '[bot]\nmodel = "test"\n', "a/0000_user.md": "Hello?"})
    result = convos.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*needs a key, and OPENAI_API_KEY is not set*", "*nothing is recorded*"])


TOOL = """
def pytest_convo_tools(path, run):
    def price(tea: str) -> str:
        "The price of a tea."
        print("the tool runs")
        return {answer!r}
    return [price]
"""


@pytest.fixture
def shop(convos):
    """A conversation with a tool, recorded."""
    replies = [
        ScriptedReply(when="cost", calls=[{"name": "price", "arguments": {"tea": "green"}}]),
        ScriptedReply(when=r"(\d+) euros", text=r"It costs \1 euros."),
    ]
    with ScriptedServer(replies) as server:
        convos.write(
            {
                "shop/convo.toml": f'[expect]\ncontains = "5 euros"\n[bot]\nmodel = "test"\nbase_url = "{server.url}"',
                "shop/0000_user.md": "What does it cost?",
                "shop/conftest.py": TOOL.format(answer="5 euros"),
            }
        )
        assert convos.run("--convo-record=new").ret == 0
    return convos


def test_a_tool_that_answers_otherwise_is_told(shop):
    assert shop.run("--convo-record=none").ret == 0
    shop.write({"shop/conftest.py": TOOL.format(answer="7 euros")})
    result = shop.run("--convo-record=none")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["*price*", "*-5 euros*", "*+7 euros*", "shop/convo.toml::run-1: tool price(*) answers «7 euros», *"]
    )


def test_recorded_results_of_tools_can_be_replayed(shop):
    shop.write({"shop/conftest.py": TOOL.format(answer="7 euros")})
    result = shop.run("--convo-record=none", "--convo-set", "record.tools=replay", "-s")
    assert result.ret == 0, result.stdout.str()
    assert "the tool runs" not in result.stdout.str()


TEST = """
import shutil

import pytest

@pytest.mark.convo(runs=2)
@pytest.mark.parametrize("tea", ["green", "black"])
def test_tea(bot, tea):
    assert bot.ask(f"Is {tea} tea good?").text.startswith("Answer")

class TestThings:
    def test_single(self, bot):
        bot.ask("Once")
        bot.conversation("../a")

def test_none(): pass
"""


@WAYS
def test_what_a_test_asks_is_recorded_beside_it(convos, server, args):
    write(convos, "a")
    convos.write({"b/test_ask.py": TEST})
    assert convos.run("--convo-record=new", *args).ret == 0
    asked = server.count
    assert recordings(convos)[3:] == [
        "b/__recordings__/test_ask/TestThings/test_single/run-1.yaml",
        "b/__recordings__/test_ask/test_tea/black/run-1.yaml",
        "b/__recordings__/test_ask/test_tea/black/run-2.yaml",
        "b/__recordings__/test_ask/test_tea/green/run-1.yaml",
        "b/__recordings__/test_ask/test_tea/green/run-2.yaml",
    ]
    server.stop()
    result = convos.run("--convo-record=none", *args)
    assert result.ret == 0, result.stdout.str()
    assert server.count == asked


def test_what_went_wrong_is_not_recorded(convos):
    replies = [ScriptedReply(when="first", text="Yes."), ScriptedReply(when="second", error=500)]
    with ScriptedServer(replies) as server:
        convos.write(
            {
                "a/convo.toml": f'[bot]\nmodel = "test"\nbase_url = "{server.url}"\nretries = 0\n',
                "a/0000_user.md": "The first",
                "a/0002_user.md": "The second",
                "test_b.py": "def test_b(bot):\n    bot.ask('The first')\n    bot.ask('The second')\n",
                "convo.toml": f'[bot]\nmodel = "test"\nbase_url = "{server.url}"\nretries = 0\n',
            }
        )
        assert convos.run("--convo-record=new").ret == 1
    assert recordings(convos) == []


def test_what_the_bot_failed_at_is_replayed_as_such(convos):
    reply = ScriptedReply(error=400, code="context_length_exceeded", text="too long")
    with ScriptedServer([reply]) as server:
        convos.write(
            {
                "a/convo.toml": f'[bot]\nmodel = "test"\nbase_url = "{server.url}"\n',
                "a/0000_user.md": "Hello?",
            }
        )
        assert convos.run("--convo-record=new").parseoutcomes() == {"failed": 1}
    result = convos.run("--convo-record=none")
    assert result.parseoutcomes() == {"failed": 1}
    result.stdout.fnmatch_lines(["*too long*"])


@WAYS
def test_recordings_that_nothing_uses_are_listed_and_removed_when_all_is_recorded(convos, server, args):
    write(convos, "a", "b")
    convos.run("--convo-record=new", *args)
    convos.write({"a/convo.toml": "runs = 2\n", "b/0000_user.md": "Another question"})
    result = convos.run(*args)
    result.stdout.fnmatch_lines(
        ["1 recording that nothing uses (--convo-record=all removes them):", "  a/__rec*/run-3.yaml"]
    )
    assert "a/__recordings__/run-3.yaml" in recordings(convos)
    parts = len(list(convos.path.rglob("parts/*.md")))
    result = convos.run("--convo-record=all", *args)
    result.stdout.fnmatch_lines(["removed 1 recording that nothing uses:"])
    assert "a/__recordings__/run-3.yaml" not in recordings(convos)
    assert len(list(convos.path.rglob("parts/*.md"))) <= parts
    server.stop()
    assert convos.run("--convo-record=none", *args).ret == 0


@pytest.mark.parametrize("args", [["-k", "a"], ["a/0000_user.md::run-1"], ["--convo-runs=2"], ["a"]])
def test_a_part_of_the_suite_says_nothing_of_the_rest(convos, server, args):
    write(convos, "a", "b")
    convos.run("--convo-record=new")
    result = convos.run("--convo-record=all", *args)
    assert result.ret == 0
    assert "nothing uses" not in result.stdout.str()
    assert len(recordings(convos)) == 6


def test_recording_runs_all_and_says_what_the_header_says(convos, server):
    write(convos, "a")
    result = convos.run("--convo-record=new", "--convo-runs=5", "--convo-agreement=0.4")
    result.stdout.fnmatch_lines(["convo: 1 group, 5 runs · * · record new", "convo: 10 calls needed"])
    assert result.parseoutcomes() == {"passed": 1}


def test_a_replay_imports_no_client(convos, server):
    write(convos, "a")
    convos.run("--convo-record=new")
    server.stop()
    convos.write(
        {
            "conftest.py": "import sys\n"
            "def pytest_unconfigure():\n"
            "    heavy = {'openai', 'httpx', 'httpx2', 'aiohttp', 'genai_prices', 'jinja2'} & set(sys.modules)\n"
            "    print(f'heavy: {sorted(heavy)}')\n"
        }
    )
    result = convos.pytester.runpytest_subprocess("--convo-record=none", "-p", "no:anyio")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["heavy: [[]]"])


def test_a_broken_recording_is_told_with_its_file(convos, server):
    write(convos, "a")
    convos.run("--convo-record=new")
    (convos.path / "a/__recordings__/run-2.yaml").write_text("version: 9\nexchanges: []\n")
    result = convos.run("--convo-record=none")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*a/__recordings__/run-2.yaml*version*9*"])
    assert "Traceback" not in result.stdout.str()


def test_a_replay_is_called_no_new_sample(convos, server):
    write(convos, "a")
    convos.write({"a/convo.toml": '[expect]\nexcludes = "Answer"\n'})
    convos.run("--convo-record=new")
    result = convos.run("--convo-record=none")
    result.stdout.fnmatch_lines(["*replayed from recordings, which is no new sample: *"])


LOGGING = """
from pathlib import Path
def pytest_convo_model(settings):
    def model(messages):
        with open({log!r}, "a") as log:
            log.write("asked\\n")
        return "Yes."
    return model
"""


@pytest.mark.parametrize(
    "option", ["--collect-only", "--convo-dry", "--convo-simulate", "--setup-plan", "--setup-only"]
)
@WAYS
def test_what_only_looks_asks_nobody(convos, option, args):
    log = convos.path / "log.txt"
    convos.write({"conftest.py": LOGGING.format(log=str(log))})
    write(convos, "a")
    assert convos.run(option, "--convo-record=all", *args).ret == 0
    assert not log.exists()
    assert recordings(convos) == []


def test_a_collection_error_asks_nobody_and_records_nothing(convos):
    """In one process: xdist runs what could be collected."""
    log = convos.path / "log.txt"
    convos.write({"conftest.py": LOGGING.format(log=str(log)), "test_bad.py": "import nope\n"})
    write(convos, "a")
    assert convos.pytester.runpytest_inprocess("--convo-record=all").ret == pytest.ExitCode.INTERRUPTED
    assert not log.exists()
    assert recordings(convos) == []


def test_a_long_name_and_an_odd_one_have_a_recording(convos, server):
    convos.write(
        {
            "test_ask.py": "import pytest\n@pytest.mark.convo(runs=1)\n"
            "@pytest.mark.parametrize('x', [1, 2], ids=['x' * 300, 'ä/b:c'])\n"
            "def test_ask(bot, x): bot.ask(f'{x}?')\n"
        }
    )
    assert convos.pytester.runpytest_subprocess("--convo-record=new").ret == 0
    assert len(recordings(convos)) == 2
    server.stop()
    assert convos.pytester.runpytest_subprocess("--convo-record=none").ret == 0


def test_what_no_encoding_knows_is_recorded_too(convos):
    convos.write(
        {
            "conftest.py": "def pytest_convo_model(settings):\n    return lambda messages: 'a\\ud800b'\n",
            "test_ask.py": "def test_ask(bot): assert bot.ask('Well?').text == 'a\\ud800b'\n",
        }
    )
    assert convos.run("--convo-record=new").ret == 0
    assert convos.run("--convo-record=none").ret == 0


def test_names_that_differ_in_odd_characters_have_recordings_of_their_own(convos, server):
    convos.write(
        {
            "test_ask.py": "import pytest\n"
            "@pytest.mark.parametrize('x', ['a', 'a?', 'a!', 'A?'])\n"
            "def test_single(bot, x): bot.ask(x)\n"
            "@pytest.mark.convo(runs=1)\n"
            "@pytest.mark.parametrize('x', ['b', 'b?', 'b!'])\n"
            "def test_marked(bot, x): bot.ask(x)\n"
        }
    )
    assert convos.run("--convo-record=all").ret == 0
    assert len(recordings(convos)) == 7
    server.stop()
    assert convos.run("--convo-record=none").ret == 0


SLOW = """
def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if "slow" not in item.name]
"""


@WAYS
def test_recordings_of_what_this_session_does_not_run_are_kept(convos, server, args):
    write(convos, "c")
    convos.write(
        {
            "c/test_a.py": "def test_a(bot): bot.ask('a')\n"
            "def test_slow(bot): bot.ask('slow')\n"
            "def test_late(request): request.getfixturevalue('bot').ask('late')\n",
            "test_other.py": "def test_other(): pass\n",
        }
    )
    convos.run("--convo-record=new")
    before = recordings(convos)
    assert len(before) == 6
    convos.write({"conftest.py": SLOW})
    convos.run("--convo-record=all", *args)
    assert recordings(convos) == before
    convos.run("--convo-record=all", "c/test_a.py", *args)
    assert recordings(convos) == before
    convos.write({"c/convo.toml": "broken ="})
    convos.run("--convo-record=all", "--continue-on-collection-errors", *args)
    assert recordings(convos) == before


@pytest.mark.parametrize("how", ["raise KeyboardInterrupt", "pytest.exit('enough')", "raise RuntimeError('bug')"])
def test_a_test_that_is_broken_off_leaves_its_recording_as_it_was(convos, server, how):
    test = "import pytest\ndef test_ask(bot):\n    bot.ask('one')\n    {}\n    bot.ask('two')\n"
    convos.write({"test_ask.py": test.format("pass")})
    convos.run("--convo-record=all")
    before = answers(convos)
    assert len(before) == 2
    convos.write({"test_ask.py": test.format(how)})
    convos.pytester.runpytest_inprocess("--convo-record=all", no_reraise_ctrlc=True)
    assert answers(convos) == before


def test_of_a_replay_that_passes_nothing_more_is_kept(convos, server):
    convos.write({"convo.toml": (convos.path / "convo.toml").read_text().replace("runs = 3", "runs = 1")})
    write(convos, "a", "b", "c")
    convos.write({"test_x.py": "def test_x(bot): bot.ask('x')\n"})
    convos.run("--convo-record=new")
    shutil.rmtree(convos.path / ".convo")
    result = convos.run("-p", "no:cacheprovider")
    assert result.parseoutcomes() == {"passed": 4}
    assert not (convos.path / ".convo").exists()
    convos.write({"b/convo.toml": '[expect]\ncontains = "never said"\n'})  # fails
    (convos.path / "c/__recordings__/run-1.yaml").unlink()  # is asked
    result = convos.run("-p", "no:cacheprovider")
    assert result.parseoutcomes() == {"passed": 3, "failed": 1}
    assert {path.parents[2].name for path in convos.path.rglob("events.jsonl")} == {"b", "c"}
