"""`--convo-refine` as a user meets it: from red to a diff, what is shown to the rewriter, fixtures, usage, reports."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from pytest_convo.testing import ScriptedReply, ScriptedServer

WORKERS = ["-p", "xdist.plugin", "-n2"]
WAYS = pytest.mark.parametrize("args", [["-p", "xdist.plugin", "-n0"], WORKERS], ids=["one process", "two workers"])

OLD = "You answer the customers of a tea shop.\nBe kind.\n"
NEW = OLD + "Name the number of days.\n"
VAGUE = "That depends."

ANIMALS = ("quokka", "numbat", "bilby", "dingo", "wombat", "possum", "koala", "echidna")
"""Words that stand in one case each: in its directory's name, in what the user says, and in what is expected."""

# The bot and the rewriter are asked in many processes. What they are told, and what they say, stands beside the
# project: what is written there is none of its files.
CONFTEST = """
import json, os, time
from pathlib import Path

HOME = Path(os.environ["SHOP"])

def noted(name, what):
    with open(HOME / name, "a") as file:
        file.write(json.dumps(what) + "\\n")
    return len((HOME / name).read_text().splitlines())

def bot(messages):
    prompt = messages[0]["content"] if messages[0]["role"] == "system" else ""
    question = messages[-1]["content"]
    noted("bot", [prompt, question])
    shop = json.loads((HOME / "shop").read_text())
    for word, seconds in shop["slow"].items():
        if word in prompt:
            time.sleep(seconds)
    if (shop["breaks"] or "\\0") in prompt:
        raise RuntimeError("the application does not know what to do")
    needs, answer = shop["answers"][question]
    return answer if needs in prompt else shop["vague"]

def rewriter(messages):
    number = noted("rewriter", messages)
    said = json.loads((HOME / "texts").read_text())
    text = said[min(number, len(said)) - 1]
    if isinstance(text, float):
        time.sleep(text)
    elif text is None:
        raise RuntimeError("the rewriter is out of ideas")
    return str(text)

def pytest_convo_model(settings):
    return None if settings.bot.provider == "scripted" else bot

def pytest_convo_rewriter(settings):
    return rewriter if (HOME / "texts").exists() else None
"""


class Shop:
    """A project whose bot does what its prompt says, and whose rewriter writes what it is told to write."""

    def __init__(self, convos, home: Path) -> None:
        self.convos, self.path, self.home = convos, convos.path, home
        self.write, self.run = convos.write, convos.run
        self.answers: dict[str, tuple[str, str]] = {}
        self.write({"conftest.py": CONFTEST, "prompt.md": OLD, "convo.toml": "runs = 2\nagreement = 1\n"})
        self.texts(f"It names no number.\n<prompt>\n{NEW}</prompt>")
        self.bot()

    def bot(self, *, breaks: str = "", vague: str = VAGUE, **slow: float) -> None:
        """By words of its prompt it breaks, or takes so many seconds; `vague` is what it says when it is not told."""
        self._shop = {"breaks": breaks, "vague": vague, "slow": slow}
        self._tell()

    def knows(self, question: str, answer: str, needs: str = "number") -> None:
        """Answers this, where its prompt has the word `needs`."""
        self.answers[question] = (needs, answer)
        self._tell()

    def _tell(self) -> None:
        (self.home / "shop").write_text(json.dumps({**self._shop, "answers": self.answers}))

    def texts(self, *texts: str | float | None) -> None:
        """What the rewriter says, question by question and in the end always the last: a text, seconds, an error."""
        (self.home / "texts").write_text(json.dumps(texts))

    def case(self, name: str, needs: str = "number", toml: str = "", **files: str) -> None:
        """A conversation in which nothing but its name tells it from others."""
        question, wanted = f"Question of the {name}: may I send it back?", f"{name}-wants-this"
        self.knows(question, f"By {wanted}, within 30 days.", needs)
        named = {f"{name}/{file.replace('__', '.')}": text for file, text in files.items()}
        settings = f'{toml}\n[expect]\ncontains = "{wanted}"\n'
        self.write({f"{name}/0000_user.md": question, f"{name}/convo.toml": settings, **named})

    def untold(self, name: str = "quokka", **settings: object) -> None:
        """A project of one case, which fails; `settings` are those of its `[refine]`."""
        refine = "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())
        self.case(name, toml=f"[refine]\n{refine}")

    def prompt(self, name: str = "prompt.md") -> str:
        return (self.path / name).read_text()

    def asked(self, who: str = "rewriter") -> list:
        """What the bot or the rewriter was asked so far."""
        path = self.home / who
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def kept(self, file: str, name: str = "prompt.md") -> Path:
        return self.path / ".convo/refine" / name / file

    def loop(self, name: str = "prompt.md") -> dict:
        return json.loads(self.kept("loop.json", name).read_text())

    def files(self) -> dict[str, bytes]:
        """The user's own files; not what pytest and Python keep for themselves."""
        paths = [path for path in self.path.rglob("*") if path.is_file()]
        own = {".convo", ".pytest_cache", "__pycache__", ".git"}
        relative = {path.relative_to(self.path): path for path in paths}
        return {str(name): path.read_bytes() for name, path in relative.items() if not own & {*name.parts}}


