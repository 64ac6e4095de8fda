from __future__ import annotations

import tomllib

import jsonschema
import pytest

from pytest_convo.settings.bots import BotSettings
from pytest_convo.settings.expect import ExpectTable
from pytest_convo.settings.model import Case, Settings
from pytest_convo.settings.schema import json_schema

EXAMPLES = [
    "",
    """
version = 1                      # of this format
runs = 5
agreement = 0.8
prompt = "../../prompts/support.md"
regenerate = "holes"
timeout = "120s"

[bot]
model = "gpt-4o-mini"
provider = "openai"
base_url = "http://localhost:8080/v1"
api_key_env = "OPENAI_API_KEY"
temperature = 0
[bot.request]
seed = 7

[vars]
product = "tea"

[[case]]
id = "late-order"
vars = { order = "A17" }

[expect]
contains = "30 days"
[expect.1]
excludes = ["cannot help"]
""",
    'prompt = ["base.md", "shop.md.j2"]',
    '[prompt]\nfiles = "base.md"\nstyle = "xml"\nbudget = 8000\nreserve = 0\non_overflow = "trim"',
    '[prompt]\nfiles = ["base.md"]\ntokenizer = "estimate"\n[summarize]\nturns = 4\ntokens = 200\nprompt = "s.md.j2"',
    '[[case]]\nid = "a"\nprompt = "x.md"\n[[case]]\nid = "b"\nprompt.budget = 5',
    '[bot]\nuse = "support-2.1"\nfunctions = ["tools.py:lookup_order"]\n[judge]\nuse = "strict"\nsystem = "who.md"',
    '[refine]\nuse = "x"\nbudget = 9\nreserve = 2\nsystem = ["a.md", "b.md.j2"]',
    'agreement = "2/3"',
    'agreement = "sprt"\ngood = 0.95\nbad = 0.7',
    'regenerate = "last"',
    'regenerate = "all"',
    "regenerate = [3, 5]",
    'timeout = "500ms"\nexpect.max_seconds = 2',
    '[expect]\nequals = ["a", "b"]\nmatches = "\\\\d+"\ncontains_any = ["a"]\nignore_case = true',
    '[expect]\njson_schema = { type = "object" }\njson_equals = [1]\njson_contains = { a = 1 }',
    '[expect]\njson_schema = "schema.json"\npython = "checks.py:polite"',
    "[expect]\nnumber = { value = 42, within = 0.5 }",
    '[expect]\nsimilar = { to = "...", at_least = 0.8 }',
    '[expect]\ncalls = [{ name = "lookup", arguments = { id = "A17" } }]\ncalls_order = "subset"',
    '[expect]\nmax_chars = 1\nmax_words = 1\nmax_tokens = 1\nmax_usd = 0.1\nfinish_reason = "length"',
    '[[case]]\nid = "a"\nruns = 3\nbot.model = "x"\n[case.expect.12]\ncontains = "y"',
    "[vars]\nday = 2026-01-01",
    "[bot.price]\ninput = 0.15\noutput = 0.6\ncached = 0.075",
    "[limits]\nrequests_per_minute = 60\ntokens_per_minute = 1e5",
    "[bot]\nprice = { input = 0, output = 0 }\n[[case]]\nid = 'a'\nlimits.requests_per_minute = 0.5",
    "[record]\ntools = 'replay'\nsecrets = ['ref-\\d+', 'x']\n[[case]]\nid = 'a'\nrecord.secrets = 'y'",
]
MISTAKES = [
    "prompt = []",
    "prompt = 5",
    "prompt = ''",
    "prompt = ['a.md', 5]",
    "[prompt]\nfiles = []",
    "[prompt]\nfile = 'a.md'",
    "[prompt]\nbudget = 0",
    "[prompt]\nstyle = 'yaml'",
    "[summarize]\nturns = 0",
    "[bot]\nuse = '.x'",
    "[bot]\nuse = 'a/b'",
    "[judge]\nuse = ''",
    "[bot]\nfunctions = ['tools.py']",
    "[judge]\nreserve = -1",
    "version = 2",
    "runs = 0",
    'runs = "5"',
    "agreement = 0",
    'agreement = "80%"',
    "agrement = 0.8",
    "regenerate = []",
    'timeout = "soon"',
    "[bot]\nmodle = 'x'",
    "[bot]\nbase_url = 'localhost'",
    "[bot]\napi_key = 'x'",
    "[[case]]\nvars = {}",
    "[[case]]\nid = 'late order'",
    "[[case]]\nid = 'a'\nversion = 1",
    "[expect]\ncontains = ''",
    "[expect]\nchecks = {}",
    "[expect.01]\ncontains = 'x'",
    "[expect.1.2]\ncontains = 'x'",
    "[expect.1]\ncalls_order = 'any'",
    "[expect]\nsimilar = { at_least = 0.5 }",
    "[bot.price]\ninput = 1",
    "[bot.price]\ninput = -1\noutput = 1",
    "[bot]\nprice = 1",
    "[limits]\nrequests_per_minute = 0",
    "[limits]\nrequests_per_second = 1",
    "[record]\ntools = 'never'",
    "[record]\nsecrets = []",
    "[record]\nsecrets = ''",
]


