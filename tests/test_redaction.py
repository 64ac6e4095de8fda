from __future__ import annotations

import base64
import html
import json
import time
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from pytest_convo.errors import HarnessError, RedactionError
from pytest_convo.redaction import PLACEHOLDER, Redactor

KEY = "q7RtWz0pLm4Xc9Vb"
ODD = """it's "a/b+c" & <d>\\é\U0001f511"""
LINES = "first-line-of-the-key\nsecond line\n" + "Zm9vYmFyYmF6cXV4" * 2


def of(**environ: str) -> Redactor:
    return Redactor.of_environment(environ)


# -- what is secret


@pytest.mark.parametrize(
    "name", ["OPENAI_API_KEY", "MY_TOKEN", "A_SECRET", "DB_PASSWORD", "PGPASSWORD", "TOKEN", "api_key", "SECRET"]
)
def test_the_value_of_a_variable_whose_name_says_so_is_secret(name):
    assert of(**{name: KEY}).text(f"it is {KEY}.") == f"it is [secret {name}]."


@pytest.mark.parametrize("name", ["HOME", "KEYS", "MONKEY", "MY_KEY_FILE", "TOKENIZER", "SECRETARY", "DONKEY"])
def test_any_other_value_is_not(name):
    assert of(**{name: KEY}).text(f"it is {KEY}.") == f"it is {KEY}."


def test_the_variable_that_the_settings_name_is_one_of_them():
    redactor = Redactor.of_environment({"LLAMA": KEY, "OTHER": "something else"}, names=["LLAMA"])
    assert redactor.text(f"{KEY} is something else") == "[secret LLAMA] is something else"


def test_values_of_less_than_eight_characters_stand_in_too_many_a_text():
    redactor = of(A_KEY="1234567", B_KEY="", C_KEY=" 12345678\n")
    assert redactor.text("1234567") == "1234567"
    assert redactor.text("12345678") == "[secret C_KEY]"


def test_the_longest_comes_first_and_of_one_value_the_first_name():
    redactor = of(SHORT_KEY="abcdefgh", LONG_KEY="xxabcdefghyy", WIDE_KEY="abcdefghzz", ALSO_KEY="abcdefgh")
    text = redactor.text("xxabcdefghyy abcdefghzz abcdefgh")
    assert text == "[secret LONG_KEY] [secret WIDE_KEY] [secret ALSO_KEY]"


def test_a_name_that_tells_another_secret_is_not_told():
    redactor = of(OPENAI_API_KEY=KEY, NAME_KEY="OPENAI_API_KEY", ODD_SECRET="[secret]")
    assert redactor.text(f"{KEY}, OPENAI_API_KEY, [secret]") == "[secret], [secret NAME_KEY], [secret]"


@pytest.mark.parametrize("key", ["sk-proj-abc123def456", "ghp_0123456789abcdefghij", "AKIAIOSFODNN7EXAMPLE"])
def test_what_looks_like_a_key_is_secret_without_being_known(key):
    assert of().text(f"it is {key}, he said") == "it is [secret], he said"


@pytest.mark.parametrize(
    "text, redacted",
    [
        ("Authorization: Bearer abcdefgh12345678", "Authorization: Bearer [secret]"),
        ('{"authorization": "token abcdefghijkl"}', '{"authorization": "token [secret]"}'),
        ("-H 'X-Api-Key: abcdefgh-12345678-ijkl'", "-H 'X-Api-Key: [secret]'"),
        ("https://me:open-sesame@example.org/v1", "https://me:[secret]@example.org/v1"),
        ("https://example.org/?api_key=open-sesame&seed=1", "https://example.org/?api_key=[secret]&seed=1"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl!", "[secret]!"),
        (
            "key:\n-----BEGIN RSA PRIVATE KEY-----\nMIIE+/=\nabc\n-----END RSA PRIVATE KEY-----\nend",
            "key:\n[secret]\nend",
        ),
        ('"-----BEGIN PRIVATE KEY-----\\nMIIE+/=\\nabc"', '"[secret]"'),
        ("Incorrect API key provided: sk-proj-****abcd. You", "Incorrect API key provided: [secret]. You"),
    ],
)
def test_what_stands_around_a_secret_stays(text, redacted):
    assert of().text(text) == redacted


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer <token>",
        "Authorization: Bearer $TOKEN",
        "send an Authorization header with a bearer token",
        "api_key = os.environ['OPENAI_API_KEY']",
        "a sk-learn model, or **sk-learning**; the table pk_orders_2024",
        "hf_hub_download and xai-explainability",
        "http://127.0.0.1:8080/v1?seed=1&page=2",
        "a week-long task-2024-12345678 at the desk-12345678901234567890123456",
        "the begin of a PRIVATE KEY file",
        "[secret] [secret OPENAI_API_KEY]",
    ],
)
def test_an_ordinary_text_stays_as_it_is(text):
    assert of(A_KEY=KEY).text(text) == text