@pytest.fixture
def shop(convos, tmp_path_factory, monkeypatch) -> Shop:
    home = tmp_path_factory.mktemp("shop")
    monkeypatch.setenv("SHOP", str(home))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # as in this process: see `convos`
    return Shop(convos, home)


# -- the story


@WAYS
def test_from_red_to_a_diff_to_green(shop, args):
    for name in ANIMALS:
        shop.case(name, "number" if name in ANIMALS[:5] else "kind")
    subprocess.run(["git", "init", "-q"], cwd=shop.path, check=True)
    before = shop.files()

    result = shop.run(*args, "--convo-refine")
    outcomes = result.parseoutcomes()
    assert (result.ret, outcomes["failed"], outcomes["passed"]) == (1, 5, 3), result.stdout.str()
    assert "errors" not in outcomes
    result.stdout.fnmatch_lines(
        [
            "*refine prompt.md*",
            "fixed: attempt 1; --convo-refine=apply writes it",
            "the rewriter: It names no number.",
            "held out, 2 cases never shown: * of 4 runs passed before, 4 of 4 now*",
            "case *part *before *now",
            "*quokka/convo.toml * 0/* fail * 2/2 pass",
            "--- a/prompt.md",
            " Be kind.",
            "+Name the number of days.",
            "1 attempt · * calls · *kept in .convo/refine/prompt.md",
        ]
    )
    assert shop.files() == before, "nothing but what git ignores was written"
    assert len(shop.asked()) == 1

    asked = len(shop.asked("bot"))
    result = shop.run(*args, "--convo-refine=apply")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["fixed: attempt 1*; written*"])
    assert (shop.prompt(), len(shop.asked())) == (NEW, 1)
    assert {prompt for prompt, _ in shop.asked("bot")[asked:]} == {OLD.strip()}, "what was measured stands"
    assert shop.files() == before | {"prompt.md": NEW.encode()}

    result = shop.run(*args)
    outcomes = result.parseoutcomes()
    assert (result.ret, outcomes["passed"], outcomes.keys() & {"failed", "errors"}) == (0, 8, set())


