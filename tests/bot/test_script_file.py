from __future__ import annotations

import pytest

from pytest_convo.bot.script import Script
from pytest_convo.conversation.reply import Usage
from pytest_convo.errors import FormatError


@pytest.fixture
def load(tmp_path):
    def load(text):
        path = tmp_path / "script.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return Script.load(path)

    return load


def test_every_key_is_read(load):
    script = load(r"""
draw = "independent"
[[reply]]
when = 'order (\w+)'
text = 'It is on its way, \1'
times = 2
latency = "200ms"
pause = 0.01
pieces = 5
finish_reason = "length"
usage = { prompt_tokens = 10, completion_tokens = 2 }
cut = 3
[[reply]]
when = 'order'
error = 429
text = "later"
code = "busy"
retry_after = "2s"
[[reply]]
weight = 0.5
malformed = true
pieces = ["a", "b"]
[[reply]]
weight = 1
[[reply.calls]]
name = "look"
[reply.calls.arguments]
id = "A17"
""")
    first, second, third, fourth = script.replies
    assert script.draw == "independent"
    assert (first.when, first.text, first.times) == (r"order (\w+)", r"It is on its way, \1", 2)
    assert (first.latency, first.pause, first.pieces, first.cut) == (0.2, 0.01, 5, 3)
    assert (first.finish_reason, first.usage) == ("length", Usage(10, 2))
    assert (second.error, second.text, second.code, second.retry_after) == (429, "later", "busy", 2.0)
    assert (third.weight, third.malformed, third.pieces) == (0.5, True, ["a", "b"])
    assert fourth.calls == [{"name": "look", "arguments": {"id": "A17"}}]


@pytest.mark.parametrize(
    "text, line, what, hint",
    [
        ("", None, "at least one", ""),
        ("reply = 5", 1, "at least one", ""),
        ("[[replies]]\ntext = 'a'", 1, "no key 'replies'", "did you mean reply?"),
        ("[[reply]]\ntext = 'a'\n[[reply]]\ntxet = 'b'", 4, "no key 'txet'", "did you mean text?"),
        ("[[reply]]\nzzz = 1", 2, "no key 'zzz'", "its keys: when, text"),
        ("[[reply]]\nwhen = '('\ntext = 'a'", 2, "not a regular expression", "twice"),
        ("[[reply]]\ntext = '''\n[[reply]]\nweight = 1\n'''\nweight = 0", 6, "weight must be", ""),
        ("[[reply]]\n# error = 1\nerror = 99", 3, "error must be", ""),
        ("[[reply]]\ntext = 'a'\nlatency = 'soon'", 3, "latency must be a duration", ""),
        ("[[reply]]\ntext = 'a'\nlatency = -2", 3, "latency must be a number of seconds", ""),
        ("[[reply]]\ntext = 'a'\n[[reply]]\ntext = 'b'", 3, "reply 2 can never answer", "times"),
        ("[[reply]]\nwhen = 'x'", 1, "needs text", ""),
        ("[[reply]]\ntext = 'a'\nusage = { tokens = 3 }", 3, "usage has no key 'tokens'", "prompt_tokens"),
        ("[[reply]]\ntext = 'a'\nusage = { prompt_tokens = -3 }", 3, "usage must be", ""),
        ("[[reply]]\n[[reply.calls]]\nname = 'f'\nargs = {}", 4, "a call has no key 'args'", "arguments"),
        ("[[reply]]\ncalls = ['f']", 2, "calls must be", ""),
        ("draw = 'cards'\n[[reply]]\ntext = 'a'", 1, "draw must be", ""),
        ("[[reply]]\ntext = 'a'\ndraw = 'deck'", 3, "no key 'draw'", ""),
        ("[[reply]]\nweight = 0.33333\ntext = 'a'\n[[reply]]\nweight = 0.66667\ntext = 'b'", 2, "deck of", "rounder"),
        ("reply = [{ text = 'a' }, { text = 'b', tiems = 2 }]", 1, "no key 'tiems'", "did you mean times?"),
        ("[[reply]]\ntext = unquoted", 2, "not TOML", "quotes"),
        (b"[[reply]]\ntext = '\xff'", 2, "UTF-8", ""),
        ("x = " + "[" * 5000, None, "nested", ""),
    ],
)
def test_a_mistake_is_told_with_its_line_and_what_to_do(load, tmp_path, text, line, what, hint):
    with pytest.raises(FormatError) as caught:
        load(text)
    error = caught.value
    assert (error.path, error.line) == (tmp_path / "script.toml", line)
    assert what in error.what
    assert hint in error.hint
    assert len(str(error).splitlines()) <= 3


def test_a_missing_script_is_told(tmp_path):
    with pytest.raises(FormatError, match="there is no script"):
        Script.load(tmp_path / "script.toml")