@pytest.fixture(scope="module")
def validator():
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_the_schema_names_its_dialect(validator):
    assert validator.schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert validator.schema["title"] == "convo.toml"


@pytest.mark.parametrize("text", EXAMPLES)
def test_what_the_format_has_fits_both_the_schema_and_the_settings(validator, text):
    values = tomllib.loads(text)
    validator.validate(values)
    Settings.model_validate(values)


@pytest.mark.parametrize("text", MISTAKES)
def test_what_the_settings_refuse_the_schema_refuses_too(validator, text):
    values = tomllib.loads(text)
    assert not validator.is_valid(values)
    with pytest.raises(ValueError):
        Settings.model_validate(values)


def test_every_setting_is_described(validator):
    tables = [validator.schema, *validator.schema["$defs"].values()]
    assert all(setting["description"] for table in tables for setting in table["properties"].values())
    assert all("\n" not in table["description"] for table in tables)


def test_every_setting_is_there_and_no_other(validator):
    definitions = validator.schema["$defs"]
    assert set(validator.schema["properties"]) == set(Settings.model_fields)
    assert set(definitions["BotSettings"]["properties"]) == set(BotSettings.model_fields)
    assert set(definitions["Case"]["properties"]) == set(Case.model_fields)
    checks = set(ExpectTable.model_fields) - {"checks"}
    assert set(definitions["Expect"]["properties"]) == set(definitions["ExpectTable"]["properties"]) == checks


def test_defaults_are_as_a_file_would_have_them(validator):
    defaults = {
        key: setting["default"] for key, setting in validator.schema["properties"].items() if "default" in setting
    }
    assert defaults == {
        "version": 1,
        "runs": 1,
        "agreement": 0.8,
        "good": 0.95,
        "bad": 0.7,
        "regenerate": "holes",
        "timeout": 120,
        "case": [],
        "kind": "writing",
        "scratch": False,
        "max_iterations": 20,
        "command_timeout": 60,
        "corrections": 3,
        "protocol": "tools",
        "tools": [],
        "write_back": False,
        "background": False,
        "environment": "docker",
        "writable": False,
        "network": False,
        "memory": 1 << 30,
        "cpus": 1,
        "pids": 256,
        "env": [],
    }
    assert not any("default" in setting for setting in validator.schema["$defs"]["Case"]["properties"].values())


def test_the_checks_of_conftests_are_in_it_where_asked_for():
    schema = json_schema(["polite"])
    assert jsonschema.Draft202012Validator(schema).is_valid({"expect": {"polite": 3, "1": {"polite": True}}})
    assert not jsonschema.Draft202012Validator(json_schema()).is_valid({"expect": {"polite": 3}})