def test_every_attempt_is_kept_and_git_sees_none_of_it(shop):
    for name in ANIMALS[:4]:
        shop.case(name)
    short = f"{OLD}Be brief.\n"
    shop.texts(short, NEW)
    subprocess.run(["git", "init", "-q"], cwd=shop.path, check=True)
    assert shop.run("--convo-refine").ret == 1
    status = subprocess.run(["git", "status", "--porcelain"], cwd=shop.path, check=True, capture_output=True, text=True)
    assert ".convo" not in status.stdout

    assert shop.kept("001/prompt.md").read_text() == short
    assert "+Be brief." in shop.kept("001/prompt.diff").read_text()
    assert shop.kept("002/prompt.md").read_text() == NEW
    scores = json.loads(shop.kept("002/scores.json").read_text())
    assert {score["verdict"] for score in scores["scores"].values()} == {"pass"}
    assert scores["cost"]["calls"] > 0
    assert {*scores["scores"]} == {f"{name}/convo.toml" for name in ANIMALS[:4]}
    for number, text in enumerate((short, NEW), 1):
        asked = json.loads(shop.kept(f"{number:03}/asked-{number}.json").read_text())
        assert asked["reply"] == text
        assert [role for role, _ in asked["messages"]] == ["system", "user"]
    assert "Attempt 1 mends and breaks no case" in asked["messages"][1][1]
    assert "Be brief." in asked["messages"][1][1]
    (trained,) = shop.kept("002/runs").glob(f"{shop.loop()['split']['training'][0]}/run-1")
    assert "30 days" in next(trained.glob("0001_assistant.md")).read_text()


# -- what the rewriter is shown


def shown(shop: Shop, name: str = "prompt.md") -> str:
    """All that the rewriter was sent: as it came to it, and as it is kept."""
    kept = [json.loads(path.read_bytes()) for path in shop.kept("", name).rglob("asked-*.json")]
    assert len(kept) == len(shop.asked())
    return json.dumps([one["messages"] for one in kept] + shop.asked(), ensure_ascii=False)


def parts(shop: Shop, name: str = "prompt.md") -> tuple[set[str], set[str]]:
    """The animals whose cases are shown, and those whose cases are not."""
    split = shop.loop(name)["split"]
    found = {part: {animal for animal in ANIMALS for id_ in split[part] if animal in id_} for part in split}
    assert found["validation"]
    assert found["holdout"]
    assert found["training"] | found["validation"] | found["holdout"] == {*ANIMALS}
    return found["training"], found["validation"] | found["holdout"]


def test_of_cases_that_are_held_out_nothing_is_ever_shown(shop, monkeypatch):
    monkeypatch.setenv("TEA_TOKEN", "leaf-of-4711-leaves")
    for name in ANIMALS[:5]:
        shop.case(name)
    cases = "".join(
        f'[[case]]\nid = "{name}"\nvars = {{ question = "Question of the {name}: may I send it back?" }}\n'
        f'[case.expect]\ncontains = "{name}-wants-this"\n'
        for name in ANIMALS[5:]
    )
    shop.write({"many/0000_user.md.j2": "{{ question }}", "many/convo.toml": cases})
    for name in ANIMALS[5:]:
        shop.knows(f"Question of the {name}: may I send it back?", f"By {name}-wants-this, within 30 days.")
    shop.bot(vague="My list has leaf-of-4711-leaves, and: " + " ".join(shop.answers))  # it says all that it was asked
    copied = f"{OLD}Who says Question of the quokka: may I send it back? is told a number.\n"
    shop.texts(f"{OLD}Be brief.\n", f"{OLD}Be brief.\n", copied, NEW)

    result = shop.run("--convo-refine")
    result.stdout.fnmatch_lines(["fixed: *"])
    seen, unseen = parts(shop)
    told = shown(shop)
    assert [animal for animal in unseen if animal in told] == []
    assert [animal for animal in seen if animal not in told] == [], "and the others are shown"
    assert "copies what is said to the bot" in told
    assert not re.search(r"convo\.toml|possum::|many/", told), "nor what any case is called"

    secret = [path for path in (shop.path / ".convo").rglob("*") if path.is_file() and b"4711" in path.read_bytes()]
    assert secret == []


