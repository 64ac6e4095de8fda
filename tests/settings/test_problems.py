"""What a user reads: every bad file with its line, what is wrong, and what to do."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pytest_convo.errors import ConvoError, FormatErrors, SettingsError
from pytest_convo.settings.bots import BotSettings
from pytest_convo.settings.expect import ExpectTable
from pytest_convo.settings.explain import explain
from pytest_convo.settings.layer import TomlPart
from pytest_convo.settings.model import Settings
from pytest_convo.settings.resolve import Layer, Resolver, assignments_layer, environment_layer
from pytest_convo.settings.toml import Toml

KEY = "sk-proj-abcdefghijklmnop0123"
TOP = (
    "runs, agreement, good, bad, prompt, regenerate, timeout, bot, limits, record, vars, judge, embeddings, agree, "
    "summarize, refine, expect"
)
BOT = "use, model, provider, base_url, api_key_env, temperature, tool_rounds, retries, functions, request, price"
CHECKS = (
    "equals, contains, contains_any, excludes, matches, ignore_case, json_schema, json_equals, json_contains, number, "
    "similar, calls, calls_order, called_before, not_called, max_calls, judge, approved, "
    "max_chars, max_words, max_tokens, max_seconds, max_usd, finish_reason, python"
)
SECRET = (
    "holds a secret, which has no place in a file\n"
    "  put it into an environment variable and name that in api_key_env; a key that was committed is to be revoked"
)

BAD = {
    "version of the future": (
        "\nversion = 2\nagree = 'new'\n",
        "2: version must be 1, the one version of the format that is known here, not 2\n"
        "  a file of a newer format needs a newer pytest-convo; otherwise write version = 1",
    ),
    "version as text": (
        "version = '1'",
        '1: version must be 1, the one version of the format that is known here, not "1"\n'
        "  a file of a newer format needs a newer pytest-convo; otherwise write version = 1",
    ),
    "criterion of no text": (
        "[expect]\njudge = 5",
        "2: expect.judge must be a table, not 5",
    ),
    "no criterion": (
        "[expect]\njudge = []",
        "2: expect.judge must name at least one criterion: an empty list judges nothing",
    ),
    "misspelt key of a criterion": (
        "[expect]\njudge = { criterion = 'polite', run = 3 }",
        '2: unknown key "run" in [expect.judge]\n  did you mean runs? known are criterion, model, runs, agreement',
    ),
    "second criterion without words": (
        "[expect.1]\njudge = [\n  'polite',\n  { runs = 3 }\n]",
        "4: expect.1.judge.criterion is needed",
    ),
    "misspelt key of the judge": (
        "[judge]\nmodle = 'x'",
        '2: unknown key "modle" in [judge]\n  did you mean model? known are use, model, provider, base_url, '
        "api_key_env, temperature, retries, request, system, budget, reserve, price, prompt, output, runs, agreement, "
        "probes",
    ),
    "judge's prompt that is not there": (
        "[judge]\nprompt = 'judge.md.j2'",
        '2: judge.prompt names a file that is not there: "ROOT/judge.md.j2"\n'
        "  a relative path starts at the place that sets it",
    ),
    "no way of agreeing": (
        "[agree]\nby = 'vibes'",
        '2: agree.by must be one of "text", "json", "calls", "number", "judge", or a function, not "vibes"\n'
        '  as by = "python:checks.py:same"',
    ),
    "function of agreement that is not there": (
        "[agree]\nby = 'python:absent.py:same'",
        '2: agree.by names a file that is not there: "ROOT/absent.py"\n'
        "  a relative path starts at the place that sets it",
    ),
    "sequential test of answers": (
        "[agree]\nat_least = 'sprt'",
        '2: agree.at_least must be a share, as 0.8 or "2/3", not "sprt"',
    ),
    "two groups in what is compared": (
        "[agree]\npattern = '(a)(b)'",
        '2: agree.pattern must have one group at most, not 2, not "(a)(b)"\n  (?:...) groups and captures nothing',
    ),
    "tolerance of texts": (
        "[agree]\nby = 'text'\nwithin = 1",
        '3: agree.within is for by = "number", not for "text"',
    ),
    "pattern of calls": (
        "[agree]\nby = 'calls'\npattern = 'a'",
        '3: agree.pattern looks into the text of a reply, and by = "calls" does not',
    ),
    "succession of one": (
        "[expect]\ncalled_before = 'lookup'",
        '2: expect.called_before must be a list of at least two names, as ["lookup", "refund"], not "lookup"',
    ),
    "pattern of an argument": (
        "[expect]\ncalls = [{ name = 'lookup', arguments_match = { id = '[' } }]",
        "2: expect.calls.arguments_match.id is no regular expression: unterminated character set at position 0",
    ),
    "schema of arguments that is not there": (
        "[expect]\ncalls = [{ name = 'lookup', arguments_schema = 'a.json' }]",
        '2: expect.calls.arguments_schema names a file that is not there: "ROOT/a.json"\n'
        "  a relative path starts at the place that sets it",
    ),
    "no way of approving": (
        "[expect]\napproved = 'roughly'",
        '2: expect.approved must be "exact", "normalized", "json", "similar" or "judge", not "roughly"',
    ),
    "misspelt key": (
        "\nagrement = 0.8",
        f'2: unknown key "agrement"\n  did you mean agreement? known are {TOP}, version, case',
    ),
    "key like no other": ("zzz = 1", f'1: unknown key "zzz"\n  known are {TOP}, version, case'),
    "key of the bot at the top": ("model = 'x'", '1: unknown key "model"\n  it belongs into [bot], as bot.model'),
    "check at the top": (
        "\n\ncontains = 'x'",
        '3: unknown key "contains"\n  it belongs into [expect], as expect.contains',
    ),
    "key of the top in a table": (
        "[bot]\nruns = 5",
        '2: unknown key "runs" in [bot]\n  it belongs to the top of the file, above the first [table]',
    ),
    "field of the request in bot": (
        "[bot]\nseed = 7",
        f'2: unknown key "seed" in [bot]\n  further fields of the request belong into [bot.request]; known are {BOT}',
    ),
    "misspelt key of the bot": (
        "[bot]\n\ntemprature = 0",
        f'3: unknown key "temprature" in [bot]\n  did you mean temperature? known are {BOT}',
    ),
    "misspelt check": (
        "[expect]\ncontian = 'x'",
        f'2: unknown key "contian" in [expect]\n  did you mean contains? known are {CHECKS}',
    ),
    "misspelt check of a turn": (
        "[expect.1]\n\nexclude = 'x'",
        f'3: unknown key "exclude" in [expect.1]\n  did you mean excludes? known are {CHECKS}',
    ),
    "misspelt key of a case": (
        "[[case]]\nid = 'a'\n[[case]]\nid = 'b'\nvariables = {}",
        f'5: unknown key "variables" in [case]\n  did you mean vars? known are {TOP}, id',
    ),
    "misspelt check of a case": (
        "[[case]]\nid = 'a'\n[case.expect.1]\nmax_word = 3",
        f'4: unknown key "max_word" in [case.expect.1]\n  did you mean max_words? known are {CHECKS}',
    ),
    "misspelt key of a check": (
        "[expect]\nnumber = { value = 1, whithin = 2 }",
        '2: unknown key "whithin" in [expect.number]\n  did you mean within? known are value, within',
    ),
    "misspelt key of a call": (
        "[expect]\ncalls = [\n  { name = 'a' },\n  { name = 'b', args = {} },\n]",
        '4: unknown key "args" in [expect.calls]\n  did you mean arguments? known are name, arguments, '
        "arguments_match, arguments_schema",
    ),
    "field of our own": (
        "[expect]\nchecks = { polite = 1 }",
        f'2: unknown key "checks" in [expect]\n  did you mean matches? known are {CHECKS}',
    ),
    "index with zeros": (
        "[expect.0001]\ncontains = 'x'",
        '1: unknown key "0001" in [expect]\n  [expect.N] has the index of a reply, 0 to 9999, for N: [expect.1]',
    ),
    "index too large": (
        "[expect.10003]\ncontains = 'x'",
        '1: unknown key "10003" in [expect]\n  [expect.N] has the index of a reply, 0 to 9999, for N: [expect.3]',
    ),
    "runs as text": ('runs = "5"', '1: runs must be a whole number, not "5"'),
    "runs as fraction": ("runs = 2.5", "1: runs must be a whole number, not 2.5"),
    "runs as truth": ("runs = true", "1: runs must be a whole number, not true"),
    "no runs": ("runs = 0", "1: runs must be at least 1, not 0"),
    "runs as table": ("[runs]\nn = 3", "1: runs must be a whole number, not { n = 3 }"),
    "agreement in per cent": (
        'agreement = "80%"',
        "1: agreement = '80%' is not a share of the runs, above 0 and at most 1; write 0.8 for 80 %\n"
        '  "sprt" asks for the sequential test',
    ),
    "agreement above one": (
        "agreement = 4",
        '1: agreement = 4 is not a share of the runs, above 0 and at most 1; write 0.8 or "4/5", for instance\n'
        '  "sprt" asks for the sequential test',
    ),
    "agreement as list": ("agreement = [2, 3]", '1: agreement must be a share, as 0.8 or "2/3", or "sprt", not [2, 3]'),
    "agreement as truth": ("agreement = true", '1: agreement must be a share, as 0.8 or "2/3", or "sprt", not true'),
    "good above one": ("good = 1", "1: good must be between 0 and 1, not 1"),
    "good no number": ("good = 'yes'", '1: good must be a number, not "yes"'),
    "good below bad": ("agreement = 'sprt'\ngood = 0.5", "2: good must be above bad, but good = 0.5 and bad = 0.7"),
    "bad above good": ("bad = 0.97", "1: good must be above bad, but good = 0.95 and bad = 0.97"),
    "timeout in words": (
        "timeout = '2 minutes'",
        '1: timeout must be a duration above 0, as "120s", "500ms", "2m", or a number of seconds, not "2 minutes"',
    ),
    "timeout of infinity": (
        "timeout = inf",
        '1: timeout must be a duration above 0, as "120s", "500ms", "2m", or a number of seconds, not inf',
    ),
    "regenerate unknown": (
        "regenerate = 'first'",
        '1: regenerate must be "holes", "last", "all", or a list of indexes up to 9999, as [3, 5], not "first"',
    ),
    "regenerate nothing": (
        "regenerate = []",
        '1: regenerate must be "holes", "last", "all", or a list of indexes up to 9999, as [3, 5], not []',
    ),
    "regenerate too far": (
        "regenerate = [3, 10000]",
        '1: regenerate must be "holes", "last", "all", or a list of indexes up to 9999, as [3, 5], not [3, 10000]',
    ),
    "prompt no text": ("prompt = 3", "1: prompt must be text, not 3\n  text stands in quotes"),
    "prompt empty": ("prompt = ' '", "1: prompt must not be empty"),
    "prompt missing": (
        "prompt = 'promt.md'",
        '1: prompt names a file that is not there: "ROOT/promt.md"\n  did you mean prompts.md?',
    ),
    "prompt unlike any": (
        "prompt = 'zzz'",
        '1: prompt names a file that is not there: "ROOT/zzz"\n  a relative path starts at the place that sets it',
    ),
    "prompt in no directory": (
        "prompt = 'a/b/c.md'",
        '1: prompt names a file that is not there: "ROOT/a/b/c.md"\n  its directory is not there, or cannot be read',
    ),
    "prompt in place of its file": (
        'prompt = """\nYou are kind.\nBe brief."""',
        "1: prompt must be the name of a file, not what stands in it",
    ),
    "prompt with a NUL in its name": (
        'prompt = "a\\u0000b"',
        "1: prompt must be the name of a file, not what stands in it",
    ),
    "prompt of a case missing": (
        "[[case]]\nid = 'a'\nprompt = 'prompt.md'",
        '3: case.prompt names a file that is not there: "ROOT/prompt.md"\n  did you mean prompts.md?',
    ),
    "schema file missing": (
        "[expect.1]\njson_schema = 'x.json'",
        '2: expect.1.json_schema names a file that is not there: "ROOT/x.json"\n'
        "  a relative path starts at the place that sets it",
    ),
    "schema no schema": (
        "[expect]\njson_schema = 3",
        "2: expect.json_schema must be a JSON schema, or the name of a file that holds one, not 3",
    ),
    "python file missing": (
        "[expect]\npython = 'check.py:polite'",
        '2: expect.python names a file that is not there: "ROOT/check.py"\n  did you mean checks.py?',
    ),
    "python without function": (
        "[expect]\npython = 'checks.py'",
        '2: expect.python must be a Python file and a function in it, not "checks.py"\n'
        '  as python = "checks.py:polite"',
    ),
    "bot no table": ("bot = 'gpt-4o'", '1: bot must be a table, not "gpt-4o"'),
    "model no text": ("[bot]\nmodel = 4", "2: bot.model must be text, not 4\n  text stands in quotes"),
    "model empty": ("[bot]\nmodel = ''", "2: bot.model must not be empty"),
    "address without scheme": (
        "[bot]\nbase_url = 'localhost:8080/v1'",
        '2: bot.base_url must be the address of a server, not "localhost:8080/v1"\n'
        '  as base_url = "http://localhost:8080/v1"',
    ),
    "address with a wrong port": (
        "[bot]\nbase_url = 'http://localhost:port'",
        '2: bot.base_url must be the address of a server, not "http://localhost:port"\n'
        '  as base_url = "http://localhost:8080/v1"',
    ),
    "temperature as text": ("[bot]\ntemperature = '0'", '2: bot.temperature must be a number, not "0"'),
    "temperature of infinity": ("[bot]\ntemperature = inf", "2: bot.temperature must be a number, not inf"),
    "half a price": ("[bot.price]\ninput = 1", "1: bot.price.output is needed"),
    "misspelt key of a price": (
        "[bot.price]\ninput = 1\nouput = 2\noutput = 2",
        '3: unknown key "ouput" in [bot.price]\n  did you mean output? known are input, output, cached',
    ),
    "limit at the top": (
        "requests_per_minute = 60",
        '1: unknown key "requests_per_minute"\n  it belongs into [limits], as limits.requests_per_minute',
    ),
    "no request at all": (
        "[limits]\nrequests_per_minute = 0",
        "2: limits.requests_per_minute must be above 0, not 0",
    ),
    "retries negative": ("[bot]\nretries = -1", "2: bot.retries must be at least 0, not -1"),
    "request no table": ("[bot]\nrequest = 3", "2: bot.request must be a table, not 3"),
    "model in request": (
        "[bot.request]\nseed = 1\nmodel = 'x'",
        "3: bot.request.model is not set here\n  set model in [bot]",
    ),
    "several answers": (
        "[bot.request]\nn = 3",
        "2: bot.request.n is not set here\n  set runs for several answers: each is then a conversation of its own",
    ),
    "date in request": (
        "[bot.request]\nx = [1, { y = 2026-01-01 }]",
        "2: bot.request.x.y must be a value that JSON can hold, not 2026-01-01\n  a date is written as text, in quotes",
    ),
    "variable without a name": (
        "[vars]\norder = 1\nmy-order = 2",
        "3: vars.my-order is no name that a template can use\n  letters, digits and `_`, no digit first",
    ),
    "variables no table": ("vars = ['a']", '1: vars must be a table, not ["a"]'),
    "case in one bracket": (
        "[case]\nid = 'a'",
        '1: case must be a list, not { id = "a" }\n  each case begins with [[case]], in two brackets',
    ),
    "case no table": ("case = ['a']", '1: case must be a table, not "a"'),
    "case without id": ("[[case]]\nid = 'a'\n[[case]]\nvars = {}", "3: case.id is needed"),
    "case twice": (
        "[[case]]\nid = 'a'\n[[case]]\nid = 'b'\n[[case]]\nid = 'a'",
        "6: case.id is the id of an earlier case already: a\n  each case has an id of its own",
    ),
    "case with an unsafe id": (
        "[[case]]\nid = 'late order'",
        '2: case.id must consist of letters, digits, `.`, `_` and `-`, at most 100, not "late order"',
    ),
    "case with a path for id": (
        "[[case]]\nid = '..'",
        '2: case.id must consist of letters, digits, `.`, `_` and `-`, at most 100, not ".."',
    ),
    "case called like a run": (
        "[[case]]\nid = 'run-1'",
        "2: case.id must be another than run-1, which runs and recordings are called",
    ),
    "case with a number for id": ("[[case]]\nid = 1", "2: case.id must be text, not 1\n  text stands in quotes"),
    "expect no table": ("expect = 'x'", '1: expect must be a table, not "x"'),
    "expect turn no table": ("[expect]\n1 = 'x'", '2: expect.1 must be a table, not "x"'),
    "text no text": ("[expect]\ncontains = 30", "2: expect.contains must be text, or a list of texts, not 30"),
    "one of the texts no text": (
        "[expect]\nexcludes = [\n  'a',\n  3,\n]",
        "4: expect.excludes must be text, or a list of texts, not 3",
    ),
    "empty text": (
        "[expect]\ncontains = ['a', '']",
        "2: expect.contains must not be empty: the empty text is in every reply",
    ),
    "no texts": (
        "[expect]\ncontains_any = []",
        "2: expect.contains_any must name at least one text: an empty list checks nothing",
    ),
    "bad pattern": (
        "[expect]\nmatches = [\n'ok',\n'(',\n]",
        "4: expect.matches is no regular expression: missing ), unterminated subpattern at position 0\n"
        "  contains looks for a text as it stands",
    ),
    "endless pattern": (
        "[expect]\nmatches = 'a{99999999999999999999}'",
        "2: expect.matches is no regular expression: the repetition number is too large\n"
        "  contains looks for a text as it stands",
    ),
    "ignore_case as text": ("[expect]\nignore_case = 'yes'", '2: expect.ignore_case must be true or false, not "yes"'),
    "number alone": ("[expect]\nnumber = 42", "2: expect.number must be a table, not 42"),
    "number without value": ("[expect]\nnumber = { within = 1 }", "2: expect.number.value is needed"),
    "number within less than nothing": (
        "[expect]\nnumber = { value = 1, within = -1 }",
        "2: expect.number.within must be at least 0, not -1",
    ),
    "similar above one": (
        "[expect]\nsimilar = { to = 'a', at_least = 80 }",
        "2: expect.similar.at_least must be above 0 and at most 1, not 80",
    ),
    "calls no list": (
        "[expect]\ncalls = 'lookup'",
        '2: expect.calls must be a list, not "lookup"\n  as calls = [{ name = "lookup" }]',
    ),
    "call no table": ("[expect]\ncalls = ['lookup']", '2: expect.calls must be a table, not "lookup"'),
    "call without name": ("[expect]\ncalls = [{ arguments = {} }]", "2: expect.calls.name is needed"),
    "calls in no order": (
        "[expect]\ncalls_order = 'any'",
        '2: expect.calls_order must be "strict", "unordered", "subset" or "superset", not "any"',
    ),
    "no words at all": ("[expect]\nmax_words = 0", "2: expect.max_words must be at least 1, not 0"),
    "no money at all": ("[expect]\nmax_usd = 0", "2: expect.max_usd must be above 0, not 0"),
    "key by name": (f"[bot]\napi_key = '{KEY}'", f"2: bot.api_key {SECRET}"),
    "key by name alone": ("[bot]\napi_key = 'abc'", f"2: bot.api_key {SECRET}"),
    "key for the name of its variable": (f"[bot]\napi_key_env = '{KEY}'", f"2: bot.api_key_env {SECRET}"),
    "unknown kind of key for the name of its variable": (
        "[bot]\napi_key_env = 'a-key-of-no-known-form'",
        "2: bot.api_key_env must be the name of an environment variable, never the key itself\n"
        '  as api_key_env = "OPENAI_API_KEY"',
    ),
    "key in a header": (
        f"[bot.request]\nextra_headers = {{ Authorization = 'Bearer {KEY}' }}",
        f"2: bot.request.extra_headers.Authorization {SECRET}",
    ),
    "key in an address": (
        "[bot]\nbase_url = 'https://me:open-sesame@example.org/v1'",
        f"2: bot.base_url {SECRET}",
    ),
    "key in a variable": (f"[vars]\ngreeting = 'it is {KEY}'", f"2: vars.greeting {SECRET}"),
    "key in a check": (f"[expect]\nexcludes = ['a',\n'{KEY}']", f"3: expect.excludes {SECRET}"),
    "key in a case": (f"[[case]]\nid = 'a'\nvars.x = '{KEY}'", f"3: case.vars.x {SECRET}"),
    "key for a key": (f"'{KEY}' = 1", f"1: (secret) {SECRET}"),
    "no TOML": (
        "runs = 3\nmodel = gpt-4o\n",
        "2: is not TOML: Invalid value, column 9\n"
        '  text stands in quotes, as in model = "gpt-4o-mini"; true and false are written in lower case',
    ),
}


def told(error: ConvoError, root: object) -> str:
    return str(error).replace(str(root), "ROOT")


@pytest.mark.parametrize("text, message", BAD.values(), ids=BAD)
def test_a_bad_file_is_told_with_its_line_and_what_to_do(write, text, message):
    root = write({"convo.toml": text, "prompts.md": "", "checks.py": ""})
    with pytest.raises(ConvoError) as caught:
        Resolver(root).resolve(root)
    assert told(caught.value, root) == f"ROOT/convo.toml:{message}"
    assert KEY not in repr(vars(caught.value)) + repr(caught.value)


def test_a_prompt_that_is_far_too_long_for_a_name_is_told_short(write):
    root = write({"convo.toml": f"prompt = 'You are {'very ' * 1000} kind.'"})
    with pytest.raises(SettingsError, match="prompt names a file that is not there: ") as caught:
        Resolver(root).resolve(root)
    assert len(str(caught.value)) < 500


def test_every_message_has_at_most_three_lines():
    assert max(message.count("\n") for _, message in BAD.values()) < 3


def test_all_that_is_wrong_with_all_files_is_told_in_one_go(write):
    root = write(
        {
            "convo.toml": "runs = 0\n[bot]\nmodle = 'x'\n",
            "a/convo.toml": "timeout = 0\nprompt = 'x.md'\nrnus = 3\napi_key = 'x'\n",
        }
    )
    with pytest.raises(FormatErrors) as caught:
        Resolver(root).resolve(root / "a")
    assert [(error.path, error.line) for error in caught.value.errors] == [
        *((root / "a/convo.toml", line) for line in (1, 2, 3, 4)),
        *((root / "convo.toml", line) for line in (1, 3)),
    ]


def test_a_bad_value_is_told_even_where_a_nearer_one_hides_it(write):
    root = write({"convo.toml": "runs = 0", "a/convo.toml": "runs = 3"})
    with pytest.raises(SettingsError, match="runs must be at least 1, not 0"):
        Resolver(root).resolve(root / "a")


def test_a_bad_file_above_is_told_again_for_each_conversation_and_elsewhere_not(write):
    root = write({"a/convo.toml": "runs = 0", "a/b/c.txt": "", "d/convo.toml": "runs = 2"})
    resolver = Resolver(root)
    for directory in (root / "a", root / "a/b", root / "a/b"):
        with pytest.raises(SettingsError, match=r"a/convo\.toml:1: runs must be at least 1"):
            resolver.resolve(directory)
    assert resolver.resolve(root / "d").settings.runs == 2


def test_a_file_that_is_no_toml_is_told_again_for_each_conversation(write):
    root = write({"convo.toml": "runs", "b/c.txt": ""})
    resolver = Resolver(root)
    for directory in (root, root / "b", root / "b"):
        with pytest.raises(ConvoError, match=r"convo\.toml:1: is not TOML"):
            resolver.resolve(directory)


@pytest.mark.parametrize(
    "layer, message",
    [
        (assignments_layer(["runs=0"]), "command line --convo-set: runs must be at least 1, not 0"),
        (
            Layer({"runs": "many"}, "command line --convo-runs"),
            "command line --convo-runs: runs must be a whole number",
        ),
        (environment_layer({"PYTEST_CONVO_TIMEOUT": "soon"}), "PYTEST_CONVO_TIMEOUT: timeout must be a duration"),
        (
            environment_layer({"PYTEST_CONVO_RUN": "3"}),
            f'PYTEST_CONVO_RUN: unknown key "run"\n  did you mean runs\\? known are {TOP}$',
        ),
        (environment_layer({"PYTEST_CONVO_BOT__X": "3"}), 'PYTEST_CONVO_BOT__X: unknown key "x" in \\[bot\\]'),
        (environment_layer({"PYTEST_CONVO_CASE": "a"}), 'PYTEST_CONVO_CASE: unknown key "case"'),
        (environment_layer({"PYTEST_CONVO_MODEL": "4"}), "PYTEST_CONVO_MODEL: bot.model must be text, not 4"),
        (assignments_layer(["bot.runs=3"]), 'unknown key "runs" in \\[bot\\]\n  its name is runs alone$'),
        (assignments_layer(["version=1"]), 'command line --convo-set: unknown key "version"'),
        (assignments_layer([f"runs={KEY}"]), "command line --convo-set: runs must be a whole number, not \\(secret\\)"),
        (assignments_layer([f"timeout={KEY}"]), "command line --convo-set: timeout has no usable value$"),
        (Layer({"agreement": 2}, "pytest ini convo_agreement"), "pytest ini convo_agreement: agreement = 2 is not"),
    ],
)
def test_a_bad_value_from_elsewhere_is_told_with_its_place(tmp_path, layer, message):
    for resolver in (Resolver(tmp_path, nearest=[layer]), Resolver(tmp_path, defaults=[layer])):
        for ask in (resolver.check, lambda resolver=resolver: resolver.resolve(tmp_path)):
            with pytest.raises(SettingsError, match=message) as caught:
                ask()
            assert caught.value.path is None
            assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "mark, message",
    [
        ({"run": 5}, '@pytest.mark.convo: unknown key "run"'),
        ({"runs": 0}, "@pytest.mark.convo: runs must be at least 1, not 0"),
        ({"bot": "gpt"}, "@pytest.mark.convo: bot must be a table"),
        ({"prompt": "x.md"}, "@pytest.mark.convo: prompt names a file that is not there"),
    ],
)
def test_a_bad_mark_is_told_as_one(tmp_path, mark, message):
    with pytest.raises(SettingsError, match=message):
        Resolver(tmp_path).resolve(tmp_path, mark=mark)


def test_pydantic_is_never_heard():
    assert not any("pydantic" in message or "Input should" in message for _, message in BAD.values())


KEYS = [
    *Settings.model_fields,
    *BotSettings.model_fields,
    *ExpectTable.model_fields,
    *(
        "0",
        "1",
        "0001",
        "10000",
        "²",
        "id",
        "name",
        "value",
        "within",
        "to",
        "at_least",
        "arguments",
        "polite",
        "",
        "\0",
    ),
]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**2000),
    st.floats(),
    st.text(max_size=4),
    st.sampled_from(["2/3", "sprt", "1s", "a.py:f", "(", "http://[", "http://a:b", KEY, date(2026, 1, 1)]),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3)
)


@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4))
@example({"expect": {"10" * 4000: 1}})
@example({"case": [{"id": "a", "expect": {"1": {"python": 3, "json_schema": []}}}, 4]})
@settings(max_examples=300)
def test_whatever_a_place_says_the_answer_is_settings_or_an_error_of_ours(values):
    root = Path("/no/such/directory")
    file = TomlPart(Toml(root / "convo.toml", "", values))
    resolver = Resolver(root, [Layer(values, "somewhere")], [Layer(values, file)], frozenset({"polite"}))
    assert KEY not in answer(resolver, root)


def answer(resolver: Resolver, root: Path) -> str:
    try:
        return explain(resolver.resolve(root), root)
    except ConvoError as error:
        return str(error)
