from __future__ import annotations

import json
import shlex

import pytest

from pytest_convo.agent.bounds import LIMIT
from pytest_convo.agent.browser import LONGEST, PROGRAMS, Browser
from pytest_convo.bot.schema import ArgumentsError
from pytest_convo.errors import SandboxUnavailable
from pytest_convo.sandbox.base import CommandResult
from tests.agent.conftest import FakeSandbox

PAGE = "/tmp/.convo-page.html"
DONE = CommandResult(0, "", "")


def ordered(url):
    return Browser("/usr/bin/chromium").order(json.dumps({"url": url})).command


def test_the_sandbox_is_asked_for_a_browser_before_the_agent_may_use_one():
    class WithChromium(FakeSandbox):
        def execute(self, command, timeout=60.0, *, trusted=False, variables=None, user=None):
            super().execute(command, timeout, trusted=trusted)
            return CommandResult(0, "/usr/bin/chromium\n", "")

    sandbox = WithChromium()
    browser = Browser.of(sandbox)

    assert sandbox.commands == []
    assert all(program in sandbox.trusted[0] for program in PROGRAMS)
    assert browser.order('{"url": "https://x.example"}').command.startswith("/usr/bin/chromium --headless=new ")


def test_a_sandbox_without_a_browser_cannot_be_used(sandbox):
    with pytest.raises(SandboxUnavailable, match="the sandbox has no browser"):
        Browser.of(sandbox)


def test_an_address_is_one_word_for_the_shell():
    url = "https://x.example/?a=$(id)&b='c';d"

    assert url in shlex.split(ordered(url).split(" >")[0])


@pytest.mark.parametrize(
    "arguments",
    [
        "{}",
        '{"url": 3}',
        '{"url": ""}',
        '{"url": "file:///etc/passwd"}',
        '{"url": "javascript:alert(1)"}',
        '{"url": "example.com"}',
        '{"url": "--version"}',
        '{"url": "http://"}',
        '{"url": "http://[x/"}',
        '{"url": "http://x.example/a b"}',
        '{"url": "http://x.example/\\u0000"}',
        "[]",
        "{bad",
    ],
)
def test_only_pages_of_the_web_are_browsed(arguments):
    with pytest.raises(ArgumentsError):
        Browser("chromium").order(arguments)


def test_the_model_is_told_what_the_page_says(sandbox):
    sandbox.files[PAGE] = b"<h1>Prices</h1><p>Tea <a href='/t'>3 \xe2\x82\xac</a> \xff</p>"

    assert Browser("chromium").text(DONE, sandbox, 60) == "# Prices\nTea [3 €](/t) �"


def test_a_long_page_is_bounded(sandbox):
    sandbox.files[PAGE] = b"x" * (LONGEST + 7)

    assert f"[... {LONGEST - LIMIT} characters omitted ...]" in Browser("chromium").text(DONE, sandbox, 60)


def test_a_page_that_says_nothing_is_told_as_empty(sandbox):
    sandbox.files[PAGE] = b"<script>1</script>"

    assert Browser("chromium").text(DONE, sandbox, 60).startswith("nothing was loaded")


def test_what_went_wrong_is_told_like_a_commands_end(sandbox):
    failed = CommandResult(1, "", "net::ERR_NAME_NOT_RESOLVED\n")

    assert Browser("chromium").text(failed, sandbox, 60) == "stderr:\nnet::ERR_NAME_NOT_RESOLVED\nended with 1"


def test_a_page_that_was_removed_at_once_is_no_error_of_ours(sandbox):
    assert "was removed" in Browser("chromium").text(DONE, sandbox, 60)