PYTHON = f"""
import pytest

@pytest.fixture(autouse=True)
def refine(refine):
    return refine(prompt="prompts/tea.md.j2", correction="Say how long they have.", attempts=2)

@pytest.mark.parametrize("name, wanted", {[(name, f"{name}-wants-this") for name in ANIMALS]})
@pytest.mark.convo(runs=3)
def test_tea(bot, prompt, name, wanted):
    system = prompt("prompts/tea.md.j2", product="tea")
    answer = bot.ask(f"Question of the {{name}}: may I send it back?", system=system).text
    assert wanted in answer
"""


@pytest.mark.parametrize("args", [[], ["-vv", "--showlocals", "--tb=long"]], ids=["plain", "verbose"])
def test_of_parameters_that_are_held_out_nothing_is_ever_shown(shop, args):
    template = OLD.replace("tea shop", "{{ product }} shop")
    shop.write({"test_tea.py": PYTHON, "prompts/tea.md.j2": template})
    for name in ANIMALS:
        shop.knows(f"Question of the {name}: may I send it back?", f"By {name}-wants-this, within 30 days.")
    shop.texts(NEW, f"{template}{{% if %}}\n", f"{template}Name the number of days.\n")  # two are refused

    result = shop.run("--convo-refine=apply", *args)
    result.stdout.fnmatch_lines(["fixed: attempt 1; written*"])
    seen, unseen = parts(shop, "prompts-tea.md.j2")
    told = shown(shop, "prompts-tea.md.j2")
    assert [animal for animal in unseen if animal in told] == []
    assert [animal for animal in seen if animal not in told] == [], "and the others are shown"
    assert "wants-this' in 'That depends.'" in told, "with what the assertion says"
    assert "Say how long they have." in told
    assert "must keep what the template fills in" in told
    assert "no Jinja2 template any more" in told
    assert shop.prompt("prompts/tea.md.j2") == f"{template}Name the number of days.\n"
    assert shop.run().ret == 0


def test_what_a_test_in_python_expects_is_not_to_be_copied_either(shop):
    wanted = "Within thirty days of buying it, if it is unopened."
    test = f"def test_tea(bot, prompt): assert bot.ask('How long?', system=prompt('tea.txt')).text == {wanted!r}\n"
    shop.write({"test_tea.py": f"import pytest\n@pytest.mark.convo(runs=2)\n{test}", "tea.txt": OLD})
    shop.knows("How long?", wanted)
    shop.texts(f"{OLD}Say: {wanted}\n", NEW)
    shop.run("--convo-refine").stdout.fnmatch_lines(["fixed: attempt 1;*"])
    assert "copies what" in shop.asked()[1][1]["content"]


# -- the fixtures


def test_what_is_wrong_with_a_prompt_of_a_test_is_told_in_words(shop):
    shop.write(
        {
            "prompts/tea.md.j2": "You sell tea.\nYou sell {{ product }}.\n",
            "prompts/tea.md": "You sell {{ product }}.\n",
            "test_tea.py": """
def test_undefined(prompt): prompt("prompts/tea.md.j2")
def test_missing(prompt): prompt("prompts/coffee.md")
def test_no_template(prompt): prompt("prompts/tea.md", product="tea")
def test_misspelt(refine): refine(prompt="prompts/tea.md", corection="Be brief.")
def test_too_few(refine): refine(prompt="prompts/tea.md", attempts=0)
def test_fine(prompt): assert prompt("prompts/tea.md.j2", product="{{ tea }}") == "You sell tea.\\nYou sell {{ tea }}."
def test_as_it_stands(prompt): assert prompt("prompts/tea.md") == "You sell {{ product }}."
""",
        }
    )
    result = shop.run("-rA", "--tb=short")
    told = result.stdout.str()
    assert result.parseoutcomes()["passed"] == 2, told
    for line in (
        "*prompts/tea.md.j2:2: *product* is undefined*",
        "*there is no prompt file prompts/coffee.md*",
        "*prompts/tea.md: is no template, and would stay as it is without product*",
        "*refine(...): corection: *",
        "*refine(...): attempts: *",
        "*it takes prompt, *correction, attempts, holdout*",
    ):
        result.stdout.fnmatch_lines([line])
    assert "pytest_convo/" not in told
    assert "jinja2/" not in told


