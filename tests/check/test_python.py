from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_convo.agreement.outcome import Outcome
from pytest_convo.check.base import CheckResult
from pytest_convo.check.python import HookCheck, PythonCheck
from pytest_convo.check.run import evaluate
from pytest_convo.conversation.transcript import Transcript
from pytest_convo.errors import CheckError

if TYPE_CHECKING:
    from .conftest import Judge


@pytest.fixture
def check(tmp_path: Path) -> Callable[[str], PythonCheck]:
    """The check of a function `f` whose source is given."""

    def make(source: str) -> PythonCheck:
        path = tmp_path / "checks.py"
        path.write_text(source)
        return PythonCheck(path, "f")

    return make


@pytest.mark.parametrize(
    "body",
    [
        "pass",
        "return True",
        "return None",
        "assert reply.text == 'Yes.'",
        "assert reply.finish_reason == 'stop' and not reply.calls",
    ],
)
def test_none_and_true_hold(judge: Judge, check: Any, body: str) -> None:
    assert judge.passes(check(f"def f(reply):\n    {body}"), "Yes.")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("return False", "f returned False"),
        ("return 'it is rude'", "it is rude"),
        ("assert 'No' in reply.text, 'no no'", "no no\n  raised at {path}:2: assert 'No' in reply.text, 'no no'"),
        ("assert 'No' in reply.text", "assert 'No' in reply.text\n  raised at {path}:2: assert 'No' in reply.text"),
        ("raise AssertionError", "raise AssertionError\n  raised at {path}:2: raise AssertionError"),
        ("pytest.fail('rude')", "rude\n  raised at {path}:2: pytest.fail('rude')"),
        ("reply.json()", "the reply is not JSON"),
    ],
)
def test_false_a_text_and_a_failed_assertion_fail(judge: Judge, check: Any, body: str, why: str) -> None:
    made = check(f"def f(reply):\n    {body}\nimport pytest")
    found = judge.why(made, "Yes.")
    assert found.startswith(f"turn 1, python: {why.format(path=made.path)}")
    assert found.endswith("  the reply:\n    | Yes.")


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("return reply.json['price']", "TypeError: 'method' object is not subscriptable"),
        ("return {}['price']", "KeyError: 'price'"),
        ("raise SystemExit('bye')", "SystemExit: bye"),
        ("raise ValueError('colour \\x1b[31m')", r"ValueError: colour \x1b[31m"),
    ],
)
def test_any_other_exception_is_an_error_with_its_place(judge: Judge, check: Any, body: str, error: str) -> None:
    made = check(f"def f(reply):\n    {body}")
    assert judge.error(made, "Yes.") == f"turn 1, python: {error}\n  raised at {made.path}:2: {body}"


@pytest.mark.parametrize("answer", ["1", "0", "''", "[]", "' '", "object()", "reply"])
def test_an_answer_that_is_none_of_those_is_an_error(judge: Judge, check: Any, answer: str) -> None:
    error = judge.error(check(f"def f(reply): return {answer}"), "Yes.")
    assert error.startswith("turn 1, python: f returned ")
    assert "None or True says that the check holds" in error


def test_a_check_cannot_skip(judge: Judge, check: Any) -> None:
    error = judge.error(check("import pytest\ndef f(reply): pytest.skip('later')"), "Yes.")
    assert error == "turn 1, python: f skipped, which a check cannot: later"


@pytest.mark.parametrize(
    "definition",
    [
        "def f(reply, transcript): assert transcript.reply(1) is reply",
        "def f(reply, strict=True): assert strict is True",
        "def f(*arguments): assert len(arguments) == 1",
        "class f:\n    def __new__(cls, reply): return None",
        "from functools import partial\nf = partial(lambda strict, reply: strict, True)",
    ],
)
def test_a_function_gets_what_it_needs(judge: Judge, check: Any, definition: str) -> None:
    assert judge.passes(check(definition), "Yes.")


