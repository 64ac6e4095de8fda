"""`pytest --convo-watch` as somebody uses it: files are edited, keys are pressed, and what it says is read."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from pytest_convo.testing import ScriptedReply, ScriptedServer

from .conftest import Watching
from .test_events import EDITORS

NO_OR_YES = (ScriptedReply(when="bad", text="No."), ScriptedReply(text="Yes."))
SLOW_OR_NOT = (
    ScriptedReply(when="slow", text="Late.", latency=120),
    ScriptedReply(when="wait", text="Soon.", latency=1.5),
    ScriptedReply(text="Yes."),
)
WANTS_YES = '[expect]\ncontains = "Yes"'


def asked(server) -> list[str]:
    """The last message of each request."""
    return [request.body["messages"][-1]["content"] for request in server.requests]


@pytest.fixture
def say(convos):
    """Write the messages of conversations: name → what the user says at 0, 2, 4 ..."""

    def say(**names: str | list[str]) -> None:
        for name, texts in names.items():
            for turn, text in enumerate([texts] if isinstance(texts, str) else texts):
                convos.write({f"convos/{name}/{2 * turn:04}_user.md": f"{text}\n"})

    return say


# -- messages


def test_an_edit_runs_that_conversation_and_asks_what_is_new(convos, serve, watch, say):
    server = serve(*NO_OR_YES, toml=WANTS_YES)
    say(tea=["One?", "Two?", "Three?", "Four?"], coffee="Coffee?")
    watching = watch()
    assert server.count == 0, "nothing is asked before anything is edited"

    assert watching.after(lambda: say(tea="First?")) == {"convos/tea": ["PASSED"]}
    assert asked(server) == ["First?", "Two?", "Three?", "Four?"]

    server.reset()
    edit = convos.path / "convos/tea/0004_user.md"
    assert watching.after(lambda: edit.write_text("Third?\n")) == {"convos/tea": ["PASSED"]}
    assert asked(server) == ["Third?", "Four?"], "what comes before the edit is known"

    server.reset()
    assert watching.after(lambda: edit.write_text("Three?\n")) == {"convos/tea": ["PASSED"]}
    assert server.count == 0, "as it was before"

    assert watching.after(lambda: edit.write_text("Three?\n")) == {}, "the same text"
    assert watching.after(edit.touch) == {}
    assert watching.after(lambda: edit.with_name("notes.md~").write_text("what an editor leaves")) == {}
    assert watching.after(lambda: (edit.parent / "__recordings__").mkdir()) == {}

    assert watching.after(edit.with_name("0006_user.md").unlink) == {"convos/tea": ["PASSED"]}
    assert watching.after(lambda: edit.with_name("0005_assistant.md").write_text("Yes, 3.")) == {
        "convos/tea": ["PASSED"]
    }


def test_an_edit_starts_at_once_while_another_answer_is_pending(serve, watch, say, until):
    server = serve(*SLOW_OR_NOT)
    say(tea="Tea?", coffee="Coffee?")
    watching = watch()

    say(tea="slow")
    until(lambda: server.in_flight == 1)
    say(coffee="More coffee?")
    watching.wait_for("^[0-9:]+ convos/coffee PASSED")

    assert server.in_flight == 1
    assert "waiting" not in watching.said
    watching.press("q")
    assert watching.wait() == 0
    until(lambda: server.in_flight == 0)


def test_an_edit_of_what_is_in_flight_begins_it_anew(serve, watch, say, until):
    server = serve(*SLOW_OR_NOT)
    say(tea="Tea?", coffee="Coffee?")
    watching = watch()
    say(tea="slow", coffee="slow coffee")
    until(lambda: server.in_flight == 2)

    say(tea="Green tea?")
    watching.wait_for("^[0-9:]+ convos/tea PASSED")
    watching.wait_for("watching 3 · running convos/coffee ·")

    assert server.in_flight == 1, "the connection of the one was closed, the other one's was not"
    say(coffee="Espresso?")
    assert Watching.ended(watching.quiet()) == {"convos/coffee": ["PASSED"]}
    assert sorted(asked(server)) == ["Espresso?", "Green tea?", "slow", "slow coffee"]
    assert Watching.ended(watching.said) == {"convos/tea": ["PASSED"], "convos/coffee": ["PASSED"]}


def test_of_edits_in_a_row_the_last_one_counts(serve, watch, say):
    server = serve(*NO_OR_YES, toml=WANTS_YES)
    say(tea="Tea?")
    watching = watch()

    for number in range(12):
        say(tea=f"bad {number}")
        watching.wait_for("convos/tea: .* edited")
    say(tea="Good?")
    watching.wait_for("convos/tea: .* edited")

    assert Watching.ended(watching.quiet())["convos/tea"][-1] == "PASSED"
    assert asked(server)[-1] == "Good?"
    assert len(asked(server)) == len(set(asked(server)))


def test_in_a_queue_what_runs_may_end_first(serve, watch, say, until):
    server = serve(*SLOW_OR_NOT)
    say(tea="Tea?")
    watching = watch("convos", "--convo-watch-queue")

    say(tea="wait")
    until(lambda: server.in_flight == 1)
    say(tea="Green tea?")

    watching.wait_for("convos/tea PASSED")
    assert Watching.ended(watching.quiet()) == {"convos/tea": ["PASSED"]}
    assert asked(server) == ["wait", "Green tea?"]


def test_a_save_by_any_editor_is_one_run(convos, watch):
    names = [f"convos/{save.__name__.replace('_', '-')}" for save in EDITORS]
    for name in names:
        convos.say(name)
    watching = watch("convos", "--convo-runs=1")

    def save_all() -> None:
        for save, name in zip(EDITORS, names, strict=True):
            save(convos.path / name / "0000_user.md", "How are you?\nWell?\n")

    assert watching.after(save_all) == {name: ["PASSED"] for name in names}
    assert watching.after(save_all) == {}, "the same texts"


def test_where_the_system_tells_nothing_files_are_looked_at(convos, watch):
    convos.say("convos/tea")
    watching = watch("convos", "--convo-watch-poll=0.2")

    EDITORS[0](convos.path / "convos/tea/0000_user.md", "How are you?\n")
    watching.wait_for("convos/tea PASSED")

    assert watching.after(lambda: None) == {}


# -- what conversations are made of


def test_exactly_what_depends_on_a_file_runs(convos, serve, watch, say):
    server = serve(ScriptedReply(text="Yes."))
    convos.write(
        {
            "convos/hot/prompt.md": "Be warm.\n",
            "convos/hot/tea/prompt.md.j2": "{% include 'shared.j2' %} Be {{ mood }}.",
            "convos/hot/tea/shared.j2": "Be short.",
            "convos/hot/tea/convo.toml": '[vars]\nmood = "kind"\n[expect]\npython = "checks.py:kind"\n',
            "convos/hot/tea/checks.py": "def kind(reply, transcript): assert reply.text == 'Yes.'\n",
            "convos/cold/conftest.py": "import fridge\n\ndef pytest_convo_tools(path, run): return [fridge.look]\n",
            "convos/cold/fridge.py": FRIDGE.format("a fridge"),
            "unused.py": "",
        }
    )
    say(**{"hot/tea": "Tea?", "hot/coffee": "Coffee?", "cold/juice": "Juice?", "plain": "Water?"})
    watching = watch("convos", "--convo-runs=1")
    tea, coffee, juice, plain = "convos/hot/tea", "convos/hot/coffee", "convos/cold/juice", "convos/plain"

    def after(files: dict[str, str]) -> dict[str, list[str]]:
        server.reset()
        return watching.after(lambda: convos.write(files))

    toml = (convos.path / "convos/convo.toml").read_text()
    assert after({"convos/convo.toml": toml + "temperature = 0\n", "unused.py": "x = 1\n"}) == {
        name: ["PASSED"] for name in (tea, coffee, juice, plain)
    }
    assert after({"convos/hot/prompt.md": "Be hot.\n", "convos/cold/fridge.py": FRIDGE.format("a cupboard")}) == {
        coffee: ["PASSED"],
        juice: ["PASSED"],
    }
    assert {text for request in server.requests for text in (of_tool(request), system(request))} == {
        "Look into a cupboard.",
        "Be hot.",
        None,
    }
    no_tools = {"convos/cold/conftest.py": "def pytest_convo_tools(path, run): return []\n"}
    assert after({"convos/hot/tea/shared.j2": "Be long.", **no_tools}) == {tea: ["PASSED"], juice: ["PASSED"]}
    assert {text for request in server.requests for text in (of_tool(request), system(request))} == {
        "Be long. Be kind.",
        None,
    }
    assert after({"convos/hot/tea/checks.py": "def kind(reply, transcript): return 'unkind'\n"}) == {tea: ["FAILED"]}
    assert server.count == 0


FRIDGE = """
def look() -> str:
    '''Look into {}.'''
    return "milk"