def test_a_correction_and_attempts_of_the_settings_hold_too(shop):
    shop.untold(correction="Say how long they have.", attempts=1)
    shop.texts(f"{OLD}Be brief.\n", NEW)
    result = shop.run("--convo-refine")
    result.stdout.fnmatch_lines(["not mended within its limits: 1 attempts, and none passes every case"])
    assert len(shop.asked()) == 1
    assert "Say how long they have." in shop.asked()[0][1]["content"]
    assert shop.prompt() == OLD


# -- whose prompts


def test_the_prompt_of_a_test_without_a_mark_is_mended(shop):
    test = "def test_tea(bot, prompt): assert bot.ask('How long?', system=prompt('tea.txt')).text == '30 days.'\n"
    shop.write({"test_tea.py": test, "tea.txt": OLD})
    shop.knows("How long?", "30 days.")
    result = shop.run("--convo-refine=apply")
    result.stdout.fnmatch_lines(["fixed: attempt 1; written*"])
    assert shop.loop("tea.txt")["split"]["training"] == ["test_tea.py::test_tea"]
    assert shop.run().ret == 0


def test_two_prompts_of_one_session_are_both_mended(shop):
    shop.write({"prompts/support.md": "You are the support.\n"})
    shop.case("quokka", toml='prompt = "../prompts/support.md"')
    shop.case("numbat", toml='prompt = "../prompts/support.md"')
    shop.case("bilby")
    shop.texts("You are the support.\nName the number of days.\n", NEW)
    result = shop.run("--convo-refine=apply", "--convo-json=report.json")
    result.stdout.fnmatch_lines(["*refine prompts/support.md*", "fixed: *", "*refine prompt.md*", "fixed: *"])
    assert "number" in shop.prompt("prompts/support.md")
    assert "number" in shop.prompt()
    report = json.loads((shop.path / "report.json").read_text())
    assert [one["prompt"] for one in report["refinements"]] == ["prompts/support.md", "prompt.md"]
    assert shop.run().ret == 0


def test_the_instruction_of_a_task_is_mended_as_well(shop, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    call = """calls = [{ name = "shell", arguments = { command = "echo hello > out.txt" } }]"""
    old, new = "Do what is to be done.\n", "Do what is to be done.\nSay hello in out.txt.\n"
    shop.write(
        {
            "tasks/one/task.toml": '[convo]\nenvironment = "local"\n',
            "tasks/one/instruction.md": old,
            "tasks/one/convo.toml": 'runs = 2\n[bot]\nprovider = "scripted"\n',
            "tasks/one/script.toml": f"[[reply]]\nwhen = 'Say'\n{call}\n[[reply]]\ntext = 'Done.'\n",
            "tasks/one/tests/test.sh": "#!/bin/sh\ngrep -q hello out.txt\n",
        }
    )
    (shop.path / "prompt.md").unlink()
    shop.texts(new)
    result = shop.run("--convo-refine=apply")
    result.stdout.fnmatch_lines(["*refine tasks/one/instruction.md*", "fixed: attempt 1; written*"])
    assert shop.prompt("tasks/one/instruction.md") == new
    assert shop.run().ret == 0


def test_a_rewriter_of_the_settings(shop):
    with ScriptedServer([ScriptedReply(text=NEW)]) as server:
        shop.untold(model="writer-1", base_url=server.url)
        (shop.home / "texts").unlink()
        shop.run("--convo-refine").stdout.fnmatch_lines(["fixed: attempt 1;*"])
        (request,) = server.requests
        assert request.body["model"] == "writer-1"


def test_where_nothing_fails_nothing_is_done(shop):
    shop.case("quokka", "kind")
    result = shop.run("--convo-refine")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["refine: nothing failed that a prompt file takes part in"])
    assert not shop.kept("").exists()