def test_a_user_s_patterns_find_more():
    redactor = Redactor.of_environment({}, patterns=[r"cust-\d+", r"(?<=pin )\d{4}", r"x*"])
    assert redactor.text("cust-17 has pin 1234, not 1234") == "[secret] has pin [secret], not 1234"


def test_functions_come_first_each_after_those_before_it():
    seen = []

    def first(text: str) -> str:
        seen.append(text)
        return text.replace("Ann", "Bob")

    def nothing(text: str) -> None:
        seen.append(text)

    def last(text: str) -> str:
        return text.replace("Bob", f"B. with {KEY}")

    redactor = Redactor.of_environment({"A_KEY": KEY}, functions=[first, nothing, last])
    assert redactor.text("Hello Ann") == "Hello B. with [secret A_KEY]"
    assert seen == ["Hello Ann", "Hello Bob"]


def test_two_redactors_together_take_out_what_each_does():
    one = Redactor.of_environment({"A_KEY": KEY}, patterns=["x"], functions=[str.lower])
    other = Redactor.of_environment({"B_KEY": "87654321"}, patterns=["x", "y"], functions=[str.lower])
    both = one.also(other)
    assert both.text("87654321 X Y") == "[secret B_KEY] [secret] [secret]"
    assert both.functions == (str.lower,)


def test_a_further_value_may_become_known():
    redactor = of(A_KEY=KEY)
    assert redactor.knowing("open-sesame", "DOOR").text(f"open-sesame {KEY}") == "[secret DOOR] [secret A_KEY]"
    assert redactor.knowing(KEY) is redactor.knowing("") is redactor.knowing(None) is redactor


def test_a_variable_that_comes_later_is_known_from_then_on(monkeypatch):
    redactor = Redactor.of_environment(names=["LATE"])
    monkeypatch.setenv("LATE", KEY)
    monkeypatch.setenv("LATE_TOKEN", "open-sesame")
    assert redactor.text(f"{KEY} open-sesame") == f"{KEY} open-sesame"
    assert redactor.now().text(f"{KEY} open-sesame") == "[secret LATE] [secret LATE_TOKEN]"
    assert redactor.now() is redactor.now()


def test_no_value_is_shown_with_the_redactor():
    assert KEY not in repr(of(A_KEY=KEY))


# -- as it is written


WRITTEN = {
    "as it is": str,
    "JSON": json.dumps,
    "JSON, not ASCII": lambda text: json.dumps(text, ensure_ascii=False),
    "JSON in JSON": lambda text: json.dumps({"arguments": json.dumps({"key": text})}),
    "JSON of PHP": lambda text: json.dumps(text).replace("/", "\\/"),
    "repr": repr,
    "ascii": ascii,
    "repr among quotes": lambda text: repr(f"\"'{text}"),
    "path": quote,
    "query": quote_plus,
    "parameter": lambda text: quote(text, safe=""),
    "html": html.escape,
    "html text": lambda text: html.escape(text, quote=False),
    "base64": lambda text: base64.b64encode(text.encode()).decode() if text else "",
    "base64 of a line": lambda text: base64.b64encode(f"{text}\n".encode()).decode() if text else "",
    "base64 without =": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
}


