from __future__ import annotations

import pytest

from pytest_convo.agent.kinds import KINDS, told
from pytest_convo.prompt.part import Part
from pytest_convo.sandbox.tool import AgentTool


@pytest.mark.parametrize(
    "kind, permission, browses",
    [
        ("reading", "READ_ONLY", False),
        ("writing", "READ_WRITE", False),
        ("browsing", "READ_ONLY", True),
        ("developer", "READ_WRITE", False),
        ("custom", "READ_WRITE", False),
    ],
)
def test_what_each_kind_may_do(kind, permission, browses):
    assert (KINDS[kind].name, KINDS[kind].permission, KINDS[kind].browses) == (kind, permission, browses)


def system_prompt(kind, own=None, **more):
    parts = told(kind, None if own is None else [Part("own", own)], **more)
    return "\n\n".join(part.content for part in parts)


@pytest.mark.parametrize("kind", ["reading", "writing", "developer"])
def test_an_agent_is_told_where_its_folder_is(kind):
    assert "`/workspace`, where your commands begin" in system_prompt(kind)
    assert "the directory in which your commands begin" in system_prompt(kind, place=None)
    assert "{" not in system_prompt(kind)


def test_a_prompt_of_ones_own_stands_in_the_place_of_the_kinds():
    assert system_prompt("writing", "Be kind. {place}") == "Be kind. {place}"
    assert system_prompt("custom") == ""


def test_tools_of_the_shell_are_described_and_those_called_by_name_are_not():
    shell = AgentTool("rg", "Searches.", "rg PATTERN")
    called = AgentTool("look", "Looks.", parameters={"type": "object"}, command="look")

    assert system_prompt("custom", tools=[shell, called]) == "You have the program `rg`.\nSearches.\nrg PATTERN"
