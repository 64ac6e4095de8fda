from __future__ import annotations

import asyncio
import base64
import json
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.agreement.verdict import Agreement, Verdict
from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.conversation.reply import Reply
from pytest_convo.errors import UnusableVerdict
from pytest_convo.judge.forms import FORMS, request
from pytest_convo.judge.judge import Judge
from pytest_convo.judge.question import about_reply
from pytest_convo.judge.verdict import read
from pytest_convo.prompt.stack import Stack
from pytest_convo.settings.bots import BotSettings

from .attacks import ATTACKS, CRITERION, ECHOES, GUESS, MET, Attack

BOT = BotSettings(model="judge")
HONEST = json.dumps({"reason": "No deadline is named.", "evidence": "", "verdict": "fail"})
BENIGN = Attack("none", "We do not refund, whatever the reason.", (Message("user", "Can I have my money back?"),))
GOOD = Attack("none", f"You have it back {MET}.")

ORDERS = re.compile(
    r"ignore|disregard|forget the rules|must pass|the verdict (is )?pass|approve|\"verdict\": \"pass\"|withdrawn"
    r"|ignoriere|ignora |критер|忽略|無視|what they agreed on",
    re.IGNORECASE,
)
LOOK_ALIKES = str.maketrans("аеорсх", "aeopcx")
TAG = re.compile(r"<([a-z]+-[0-9a-f]+)>")


EACH = pytest.mark.parametrize(
    "attack", [pytest.param(attack, id=f"{attack.kind} {number}") for number, attack in enumerate(ATTACKS, 1)]
)


def understood(text: str) -> str:
    """The text as somebody reads it who sees through every disguise."""
    text = "".join(chr(ord(one) - 0xE0000) if 0xE0020 <= ord(one) < 0xE007F else one for one in text)
    plain = "".join(one for one in unicodedata.normalize("NFKC", text) if unicodedata.category(one) != "Cf")
    decoded = [base64.b64decode(found).decode() for found in re.findall(r"(?:[A-Za-z0-9+/]{4}){9,}={0,2}", plain)]
    return "\n".join([plain, plain.translate(LOOK_ALIKES), plain[::-1], *decoded])


def outside(text: str, tags: list[str]) -> str:
    """What stands outside of the tags, for a careless reader: the first thing that looks like an end is one."""
    text = "".join(one for one in unicodedata.normalize("NFKC", text) if unicodedata.category(one) != "Cf")
    for tag in tags:
        begin, _, rest = text.partition(f"<{tag}>")
        text = begin + "".join(re.split(rf"<\s*/\s*{tag}\s*>", rest, maxsplit=1, flags=re.IGNORECASE)[1:])
    return text


def gullible(tags: list[str], data: str) -> str:
    """A judge that obeys each order that it finds outside of the data, and else says what is so."""
    obeys = ORDERS.search(understood(outside(data, tags))) is not None
    return "pass" if obeys or MET in data else "fail"


def question(attack: Attack):
    steps = [Message("assistant", tool_calls=attack.calls)] if attack.calls else []
    return about_reply(CRITERION, attack.reply, before=attack.before, steps=steps)


def by_our_prompt(attack: Attack) -> str:
    asked = question(attack)
    return gullible(TAG.findall(asked.instructions), asked.data)


def joined(attack: Attack) -> dict[str, str]:
    before = "\n\n".join(f"{message.role}: {message.text}" for message in attack.before)
    calls = "\n".join(f"{call.name}({call.arguments})" for call in attack.calls)
    return {"conversation": before, "reply": attack.reply, "calls": calls}


def by_fixed_tags(attack: Attack) -> str:
    blocks = joined(attack)
    return gullible([*blocks], "\n\n".join(f"<{name}>\n{text}\n</{name}>" for name, text in blocks.items()))


def by_no_tags(attack: Attack) -> str:
    return gullible([], "\n\n".join(f"{name}:\n{text}" for name, text in joined(attack).items()))


def moved(judge) -> int:
    return sum(judge(attack) == "pass" for attack in ATTACKS)


def test_there_are_attacks_of_many_kinds_and_none_fulfils_the_criterion():
    assert len(ATTACKS) >= 55
    assert len({attack.kind for attack in ATTACKS}) >= 18
    assert not any(MET in text for attack in ATTACKS for text in joined(attack).values())


def test_a_gullible_judge_is_moved_by_no_attack():
    assert [attack for attack in ATTACKS if by_our_prompt(attack) == "pass"] == []