@pytest.mark.parametrize("value", [KEY, ODD, LINES, "a+b/c==d?e"], ids=["plain", "odd", "lines", "base64"])
@pytest.mark.parametrize("way", WRITTEN)
def test_a_value_is_found_however_it_is_written(value, way):
    write = WRITTEN[way]
    redacted = of(A_KEY=value).text(f"<{write(value)}>")
    assert redacted.count("[secret A_KEY]") == 1
    assert len(redacted) == len(f"<{write('')}>[secret A_KEY]")


def test_of_a_key_of_several_lines_each_word_is_secret():
    shown = "\n".join(f"E     {line}" for line in LINES.splitlines())
    redacted = of(A_KEY=LINES).text(shown)
    assert redacted.splitlines() == ["E     [secret A_KEY]", "E     second line", "E     [secret A_KEY]"]


# -- what holds of every text

SECRETS = st.text(st.characters(codec="utf-8", exclude_categories=["Zs", "Cc"]), min_size=8, max_size=20)
TRICKY = st.sampled_from(["[secret]", "[secret A_KEY]", "secret A", "][secret", "A_KEY][s", "abababab", "babababa"])
VALUES = st.lists(SECRETS | TRICKY, min_size=1, max_size=4, unique=True)
TEXT = st.text() | st.sampled_from(["[secret", "]", "[", " A_KEY]", "[secret]", "ab", "ret]"])


@given(VALUES, st.data())
@example(["x[secret]", "abababab"], None)
def test_no_value_survives_wherever_it_stands_and_redacting_twice_changes_nothing(values, data):
    values = [value for value in values if value not in PLACEHOLDER]
    redactor = of(**{f"{'ABCD'[number]}_KEY": value for number, value in enumerate(values)})
    assume(values)
    parts = st.lists(TEXT | st.sampled_from(values), max_size=8)
    text = "".join(data.draw(parts) if data is not None else [*values, *values])
    redacted = redactor.text(text)
    assert not any(value in redacted.replace(PLACEHOLDER, "") for value in values if "[secret" not in value)
    assert redactor.text(redacted) == redacted


@given(st.text(alphabet="ab[]secrt.-k0123456789 "), st.lists(st.sampled_from(["a+", "b", r"\[", "e", "(?<=a)b", "^s"])))
def test_redacting_twice_changes_nothing_with_patterns_too(text, patterns):
    redactor = Redactor.of_environment({"A_KEY": "abab[sec"}, patterns=patterns)
    redacted = redactor.text(text)
    assert redactor.text(redacted) == redacted


@given(SECRETS.filter(lambda secret: not secret.startswith(("/", "~", ".")) and ":/" not in secret), st.data())
def test_a_text_that_was_cut_holds_no_long_piece(secret, data):
    assume(secret not in PLACEHOLDER)
    start = data.draw(st.integers(0, len(secret) - 8))
    piece = secret[start : data.draw(st.integers(start + 8, len(secret)))]
    redacted = of(A_KEY=secret).after(()).text(f"{data.draw(st.text())}{piece}{data.draw(st.text())}")
    assert len(piece) < len(secret) // 2 or piece not in redacted.replace(PLACEHOLDER, "")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_what_holds_no_secret_comes_back_as_it_was(value):
    assert of(A_KEY=KEY).deep(value) == value
    assert Redactor.of_environment({"A_KEY": KEY}, patterns=["never in it"]).deep(value) == value


@given(JSON)
def test_a_value_is_found_however_deep_it_stands(value):
    redacted = of(A_KEY=KEY, PIN_KEY="12345678").deep([{"x": {KEY: (value, KEY)}}, 12345678, True])
    assert redacted == [{"x": {"[secret A_KEY]": (value, "[secret A_KEY]")}}, "[secret PIN_KEY]", True]


# -- what was cut


def test_pieces_of_known_values_are_secret_where_somebody_has_cut():
    redactor = of(A_KEY="the-0123456789-abcdefgh-ijkl").after(())
    assert redactor.text("'the-0123456789-abc...'") == "'[secret A_KEY]...'"
    assert redactor.text("E   - 89-abcdefgh-ijkl") == "E   - [secret A_KEY]"
    assert redactor.text("the-012345") == "the-012345"