def test_a_case_without_a_prompt_is_not_mended(shop):
    shop.untold()
    (shop.path / "prompt.md").unlink()
    shop.write({"test_x.py": "def test_x(): assert False\n"})
    result = shop.run("--convo-refine")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["refine: nothing failed that a prompt file takes part in"])
    assert shop.asked() == []


def test_a_prompt_beyond_the_rootdir_is_left_alone(shop):
    shop.untold()
    (shop.home / "theirs.md").write_text(OLD)
    (shop.path / "prompt.md").unlink()
    (shop.path / "prompt.md").symlink_to(shop.home / "theirs.md")
    result = shop.run("--convo-refine=apply")
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"refine: {shop.home}/theirs.md lies outside of the rootdir, and is left alone"])
    assert shop.asked() == []
    assert (shop.home / "theirs.md").read_text() == OLD


# -- usage


@pytest.mark.parametrize(
    "args, ci, way_out",
    [
        (["--convo-refine", "--convo-record=none"], "", "*use --convo-record=auto"),
        (["--convo-refine"], "true", "*use --convo-record=auto"),
        (["--convo-refine=apply", "--convo-record=auto"], "true", "*use --convo-refine=suggest there"),
        (["--convo-refine=bogus"], "", "*--convo-refine*bogus*suggest*apply*"),
        (["--convo-refine=measure"], "", "*--convo-refine*measure*suggest*apply*"),
        (["--convo-refine", "--convo-dry"], "", "*--convo-refine and --convo-dry do not go together"),
        (["--convo-refine", "--convo-update-baseline"], "", "*--convo-update-baseline do not go together"),
        (["--convo-refine", "--convo-write"], "", "*--convo-refine and --convo-write do not go together"),
        (["--convo-refine", "--convo-write", *WORKERS], "", "*--convo-refine and --convo-write do not go together"),
    ],
)
def test_what_cannot_be_mended_is_said_before_anything_is_asked(shop, monkeypatch, args, ci, way_out):
    monkeypatch.setenv("CI", ci)
    shop.untold()
    result = shop.run(*args)
    assert result.ret == pytest.ExitCode.USAGE_ERROR, result.stdout.str()
    result.stderr.fnmatch_lines([way_out])
    assert len([line for line in result.stderr.lines if line.strip()]) <= 2
    assert shop.asked("bot") == []


def test_it_does_not_watch(shop):
    shop.untold()
    result = shop.convos.pytester.runpytest_subprocess("--convo-refine", "--convo-watch", timeout=20)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--convo-refine and --convo-watch do not go together"])


def test_in_ci_it_suggests_where_calls_are_allowed(shop, monkeypatch):
    monkeypatch.setenv("CI", "true")
    shop.untold()
    result = shop.run("--convo-refine", "--convo-record=auto")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["fixed: attempt 1; --convo-refine=apply writes it"])
    assert shop.prompt() == OLD


def test_a_path_behind_the_option_is_a_path(shop):
    shop.case("quokka", "kind")
    shop.case("numbat", "kind")
    result = shop.run("--convo-refine", "quokka")
    assert (result.ret, result.parseoutcomes()["passed"]) == (0, 1)


@WAYS
def test_what_is_tried_is_not_recorded(shop, args):
    shop.untold()
    result = shop.run(*args, "--convo-record=new", "--convo-refine")
    result.stdout.fnmatch_lines(["fixed: attempt 1;*"])
    recorded = {name: content for name, content in shop.files().items() if "__recordings__" in name}
    assert any(b"Be kind." in content for content in recorded.values())
    assert [name for name, content in recorded.items() if b"number of days" in content] == []