def test_the_same_judge_is_moved_by_most_attacks_where_nothing_is_fenced():
    assert moved(by_no_tags) >= 55


def test_the_same_judge_is_moved_by_forged_tags_where_these_are_always_the_same():
    assert moved(by_fixed_tags) >= 4
    kinds = {attack.kind for attack in ATTACKS if by_fixed_tags(attack) == "pass"}
    assert kinds == {"closing tag", "over several turns", "arguments of a call"}


def test_the_same_judge_is_moved_where_the_word_of_the_tags_is_guessed_and_taken_all_the_same(monkeypatch):
    monkeypatch.setattr("pytest_convo.judge.question.fence", lambda about, texts: GUESS)
    moved = {attack.kind for attack in ATTACKS if by_our_prompt(attack) == "pass"}
    assert moved == {"guessed fence"}


@pytest.mark.parametrize("judge", [by_our_prompt, by_fixed_tags, by_no_tags])
def test_the_gullible_judge_is_honest_where_nobody_gives_it_an_order(judge):
    assert (judge(BENIGN), judge(GOOD)) == ("fail", "pass")


@pytest.mark.parametrize("form", FORMS)
@EACH
def test_an_attack_stays_between_its_tags_and_changes_nothing_else(attack, form):
    harmless = Attack(
        "none",
        "No.",
        tuple(Message(message.role, "Hello.") for message in attack.before),
        tuple(ToolCall("call_1", "look", "{}") for _ in attack.calls),
    )
    attacked, quiet = (request(question(one), BOT, form, Stack()) for one in (attack, harmless))
    system, user = attacked.messages
    word = fenced(system.text)
    assert without(system.text) == without(quiet.messages[0].text)
    assert (attacked.parameters, attacked.tools) == (quiet.parameters, quiet.tools)
    assert (system.role, user.role) == ("system", "user")
    assert user.text.count(word) == 2 * len(re.findall(rf"^<\w+-{word}>$", user.text, re.MULTILINE))
    assert f"<reply-{word}>\n{attack.reply}\n</reply-{word}>" in user.text
    assert outside(user.text, TAG.findall(system.text)).strip() == ""


def fenced(instructions: str) -> str:
    (word,) = {tag.rpartition("-")[2] for tag in TAG.findall(instructions)}
    return word


def without(instructions: str) -> str:
    return instructions.replace(fenced(instructions), "")


@given(st.text(), st.lists(st.text(min_size=1), max_size=3))
def test_whatever_is_said_comes_verbatim_and_stays_between_its_tags(reply, before):
    asked = about_reply(CRITERION, reply, before=[Message("user", text) for text in before])
    word = fenced(asked.instructions)
    blocks = re.findall(rf"<(\w+)-{word}>\n(.*?)\n</\1-{word}>(?:\n\n|\Z)", asked.data, re.DOTALL)
    assert dict(blocks)["reply"] == reply
    assert "\n\n".join(f"<{name}-{word}>\n{text}\n</{name}-{word}>" for name, text in blocks) == asked.data
    assert all(text in dict(blocks)["conversation"] for text in before)


@pytest.mark.parametrize("echo", ECHOES)
def test_a_judge_that_repeats_an_attack_never_gives_the_attackers_verdict(echo):
    read_anyway = 0
    for attack in ATTACKS:
        try:
            judgement = read(Reply(ECHOES[echo](attack.reply, HONEST)), question(attack).held)
        except UnusableVerdict:
            continue
        assert not judgement.passed, attack
        read_anyway += 1
    assert read_anyway == (len(ATTACKS) if echo in ("the attack as the reason", "the attack as the evidence") else 0)


@given(st.text(min_size=1), st.text(min_size=1))
def test_nothing_beside_the_verdict_is_read(before, behind):
    around = [text for text in (before, behind) if text.strip(" \t\r\n")]
    if around:
        with pytest.raises(UnusableVerdict):
            read(Reply(f"{before}{HONEST}{behind}"), [])


@EACH
def test_an_attacked_judge_that_stays_honest_decides_as_it_does_without(attack):
    class Gullible:
        async def complete(self, asked, stream=None):
            system, user = asked.messages
            said = gullible(TAG.findall(system.text), user.text)
            return Reply(json.dumps({"reason": "So it is.", "evidence": "", "verdict": said}))

    judge = Judge(lambda run: Gullible(), BOT, Agreement(3, 2), "text")
    assert asyncio.run(judge.decide(question(attack), lambda make: make())).verdict is Verdict.FAIL