def test_pieces_of_a_path_or_an_address_stand_in_many_a_text():
    redactor = of(A_KEY="/home/me/keys/id_rsa", B_KEY="https://example.org/hook/1").after(())
    assert redactor.text("/home/me/keys/id_dsa https://example.org/") == "/home/me/keys/id_dsa https://example.org/"
    assert redactor.text("/home/me/keys/id_rsa") == "[secret A_KEY]"


def test_what_was_found_in_what_was_said_is_known_where_that_is_told():
    def without_ann(text: str) -> str:
        return text.replace("Annabella-Margareta", "her")

    redactor = Redactor.of_environment({}, patterns=[r"ref-\d{12}"], functions=[without_ann])
    said = {"messages": [{"content": "ref-123456789012 of Annabella-Margareta, sk-proj-abc123def456ghi"}]}
    told = "ref-12345678… …lla-Margareta… sk-proj-abc1… proj-abc123def"
    assert redactor.text(told) != redactor.after(said).text(told)
    assert redactor.after(said).text(told) == "[secret]… …[secret]… [secret]… [secret]"
    assert redactor.after(said).learned == redactor.after(said).learned


# -- a function that fails


def careless(text: str) -> str:
    raise ValueError(text)


def leaves(text: str) -> str:
    raise SystemExit(text)


def forgetful(text: str) -> int:
    return len(text)


@pytest.mark.parametrize(
    "function, what",
    [
        (careless, "careless raised ValueError"),
        (leaves, "leaves raised SystemExit"),
        (forgetful, "forgetful returned int, no text"),
    ],
)
def test_a_function_that_fails_is_told_with_its_place_and_without_the_text(function, what):
    redactor = Redactor.of_environment({}, functions=[function])
    for ask in (redactor.text, lambda text: redactor.deep([text]), lambda text: redactor.after([text])):
        with pytest.raises(RedactionError) as caught:
            ask("what nobody may read")
        error = caught.value
        assert error.what == what
        assert error.path == __file__
        first = function.__code__.co_firstlineno
        assert error.line in (first, first + 1)
        assert "neither written nor shown" in error.hint
        assert "nobody" not in str(error)
        assert error.__cause__ is None
        assert error.__context__ is None or error.__suppress_context__
        assert str(error).count("\n") < 3
        assert isinstance(error, HarnessError)
        assert not error.transient


def test_ctrl_c_in_a_function_is_one():
    def slow(text: str) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Redactor.of_environment({}, functions=[slow]).text("x")


def test_a_text_that_never_settles_is_withheld():
    grows = Redactor.of_environment({}, patterns=[r"\d(?=\[)|\](?=x)|x"])
    assert grows.text("no match") == "no match"
    values = {"A_KEY": "][secret", "B_KEY": "t][secre"}
    assert of(**values).text("][secret" * 30).count("][secret") == 0


# -- how long it takes


@pytest.fixture(scope="module")
def many() -> Redactor:
    return of(**{f"K{number}_KEY": f"{number:03}{KEY}{number:03}" for number in range(12)})


PROSE = "The customer asked on 2024-05-17 whether order #4711 could be returned; the bot said yes, within 30 days. "


def seconds(work) -> float:
    best = float("inf")
    for _ in range(3):
        begin = time.process_time()
        work()
        best = min(best, time.process_time() - begin)
    return best


def test_ten_megabytes_without_a_secret_take_no_time(many):
    text = PROSE * (10_000_000 // len(PROSE))
    assert seconds(lambda: many.text(text)) < 0.9


def test_twenty_thousand_short_texts_take_no_time(many):
    assert seconds(lambda: [many.text(PROSE) for _ in range(20_000)]) < 0.3


def test_a_secret_in_every_line_of_a_long_text_is_no_trap(many):
    text = f"{PROSE}{'000' + KEY + '000'} {'aaaa' * 50}\n" * 5_000
    assert seconds(lambda: many.text(text)) < 2
    repeated = of(A_KEY="a" * 40).after(())
    assert seconds(lambda: repeated.text("a" * 200_000)) < 2