@pytest.mark.parametrize(
    ("definition", "what"),
    [
        ("def f(): pass", "f() cannot be called with 1 or 2 arguments"),
        ("def f(a, b, c): pass", "f(a, b, c) cannot be called with 1 or 2 arguments"),
        ("async def f(reply): pass", "f is async; a check is an ordinary function"),
        ("def polite(reply): pass", "there is no function 'f' in it"),
        ("f = 1", "there is no function 'f' in it"),
        ("def f(reply): pass\nf.__signature__ = 1", "is no function that can be a check"),
    ],
)
def test_what_cannot_be_called_is_an_error(judge: Judge, check: Any, definition: str, what: str) -> None:
    made = check(definition)
    with pytest.raises(CheckError) as caught:
        made.find()
    assert what in caught.value.what
    assert what in judge.error(made, "Yes.")


def test_a_misspelt_function_is_told_the_nearest(tmp_path: Path) -> None:
    path = tmp_path / "checks.py"
    path.write_text("def polite(reply): pass\ndef names_deadline(reply): pass")
    with pytest.raises(CheckError) as caught:
        PythonCheck(path, "polit").find()
    assert caught.value.hint == "did you mean 'polite'? known: polite, names_deadline"


def test_an_error_in_a_neighbour_is_told_by_the_line_that_called_it(judge: Judge, check: Any, tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text("def price(reply):\n    return int(reply.text)\n")
    made = check("from .helpers import price\ndef f(reply):\n    return price(reply) == 1")
    assert judge.passes(made, "1")
    assert judge.error(made, "tea").endswith(f"raised at {made.path}:3: return price(reply) == 1")


def hook(function: Callable[..., Any], value: Any = "warm") -> HookCheck:
    return HookCheck("tone", value, function)


def test_a_hook_s_function_gets_the_reply_and_the_value(judge: Judge) -> None:
    def tone(reply: Any, value: str) -> str | None:
        return None if value in reply.text else f"the tone is not {value}"

    assert judge.passes(hook(tone), "a warm welcome")
    assert judge.why(hook(tone), "Go away.") == "turn 1, tone: the tone is not warm\n  the reply:\n    | Go away."


def test_a_hook_s_function_gets_the_transcript_where_it_needs_it(transcript: Any) -> None:
    def growing(reply: Any, value: int, whole: Transcript) -> bool:
        return len(reply.text) >= value * max(len(one.text) for one in whole.replies)

    found = evaluate({3: [HookCheck("growing", 1, growing)]}, transcript({1: "a", 3: "ab"}))
    assert found.outcome is Outcome.PASS


def test_a_hook_s_function_that_cannot_be_called_so_is_an_error() -> None:
    hook(lambda reply, value: None).verify()
    with pytest.raises(CheckError, match=r"cannot be called with 2 or 3 arguments"):
        hook(lambda reply: None).verify()


def test_an_error_of_a_check_that_is_raised_inside_stays_one() -> None:
    def tone(reply: Any, value: str) -> CheckResult:
        msg = "the word list is missing"
        raise CheckError(msg, path="words.txt")

    with pytest.raises(CheckError, match=r"words\.txt: the word list is missing"):
        hook(tone).evaluate(Transcript((), ()), FakeTurn())  # type: ignore[arg-type]


class FakeTurn:
    reply = None


def test_with_the_package_registered_a_bare_assert_shows_its_values(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        checks="from .helpers import agrees\ndef f(reply):\n    assert 'No' in reply.text\n"
        "def g(reply):\n    agrees(reply)\n",
        helpers="def agrees(reply):\n    assert reply.text == 'No.'\n",
        test_it="""
        from pathlib import Path
        import pytest
        from pytest_convo.check.loading import PACKAGE
        from pytest_convo.check.python import PythonCheck
        from pytest_convo.conversation.reply import Reply
        from pytest_convo.conversation.transcript import Transcript, Turn

        pytest.register_assert_rewrite(PACKAGE)
        IN = "assert 'No' in 'Yes.'\\n +  where 'Yes.' = Reply("

        @pytest.mark.parametrize("name, why", [("f", IN), ("g", "assert 'Yes.' == 'No.'\\n")])
        def test_it(name, why):
            check = PythonCheck(Path(__file__).with_name("checks.py"), name)
            turn = Turn(1, Reply("Yes."))
            reason = check.evaluate(Transcript((), (turn,)), turn).reason
            assert reason.startswith(why)
            assert not list(Path(__file__).parent.glob("__pycache__/checks*"))
        """,
    )
    pytester.runpytest_inprocess("-p", "no:asyncio", "-W", "error::pytest.PytestAssertRewriteWarning").assert_outcomes(
        passed=2
    )
