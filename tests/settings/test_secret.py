from __future__ import annotations

import pytest

from pytest_convo.settings.secret import HIDDEN, is_secret, leaks
from pytest_convo.settings.show import dotted, show

KEYS = [
    "sk-abcdefghijklmnopqrstuvwx",
    "sk-proj-abc123def456",
    "sk-ant-api03-abcdefgh",
    "ghp_0123456789abcdefghij",
    "hf_abcdefghijklmnopqrst",
    "gsk_abcdefghijklmnopqrst",
    "AIzaSyA0123456789abcdefghijklmnopqrstu",
    "AKIAIOSFODNN7EXAMPLE",
    "xoxb-123456789012-abcdef",
    "Bearer abcdefghijkl0123",
    "Authorization: Basic dXNlcjpwYXNzd29yZA==",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.sig",
    "https://user:open-sesame@example.org/v1",
    "https://example.org/v1?api_key=open-sesame",
    "-----BEGIN RSA PRIVATE KEY-----",
]
TEXTS = [
    "sk-SK",
    "a sk-learn model",
    "the bearer of good news",
    "https://example.org:8080/v1?seed=1",
    "basic questions",
    "gpt-4o-mini-2024-07-18",
    "https://example.org/v1?key={key}",
]


@pytest.mark.parametrize("key", KEYS)
def test_a_key_is_known_by_its_look_wherever_it_stands(key):
    assert list(leaks({"expect": {"contains": [key]}})) == [("expect", "contains", 0)]
    assert list(leaks({"case": [{"vars": {"x": f"it is {key}"}}]})) == [("case", 0, "vars", "x")]
    assert list(leaks({"bot": {"request": {key: 1}}})) == [("bot", "request", key)]
    assert is_secret("x", key)


@pytest.mark.parametrize("text", TEXTS)
def test_an_ordinary_text_is_no_key(text):
    assert list(leaks({"bot": {"model": text}, "vars": {"x": text}})) == []
    assert not is_secret("x", text)


@pytest.mark.parametrize(
    "name", ["api_key", "apikey", "API-KEY", "Authorization", "x-api-key", "client_secret", "password", "auth_token"]
)
def test_a_credential_is_known_by_its_name_outside_of_variables_and_checks(name):
    assert list(leaks({"bot": {"request": {"extra_headers": {name: "x"}}}})) == [
        ("bot", "request", "extra_headers", name)
    ]
    assert list(leaks({name: "x"})) == [(name,)]
    assert list(leaks({"vars": {name: "x"}, "expect": {"json_equals": {name: "x"}}})) == []
    assert list(leaks({"case": [{"vars": {name: "x"}}]})) == []


@pytest.mark.parametrize(
    "name", ["secrets", "api_key_env", "max_tokens", "prompt_cache_key", "stop", "max_completion_tokens"]
)
def test_a_setting_that_only_sounds_like_a_credential_is_none(name):
    assert list(leaks({"bot": {name: "x", "request": {name: "x"}}})) == []


def test_what_a_name_calls_secret_is_never_shown():
    hidden = show({"api_token": "abc", "inner": [{"my_secret": 12345}], "stop": "abc"}, limit=80)
    assert hidden == f'{{ api_token = {HIDDEN}, inner = [{{ my_secret = {HIDDEN} }}], stop = "abc" }}'
    assert show("abc", "PASSWORD") == HIDDEN
    assert show("OPENAI_API_KEY", "api_key_env") == '"OPENAI_API_KEY"'


def test_a_key_in_the_place_of_a_name_is_not_shown_either():
    assert dotted(("bot", KEYS[0])) == HIDDEN
    assert show({KEYS[0]: 1}) == f"{{ {HIDDEN} = 1 }}"


@pytest.mark.parametrize(
    "value, shown",
    [
        (True, "true"),
        (0, "0"),
        (0.5, "0.5"),
        ('a "b"\n', '"a \\"b\\"\\n"'),
        ([], "[]"),
        ({}, "{}"),
        (None, "nothing"),
        ({"a": [1, "x"], "b c": {}}, '{ a = [1, "x"], "b c" = {} }'),
        ("x" * 100, '"' + "x" * 58 + "…"),
    ],
)
def test_values_are_shown_as_toml_has_them_on_one_short_line(value, shown):
    assert show(value) == shown


def test_a_number_that_python_refuses_to_write_is_shown_in_words():
    assert show(16**5000) == "a number of very many digits"