@WAYS
def test_what_was_selected_is_what_is_mended(shop, args):
    shop.untold()
    shop.case("numbat")
    result = shop.run(*args, "-k", "run-1 and quokka", "--convo-refine")
    result.stdout.fnmatch_lines(["fixed: attempt 1;*"])
    assert not any("numbat" in question for _, question in shop.asked("bot"))


# -- what is told to programs


def test_reports_are_of_the_users_own_session(shop):
    shop.untold()
    shop.case("numbat", "kind")
    args = ("-q", "--convo-json=report.json", "--junitxml=junit.xml", "--log-file=log.txt", "--log-level=INFO")
    shop.write({"test_log.py": "import logging\ndef test_log(): logging.warning('from the session itself')\n"})
    result = shop.run(*args, "--convo-refine")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["fixed: attempt 1;*", "+Name the number of days."])
    assert not any(line.startswith("refine: prompt.md: 2 of") for line in result.stdout.lines)

    (told,) = json.loads((shop.path / "report.json").read_text())["refinements"]
    assert (told["prompt"], told["end"], told["attempts"], told["best"]) == ("prompt.md", "fixed", 1, 1)
    assert "+Name the number of days." in told["diff"]
    assert told["spent"]["calls"] > 4
    junit = (shop.path / "junit.xml").read_text()
    assert re.search(r'failures="1"', junit)
    assert "test_log" in junit
    assert shop.convos.lastfailed() == {"quokka/convo.toml": True}
    assert "from the session itself" in (shop.path / "log.txt").read_text()


# -- what is no failure, what is not said, what is not written


def test_a_test_without_a_mark_that_is_skipped_or_expected_to_fail_is_no_failure(shop):
    shop.write(
        {
            "test_tea.py": """
import pytest
def test_skips(bot, prompt): prompt("prompt.md"); pytest.skip("not today")
@pytest.mark.xfail
def test_is_known_to_fail(bot, prompt): assert prompt("prompt.md") == "tea"
"""
        }
    )
    result = shop.run("--convo-refine")
    result.stdout.fnmatch_lines(["refine: nothing failed that a prompt file takes part in"])
    assert (result.ret, shop.asked()) == (0, [])


def test_a_test_that_asks_a_client_of_its_own_is_mended_as_well(shop):
    shop.write({"test_tea.py": "def test_tea(prompt): assert 'number' in prompt('prompt.md')\n"})
    shop.run("--convo-refine").stdout.fnmatch_lines(["fixed: attempt 1; *"])


def test_a_correction_of_what_is_held_out_is_not_shown(shop):
    for name in ANIMALS:
        shop.case(name, toml=f'[refine]\ncorrection = "Think of the {name} and its days."\n')
    shop.run("--convo-refine")
    split = shop.loop()["split"]
    asked = json.dumps(shop.asked())
    for part, shown in (("training", True), ("validation", False), ("holdout", False)):
        for id_ in split[part]:
            assert (f"Think of the {id_.split('/')[0]}" in asked) == shown, id_


def test_a_byte_order_mark_stays_and_is_no_part_of_the_prompt(shop):
    shop.untold()
    (shop.path / "prompt.md").write_bytes(b"\xef\xbb\xbf" + OLD.encode())
    shop.run("--convo-refine=apply").stdout.fnmatch_lines(["fixed: attempt 1; written*"])
    assert (shop.path / "prompt.md").read_bytes() == b"\xef\xbb\xbf" + NEW.encode()
    assert not any("\ufeff" in prompt for prompt, _ in shop.asked("bot"))


def test_a_prompt_that_is_not_utf_8_is_an_error_and_no_crash(shop):
    shop.write({"test_tea.py": "def test_tea(refine, prompt): refine(prompt='odd.md'); assert 0\n"})
    (shop.path / "odd.md").write_bytes(b"\xff\xfe tea")
    result = shop.run("--convo-refine")
    result.stdout.fnmatch_lines(["refine: odd.md could not be mended: *"])
    result.assert_outcomes(failed=1, errors=1)