"""


def of_tool(request) -> str | None:
    """What a request says of its first tool."""
    tools = request.body.get("tools", ())
    return tools[0]["function"]["description"] if tools else None


def system(request) -> str | None:
    first = request.body["messages"][0]
    return first["content"] if first["role"] == "system" else None


def test_a_conftest_that_is_new_counts(convos, serve, watch, say):
    server = serve(ScriptedReply(text="Yes."))
    say(tea="Tea?")
    watching = watch("convos", "--convo-runs=1")
    before: list[Path] = []
    for number, directory in enumerate(("convos/tea/", "convos/", "")):

        def change(new=convos.path / directory / "conftest.py", number=number) -> None:
            for path in before:
                path.unlink()
            tool = f"def colour_{number}() -> str:\n    'A colour.'\n"
            new.write_text(f"{tool}def pytest_convo_tools(path, run): return [colour_{number}]\n")
            before[:] = [new]

        assert watching.after(change)["convos/tea"] == ["PASSED"]
        assert [tool["function"]["name"] for tool in server.requests[-1].body["tools"]] == [f"colour_{number}"]


FRIDGE = """
def look() -> str:
    '''Look into {}.'''
    return "milk"
"""


def test_conversations_come_and_go(convos, serve, watch, say):
    serve(*NO_OR_YES, toml=WANTS_YES)
    say(tea="bad tea")
    watching = watch("convos", "--convo-runs=1")
    convoy = convos.path / "convos"
    assert watching.after(lambda: say(tea="bad")) == {"convos/tea": ["FAILED"]}
    assert "failed: convos/tea" in standing(watching)

    assert watching.after(lambda: say(**{"new/deep": "New?"})) == {"convos/new/deep": ["PASSED"]}
    assert standing(watching).startswith("watching 3")
    renamed = watching.after(lambda: (convoy / "tea").rename(convoy / "chai"))
    assert renamed == {"convos/chai": ["FAILED"]}
    assert standing(watching) == "watching 3 · failed: convos/chai"
    assert watching.after(lambda: shutil.rmtree(convoy / "chai")) == {}
    assert standing(watching).startswith("watching 2 · nothing failed")
    assert watching.after((convoy / "new/deep/0000_user.md").unlink) == {}
    assert standing(watching).startswith("watching 1")
    assert watching.after(lambda: say(**{"new/deep": "Again?"})) == {"convos/new/deep": ["PASSED"]}
    watching.press("\r")
    watching.wait_for("convos/zz PASSED")
    assert "error" not in watching.quiet().lower()


def standing(watching: Watching) -> str:
    """The last line about how things stand."""
    line = [line for line in watching.said.splitlines() if " watching " in line][-1]
    return line.partition(" ")[2]


def test_what_was_broken_and_holds_no_message_any_more_has_gone(convos, watch):
    convos.say("convos/tea")
    watching = watch()
    assert watching.after(lambda: convos.write({"convos/tea/convo.toml": "runs = = 3\n"})) == {"convos/tea": ["ERROR"]}

    def edit() -> None:
        convos.write({"convos/tea/convo.toml": ""})
        (convos.path / "convos/tea/0000_user.md").unlink()

    assert watching.after(edit) == {}
    assert "convos/tea has gone" in watching.said
    assert standing(watching) == "watching 1 · nothing failed"


def test_a_bot_that_changes_answers_anew(convos, watch):
    application = "def pytest_convo_model(settings):\n    return lambda messages: {!r}\n"
    convos.say("convos/script", toml=WANTS_YES + "\n")
    convos.say("convos/own", {"conftest.py": application.format("Yes.")}, toml=WANTS_YES + "\n")
    watching = watch("convos", "--convo-runs=1")
    watching.press("\r")
    watching.wait_for("watching 3 · nothing failed")

    def edit() -> None:
        convos.write({"convos/script/script.toml": '[[reply]]\ntext = "No."\n'})
        convos.write({"convos/own/conftest.py": application.format("No.")})

    assert watching.after(edit) == {"convos/own": ["FAILED"], "convos/script": ["FAILED"]}


def test_a_case_that_goes_is_not_held_against_it(convos, serve, watch, say):
    serve(*NO_OR_YES, toml=WANTS_YES)
    toml = '[[case]]\nid = "one"\nvars = {{ it = "fine" }}\n[[case]]\nid = "two"\nvars = {{ it = "{}" }}\n'
    convos.write({"convos/tea/0000_user.md.j2": "{{ it }}?", "convos/tea/convo.toml": toml.format("bad")})
    watching = watch("convos", "--convo-runs=1")
    assert watching.after(lambda: convos.write({"convos/tea/convo.toml": toml.format("so bad")})) == {
        "convos/tea": ["FAILED"]
    }

    one = toml.partition('[[case]]\nid = "two"')[0].replace("{{", "{").replace("}}", "}")
    assert watching.after(lambda: convos.write({"convos/tea/convo.toml": one})) == {"convos/tea": ["PASSED"]}
    assert "nothing failed" in standing(watching)


# -- what goes wrong


def test_what_cannot_be_collected_is_told_and_can_be_mended(convos, serve, watch, say):
    serve(*NO_OR_YES, toml=WANTS_YES)
    names = ["settings", "hooks", "name", "prompt", "test"]
    say(milk="Milk?", coffee="Coffee?", **dict.fromkeys(names, "Well?"))
    convos.write({"convos/milk/convo.toml": "runs = = 3\n"})
    watching = watch("convos", "--convo-runs=1")
    assert "convos/milk/convo.toml" in watching.said, "what is wrong from the start is told"
    assert "failed: convos/milk" in standing(watching)
    bad = {
        "convos/settings/convo.toml": "rnus = 3\n",
        "convos/hooks/conftest.py": "def pytest_convo_tools(:\n",
        "convos/name/0002_usr.md": "Two?\n",
        "convos/prompt/prompt.md.j2": "{{ nobody }}",
        "convos/test/test_tea.py": "import nothing_of_this_name\n",
    }

    assert watching.after(lambda: (convos.write(bad), say(coffee="More coffee?"))) == {
        "convos/coffee": ["PASSED"],
        **{f"convos/{name}": ["ERROR"] for name in [*names, "milk"]},  # a new module may be what one had lacked
    }
    for words in ("rnus", "SyntaxError", "unknown role", "nobody", "nothing_of_this_name"):
        assert words in watching.said
    assert "and 2 more" in standing(watching), "five and what was broken before"

    def mend() -> None:
        convos.write({path: "" for path in [*bad, "convos/milk/convo.toml"] if path != "convos/name/0002_usr.md"})
        (convos.path / "convos/name/0002_usr.md").unlink()

    assert watching.after(mend) == {f"convos/{name}": ["PASSED"] for name in [*names, "milk"]}
    assert "nothing failed" in standing(watching)
    assert "INTERNALERROR" not in watching.said


def test_a_conftest_below_that_is_broken_from_the_start(convos, serve, watch, say):
    serve(*NO_OR_YES, toml=WANTS_YES)
    say(**{"cold/tea": "Tea?", "hot": "Coffee?"})
    convos.write({"convos/cold/conftest.py": "import nothing_of_this_name\n"})
    watching = watch("convos", "--convo-runs=1")
    assert "nothing_of_this_name" in watching.said

    assert watching.after(lambda: say(hot="Hot coffee?")) == {"convos/hot": ["PASSED"]}
    convos.write({"convos/cold/conftest.py": ""})
    watching.wait_for("convos/cold/tea PASSED")

    assert Watching.ended(watching.quiet()) == {}
    assert standing(watching) == "watching 3 · nothing failed"


def test_a_conftest_above_all_that_cannot_be_imported(convos, serve, watch, say):
    serve(*NO_OR_YES, toml=WANTS_YES)
    convos.write({"conftest.py": ""})
    say(tea="Tea?", coffee="Coffee?")
    watching = watch()

    assert watching.after(lambda: convos.write({"conftest.py": "import nothing_of_this_name\n"})) == {
        "convos/coffee": ["ERROR"],
        "convos/tea": ["ERROR"],
    }
    assert "nothing_of_this_name" in watching.said
    for number in range(2):
        assert watching.after(lambda number=number: say(tea=f"{number}?")) == {"convos/tea": ["ERROR"]}
    assert watching.after(lambda: convos.write({"conftest.py": "x = 1\n"})) == {
        "convos/coffee": ["PASSED"],
        "convos/tea": ["PASSED"],
    }
    assert "nothing failed" in standing(watching)


def test_a_survey_that_breaks_is_made_again(convos, serve, watch, say):
    serve(*NO_OR_YES, toml=WANTS_YES)
    say(tea="Tea?")
    convos.write({"conftest.py": "def pytest_configure():\n    raise RuntimeError('broken from the start')\n"})
    watching = watch()
    assert "broken from the start" in watching.said

    convos.write({"conftest.py": ""})
    watching.wait_for("watching 2")

    assert watching.after(lambda: say(tea="Well?")) == {"convos/tea": ["PASSED"]}


# -- runs


def test_one_run_is_made_and_a_flip_is_confirmed_by_all(convos, watch, say):
    votes = {"sure": [], "chance": ["No.", "Yes.", "Yes.", "Yes.", "Yes."]}
    asked: list[str] = []

    def answer(request) -> str:
        asked.append(text := request.messages[-1].text)
        left = votes["chance"] if "chance" in text else []
        return left.pop(0) if left else "No." if "bad" in text else "Yes."

    with ScriptedServer(answer) as server:
        toml = f'runs = 5\nagreement = 0.8\n[bot]\nmodel = "test"\nbase_url = "{server.url}"\n{WANTS_YES}\n'
        convos.write({"convos/convo.toml": toml})
        say(tea="Tea?", coffee="Coffee?")
        watching = watch()

        assert watching.after(lambda: say(tea="bad", coffee="Yes?")) == {
            "convos/tea": ["FAILED"],
            "convos/coffee": ["PASSED"],
        }
        assert sorted(asked) == ["Yes?", "bad"], "nothing was known that could have flipped"
        assert watching.after(lambda: say(tea="worse, bad")) == {"convos/tea": ["FAILED"]}
        assert len(asked) == 3
        assert watching.after(lambda: say(tea="Better?", coffee="by chance?")) == {
            "convos/tea": ["PASSED", "PASSED"],
            "convos/coffee": ["FAILED", "PASSED"],
        }
    assert asked[3:].count("Better?") == 4, "of five the first had been made, and the last does not matter"
    assert asked[3:].count("by chance?") == 5
    assert "convos/tea flipped" in watching.said
    assert standing(watching) == "watching 3 · nothing failed"


# -- keys, and ends


def test_keys(convos, serve, watch, say):
    server = serve(*NO_OR_YES, toml=WANTS_YES)
    say(tea="Tea?", coffee="bad coffee")
    watching = watch("convos", "--convo-runs=1")
    at_rest = r"watching 3 · failed: convos/coffee\n"

    watching.press("s")
    watching.wait_for("spent so far: .* 0 calls")
    watching.press("\r")
    watching.wait_for(at_rest)
    words = {"convos/coffee": ["FAILED"], "convos/tea": ["PASSED"], "convos/zz": ["PASSED"]}
    assert Watching.ended(watching.said) == words
    watching.press("f")
    watching.wait_for(at_rest)
    words["convos/coffee"] *= 2
    assert Watching.ended(watching.said) == words

    watching.press("r")
    watching.wait_for(at_rest)
    words["convos/coffee"].append("FAILED")
    assert Watching.ended(watching.said) == words
    assert (convos.path / "convos/coffee/__recordings__").is_dir()
    assert not (convos.path / "convos/tea/__recordings__").exists()
    watching.press("s")
    watching.wait_for(rf"spent so far: .* {server.count + 1} calls")
    watching.press("x")
    assert watching.after(lambda: None) == {}, "neither recordings nor other keys run anything"
    watching.press("q")
    assert watching.wait() == 0


@pytest.mark.parametrize("end", ["Ctrl-C", "SIGTERM", "SIGHUP"])
def test_the_end_of_it_leaves_nothing(serve, watch, say, until, end):
    server = serve(*SLOW_OR_NOT)
    say(tea="Tea?")
    watching = watch()
    say(tea="slow")
    until(lambda: server.in_flight == 1)

    if end == "Ctrl-C":
        watching.press("\x03")
    else:
        watching.signal(getattr(signal, end))

    assert watching.wait() == pytest.ExitCode.INTERRUPTED
    assert "Traceback" not in watching.said
    until(lambda: server.in_flight == 0)


@pytest.mark.parametrize("ctrl_c", [signal.default_int_handler, signal.SIG_IGN], ids=["", "nohup"])
def test_children_do_not_outlive_a_watcher_that_is_killed(serve, watch, say, until, ctrl_c):
    server = serve(*SLOW_OR_NOT)
    say(tea="Tea?")
    before = signal.signal(signal.SIGINT, ctrl_c)
    try:
        watching = watch()
    finally:
        signal.signal(signal.SIGINT, before)
    say(tea="slow")
    until(lambda: server.in_flight == 1)

    watching.kill()

    until(lambda: not watching.processes())
    until(lambda: server.in_flight == 0)


def test_without_a_terminal(convos, watch):
    convos.say("convos/tea")
    watching = watch(tty=False)

    assert watching.after(lambda: convos.write({"convos/tea/0000_user.md": "Tea?\n"})) == {"convos/tea": ["PASSED"]}
    assert "q quit" not in watching.said
    assert watching.end() == pytest.ExitCode.INTERRUPTED


# -- many files, and others' tests


def test_a_checkout_of_many_files_is_one_session(convos, watch):
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@example.com"]

    def run(*args: str) -> None:
        subprocess.run([*git, *args], cwd=convos.path, check=True, capture_output=True)

    def write(word: str) -> None:
        convos.write({f"convos/c{number:03}/0000_user.md": f"{word} {number}?\n" for number in range(500)})

    convos.write(
        {
            "convos/convo.toml": '[bot]\nprovider = "scripted"\n',
            "convos/script.toml": '[[reply]]\ntext = "Yes."\n',
            ".gitignore": "tmp\nconvos/zz\n.convo\n.pytest_cache\n__pycache__\n",
        }
    )
    run("init", "-q", "-b", "one")
    write("One")
    run("add", ".")
    run("commit", "-qm", "one")
    run("checkout", "-qb", "two")
    write("Two")
    run("commit", "-qam", "two")
    watching = watch("convos", "--convo-runs=1")

    run("checkout", "-q", "one")
    watching.wait_for("^[0-9:]+ watching 501 · nothing failed")
    ended = Watching.ended(watching.said)

    assert len(ended) == 500
    assert all(words == ["PASSED"] for words in ended.values())
    assert watching.after(lambda: None) == {}


def test_a_test_elsewhere_runs_when_it_or_what_it_imports_is_edited(convos, serve, watch, say):
    server = serve(*NO_OR_YES)
    say(tea="Tea?")
    toml = (convos.path / "convos/convo.toml").read_text()
    convos.write(
        {
            "tests/convo.toml": toml,
            "tests/words.py": "WORD = 'Hello?'\n",
            "tests/test_bot.py": "import pytest, words\n\n@pytest.mark.convo(runs=2, agreement=1.0)\n"
            "def test_bot(bot): assert bot.ask(words.WORD).text == 'Yes.'\n",
            "tests/test_other.py": "def test_nothing(): pass\n",
        }
    )
    watching = watch("convos", "tests")

    def runs_after(path: str, text: str) -> dict[str, list[str]]:
        return watching.after(lambda: convos.write({path: text}))

    assert runs_after("tests/words.py", "WORD = 'Well?'\n") == {"tests/test_bot.py": ["PASSED"]}
    assert asked(server) == ["Well?"]
    assert runs_after("tests/words.py", "WORD = 'Bad, bad?'\n") == {"tests/test_bot.py": ["FAILED", "FAILED"]}
    text = (convos.path / "tests/test_bot.py").read_text()
    assert runs_after("tests/test_bot.py", text.replace("== 'Yes.'", "== 'No.'"))["tests/test_bot.py"][-1] == "PASSED"
    assert runs_after("tests/test_other.py", "def test_nothing(): assert 0\n") == {"tests/test_other.py": ["FAILED"]}
    assert runs_after("tests/convo.toml", toml + "temperature = 0\n")["tests/test_bot.py"] == ["PASSED"]


def test_a_test_that_is_edited_while_it_asks_begins_anew(convos, serve, watch, until):
    server = serve(*SLOW_OR_NOT)
    convos.write({"tests/convo.toml": (convos.path / "convos/convo.toml").read_text()})
    test = "import pytest\n\n@pytest.mark.convo\ndef test_bot(bot): assert bot.ask({!r}).text\n"
    convos.write({"tests/test_bot.py": test.format("Hello?")})
    watching = watch("convos", "tests")
    convos.write({"tests/test_bot.py": test.format("slow")})
    until(lambda: server.in_flight == 1)

    convos.write({"tests/test_bot.py": test.format("Well?")})
    watching.wait_for("tests/test_bot.py PASSED")

    until(lambda: server.in_flight == 0)
    assert watching.ended(watching.said)["tests/test_bot.py"] == ["PASSED"]


# -- how it is called


@pytest.mark.parametrize(
    "args, words",
    [
        (["convos", "--pdb"], "--pdb and --convo-watch do not go together"),
        (["convos", "--convo-dry"], "--convo-dry and --convo-watch do not go together"),
        (["nowhere"], "nowhere"),
        (["convos", "--convo-watch-poll=soon"], "--convo-watch-poll"),
    ],
)
def test_what_cannot_be_watched(convos, args, words):
    convos.say("convos/tea")
    result = convos.pytester.runpytest_subprocess("--convo-watch", *args, timeout=60)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: *{words}*"])
    assert "Traceback" not in result.stderr.str()


def test_paths_are_taken_from_the_configuration(convos, watch):
    convos.say("convos/tea")
    convos.pytester.makeini("[pytest]\ntestpaths = convos\n")
    watching = watch("-q", "-p", "no:cacheprovider")

    assert watching.after(lambda: convos.write({"convos/tea/0000_user.md": "Tea?\n"})) == {"convos/tea": ["PASSED"]}
    assert not (convos.path / ".pytest_cache").exists()


# -- tasks


def test_an_edit_of_any_file_of_a_task_runs_it(convos, watch):
    call = "calls = [{ name = 'shell', arguments = { command = 'cp in.txt out.txt' } }]"
    convos.write(
        {
            "convos/job/convo.toml": 'environment = "local"\n[bot]\nprovider = "scripted"\n',
            "convos/job/task.toml": "[convo]\n",
            "convos/job/instruction.md": "Begin.\n",
            "convos/job/script.toml": f"[[reply]]\nwhen = 'Begin'\n{call}\n[[reply]]\ntext = 'Done.'\n",
            "convos/job/workspace/in.txt": "tea\n",
            "convos/job/tests/test.sh": "#!/bin/sh\ngrep -q tea out.txt\n",
        }
    )
    watching = watch()
    job = convos.path / "convos/job"
    passed, failed = {"convos/job": ["PASSED"]}, {"convos/job": ["FAILED"]}
    assert watching.after(lambda: (job / "workspace/in.txt").write_text("milk\n")) == failed
    assert watching.after(lambda: (job / "tests/test.sh").write_text("#!/bin/sh\ngrep -q milk out.txt\n")) == passed
    assert watching.after(lambda: (job / "instruction.md").write_text("Begin now.\n")) == passed
    assert watching.after(lambda: (job / "task.toml").write_text("[convo]\nmax_iterations = 3\n")) == passed
    assert watching.after(lambda: (job / "workspace/test_it.py").write_text("assert False\n")) == passed
    assert watching.after(lambda: shutil.rmtree(job)) == {}


def test_a_prompt_that_a_test_reads_concerns_it(convos, watch):
    convos.write(
        {
            "prompts/tea.md": "good",
            "convos/test_tea.py": "def test_tea(bot, prompt):\n    assert prompt('prompts/tea.md') == 'good'\n",
        }
    )
    watching = watch("convos", "--convo-runs=1")
    watching.press("\r")
    watching.wait_for("watching 2 · nothing failed")
    assert watching.after(lambda: convos.write({"prompts/tea.md": "bad"})) == {"convos/test_tea.py": ["FAILED"]}
