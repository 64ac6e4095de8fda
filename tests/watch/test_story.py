"""A prompt author at work for some minutes: the session that README shows, as it really runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_convo.prompt.request import Request
from pytest_convo.testing import ScriptedServer

README = Path(__file__).parents[2] / "README.md"

SHOP = "You answer the customers of a tea shop.\n"
TERMS = "Unopened tea can be returned within 30 days.\n"

VARYING = {r"\d\d:\d\d:\d\d": "#", r"\d+\.\d+ ?s\b": "# s", r"[=_]{3,}": "=", r"\.convo/runs/\S+": "#", r"\s+$": ""}


def shop(request: Request) -> str:
    """A bot that knows what its prompt says, and nothing else."""
    prompt, asked = request.messages[0].text, request.messages[-1].text
    if "30 days" not in prompt:
        return "That depends."
    if "opened" in asked:
        return "Then, I am afraid, you may not."
    return "Gladly, within 30 days." if "green" in asked else "Gladly, within 30 days, if it is unopened."


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(shop) as server:
        yield server


def settled(text: str) -> list[str]:
    """The lines of a terminal, but for what differs each time."""
    for varying, instead in VARYING.items():
        text = re.sub(varying, instead, text, flags=re.M)
    return [line for line in text.splitlines() if line]


def shown() -> list[str]:
    """The recording in README."""
    section = re.search(r"^## Watching$(.*?)^## ", README.read_text(), re.M | re.S)
    assert section is not None
    recording = re.search(r"^```text\n\$ pytest (--convo-watch[^\n]*)\n(.*?)^```$", section[1], re.M | re.S)
    assert recording is not None
    assert recording[1] == "--convo-watch --convo-write --convo-next --convo-trunc convos"
    return settled(recording[2])


def test_a_session_of_edits_as_a_prompt_author_makes_them(convos, server, start) -> None:
    toml = f'[bot]\nmodel = "tea-1"\nbase_url = "{server.url}"\n[expect.1]\ncontains = "30 days"\n'
    convos.write({"convos/convo.toml": toml, "convos/refund/prompt.md": SHOP})
    refund = convos.path / "convos" / "refund"
    watching = start("--convo-write", "--convo-next", "--convo-trunc", "convos", environ={"COLUMNS": "80"})
    watching.quiet()

    # The first question; the prompt does not know yet what to answer.
    (refund / "0000_user.md").write_text("May I send my tea back?\n")
    watching.wait_for(r"refund FAILED")
    watching.quiet()
    assert (refund / "0001_assistant.md").read_text() == "That depends.\n"
    assert (refund / "0002_user.md").read_text() == ""

    # The prompt is mended, and the answer deleted, to be given anew.
    (refund / "prompt.md").write_text(SHOP + TERMS)
    watching.wait_for(r"refund nothing to answer")
    watching.quiet()
    (refund / "0001_assistant.md").unlink()
    watching.wait_for(r"refund PASSED")
    watching.quiet()
    assert (refund / "0001_assistant.md").read_text() == "Gladly, within 30 days, if it is unopened.\n"

    # The message that was offered is written.
    (refund / "0002_user.md").write_text("I have opened it.\n")
    watching.wait_for(r"refund PASSED")
    watching.quiet()
    assert (refund / "0003_assistant.md").read_text() == "Then, I am afraid, you may not.\n"

    # Second thoughts about the first question: what came after it is said anew, in the new light.
    (refund / "0000_user.md").write_text("May I send my green tea back?\n")
    watching.wait_for(r"refund PASSED")
    watching.quiet()
    assert (refund / "0001_assistant.md").read_text() == "Gladly, within 30 days.\n"
    assert (refund / "0003_assistant.md").read_text() == "Then, I am afraid, you may not.\n"

    watching.press("s")
    watching.wait_for(r"spent so far: .*")
    watching.press("q")
    assert watching.wait() == 0
    names = sorted(path.name for path in refund.iterdir())
    roles = ["user", "assistant", "user", "assistant", "user"]
    assert names == [*(f"{index:04}_{role}.md" for index, role in enumerate(roles)), "prompt.md"]
    assert settled(watching.said) == shown()
    assert len(server.requests) == 5
