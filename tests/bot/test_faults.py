from __future__ import annotations

import pytest

from pytest_convo.bot.faults import LONGEST_EXCERPT, Server, fault
from pytest_convo.errors import BotFailure, ContextOverflow, ConvoError, ProviderError

HOST = Server("api.example")

LLAMA = {
    "error": {
        "code": 400,
        "message": "the request exceeds the available context size. try",
        "type": "exceed_context_size_error",
    }
}
OPENAI = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
AZURE = {
    "error": {"code": "content_filter", "message": "filtered", "innererror": {"code": "ResponsibleAIPolicyViolation"}}
}


@pytest.mark.parametrize(
    "status, body",
    [
        (400, LLAMA),
        (400, {"error": {"code": "context_length_exceeded", "message": OPENAI}}),
        (400, {"object": "error", "message": OPENAI, "code": 400}),
        (422, {"detail": OPENAI}),
        (400, OPENAI),
        (413, {"error": "The prompt is too long: 9000 tokens"}),
        (400, {"error": {"message": "Please reduce the length of the messages or completion."}}),
    ],
)
def test_a_conversation_that_is_too_long_is_a_failure_of_the_bot(status, body):
    assert type(fault(body, HOST, status=status)) is ContextOverflow


@pytest.mark.parametrize(
    "status, body",
    [
        (400, AZURE),
        (400, {"error": {"code": "content_policy_violation", "message": "no"}}),
        (400, {"error": {"message": "The response was filtered due to the content management policy"}}),
        (400, {"error": {"code": "invalid_prompt", "message": "flagged as potentially violating our usage policy."}}),
    ],
)
def test_a_content_filter_is_a_failure_of_the_bot(status, body):
    assert type(fault(body, HOST, status=status)) is BotFailure


@pytest.mark.parametrize(
    "status, body, transient",
    [
        (400, {"error": {"message": "Unsupported value"}}, False),
        (400, {"error": {"message": "the maximum length of a name is 64"}}, False),
        (401, {"error": {"message": "Incorrect API key"}}, False),
        (402, {"error": {"message": "Payment required"}}, False),
        (403, "Forbidden", False),
        (404, {"error": {"message": "no such model", "code": "model_not_found"}}, False),
        (408, "", True),
        (409, "", True),
        (422, {"detail": [{"loc": ["body"], "msg": "field required"}]}, False),
        (429, {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}, True),
        (429, {"error": {"message": "You exceeded your current quota", "type": "insufficient_quota"}}, False),
        (500, "<html>Internal Server Error</html>", True),
        (502, None, True),
        (503, [{"error": {"code": 503, "message": "overloaded"}}], True),
        (529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, True),
    ],
)
def test_anything_else_is_the_provider_s_and_says_whether_to_try_again(status, body, transient):
    error = fault(body, HOST, status=status)

    assert type(error) is ProviderError
    assert (error.status, error.transient) == (status, transient)
    assert error.what.startswith(f"api.example answered {status}: ")


@pytest.mark.parametrize(
    ("wish", "status", "transient"), [("true", 400, True), ("false", 500, False), ("maybe", 500, True)]
)
def test_a_server_may_say_itself_whether_to_try_again(wish, status, transient):
    assert fault("", HOST, status=status, headers={"x-should-retry": wish}).transient is transient


@pytest.mark.parametrize(
    "body, text",
    [
        ({"error": {"message": "one\n two"}}, "one two"),
        ({"error": "one"}, "one"),
        ({"message": "one"}, "one"),
        ({"detail": [{"msg": "one"}]}, '[{"msg": "one"}]'),
        ({"error": {"code": 7}}, '{"code": 7}'),
        ("one", "one"),
        (None, "without a word"),
        ("", "without a word"),
        ("x" * 1000, "x" * (LONGEST_EXCERPT - 2) + " …"),
    ],
)
def test_what_the_server_said_is_told_in_one_line(body, text):
    assert fault(body, HOST, status=500).what == f"api.example answered 500: {text}"


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: my-own-secret.",
        "Incorrect API key provided: sk-proj-****abcd. You can find",
        "Authorization: Bearer abc123def456 is wrong",
        "key gsk_abcdefghijkl is wrong",
        "xmy-own-secretx",
        {"error": {"message": {"headers": {"authorization": "Bearer my-own-secret"}}}},
    ],
)
def test_no_key_is_ever_told(text):
    told = str(fault(text, Server("api.example", "my-own-secret"), status=401))

    assert "[secret" in told
    for secret in ("my-own-secret", "sk-proj", "abcd", "abc123", "gsk_abc"):
        assert secret not in told


def test_a_key_is_not_shown_with_the_server():
    assert "my-own-secret" not in repr(Server("api.example", "my-own-secret"))


@pytest.mark.parametrize(
    "status, server, hint",
    [
        (401, HOST, "no key was sent: set OPENAI_API_KEY"),
        (403, Server("api.example", "secret", "MY_KEY"), "the key is that of MY_KEY"),
        (404, HOST, "check model and base_url"),
    ],
)
def test_the_hint_says_what_to_do(status, server, hint):
    error = fault("", server, status=status)

    assert hint in error.hint
    assert str(error).count("\n") < 3


def test_retry_after_travels_with_the_error():
    assert fault("", HOST, status=429, headers={"retry-after": "7"}).retry_after == 7.0


@pytest.mark.parametrize("status", [400, 404, 429])
def test_every_recorded_error_is_read(recorded, status):
    errors = [record for record in recorded if record["status"] == status]

    for record in errors:
        error = fault(record["response_json"], HOST, status=status, headers=record["response_headers"])
        assert isinstance(error, ConvoError)
        assert type(error) is ProviderError
        assert error.transient is (status == 429)
        assert record["response_json"]["error"]["message"][:200] in error.what
    assert errors
