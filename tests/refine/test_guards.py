from __future__ import annotations

import random
import time

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from pytest_convo.refine.guards import objections, same

ALIKE = settings(derandomize=True, deadline=None)

OLD = "You are the help desk of a shop.\n\nAnswer in two sentences.\n"
INPUT = "Hello, I ordered a blue kettle on Monday and it came without its lid. What now?"
EXPECTED = "We will send you the missing lid at no cost"


def against(new: str, old: str = OLD, **given) -> list[str]:
    return objections(new, old, **{"inputs": [], "expected": [], "tools": [], **given})


def objection(new: str, old: str = OLD, **given) -> str:
    [found] = against(new, old, **given)
    return found


# --- nothing to object to


def test_a_rule_in_other_words_may_be_added():
    new = OLD + "\nWhere a part is missing, offer to post it for free.\n"
    assert against(new, inputs=[INPUT], expected=[EXPECTED], tools=["send_part"]) == []


def test_each_reason_is_one_line_for_the_rewriter():
    old = "---\nname: x\n---\nUse lookup for {name}.\n"
    new = f"Say: {EXPECTED}\n{INPUT}\n" + "x" * 500
    found = against(new, old, inputs=[INPUT], expected=[EXPECTED], tools=["lookup"])
    assert len(found) == 7
    for reason in found:
        assert reason.startswith("The new prompt ")
        assert reason.endswith(".")
        assert "\n" not in reason


# --- blank, unwritable


@pytest.mark.parametrize("new", ["", " \n\t\n"])
def test_blank(new):
    assert "is empty" in objection(new)


@pytest.mark.parametrize("character", ["\0", "\ud800"])
def test_what_no_file_can_hold(character):
    assert "no file" in objection(OLD + character)


# --- templates


TEMPLATE = """You help {{ user.name | title }}.
{% for rule in rules %}
- {{ rule }}
{% endfor %}{# for the shop #}
"""


@pytest.mark.parametrize(
    "new",
    [
        TEMPLATE,
        TEMPLATE.replace("{{ user.name | title }}", "{{user.name|title}}"),
        TEMPLATE.replace("{% for", "{%- for").replace("rules %}", "rules\n  -%}"),
        TEMPLATE.replace("{# for the shop #}", ""),
        TEMPLATE + 'Write JSON as {"a": 1}, and greet {{ user.name|title }} again.',
    ],
)
def test_a_template_may_be_written_another_way(new):
    assert against(new, TEMPLATE, template=True) == []


@pytest.mark.parametrize(
    ("new", "named"),
    [
        (TEMPLATE.replace("{{ user.name | title }}", "them"), "missing: “{{ user.name | title }}”"),
        (TEMPLATE.replace("{{ user.name | title }}", "{{ user.name }}"), "missing: “{{ user.name | title }}”"),
        (TEMPLATE.replace("{{ rule }}", "a rule"), "missing: “{{ rule }}”"),
        (TEMPLATE.split("{%", maxsplit=1)[0], "“{% for rule in rules %}”, “{{ rule }}”, “{% endfor %}”"),
        ("{% raw %}" + TEMPLATE + "{% endraw %}", "missing: “{{ user.name | title }}”"),
    ],
)
def test_what_a_template_fills_in_must_stay(new, named):
    assert any("must keep what" in reason and named in reason for reason in against(new, TEMPLATE, template=True))


@pytest.mark.parametrize(
    "piece", ["{{ city }}", "{% include 'x' %}", "{{ 9**9**9**9**9 }}", "{% raw %}x{% endraw %}", "{{ '}}' }}"]
)
def test_nothing_may_come_to_what_a_template_fills_in(piece):
    reason = objection(TEMPLATE + piece, TEMPLATE, template=True)
    assert "must not add" in reason
    assert piece.split("x{%")[0] in reason


@pytest.mark.parametrize("piece", ["{{ rule", "{% for rule in rules %}", "{# so", "{{ }}"])
def test_a_template_must_stay_one(piece):
    assert "no Jinja2 template" in objection(TEMPLATE + piece, TEMPLATE, template=True)


def test_a_name_must_stay_in_its_block():
    assert "“rule” only within" in objection(TEMPLATE + "{{ rule }}", TEMPLATE, template=True)


def test_a_block_must_not_come_twice():
    old = "{% block a %}x{% endblock %}"
    assert "no Jinja2 template" in objection(old + old, old, template=True)


@pytest.mark.parametrize("old", ["{{ x", "{{ x|unknown }}", "{% block a %}{% endblock %}" * 2, "{{" + "(" * 5000])
def test_what_was_no_template_before_is_not_held_against_it(old):
    assert against(old, old, template=True) == []


def test_braces_of_a_text_that_is_no_template_are_free():
    assert against(OLD + "{{ 'x' }} {% if %}") == []


# --- placeholders


@pytest.mark.parametrize(
    "placeholder",
    ["{name}", "{{ name }}", "{{name}}", "${name}", "%(name)s", "%(count)03d", "{user.name}", "{price:.2f}"],
)
def test_a_placeholder_must_stay(placeholder):
    old = f"You help {placeholder}."
    assert f"missing: “{placeholder}”" in objection("You help them.", old)
    assert against(f"Help {placeholder}, always!", old) == []


def test_a_placeholder_is_not_another_one():
    assert "{name}" in objection("You help ${name} {names}.", "You help {name}.")
    assert against("You help {{name}}.", "You help {{ name }}.") == []


@pytest.mark.parametrize("text", ['Answer as {"name": "x"}.', "Give 5% (at most) back.", "{ a set }", "{}"])
def test_what_only_looks_like_a_placeholder_may_go(text):
    assert against("Be kind.", text) == []


# --- front matter


FRONT = "---\nmodel: small  \n\n---\n"


@pytest.mark.parametrize("fence", ["---", "+++"])
def test_front_matter_must_stay(fence):
    front = FRONT.replace("---", fence)
    assert against(f"{front}Be kind.", f"{front}Be brief.") == []
    for new in ("Be kind.", front.replace("small", "large") + "x", front.replace("  ", "") + "x", "\n" + front):
        assert f"two {fence} lines" in objection(new, f"{front}Be brief.")


def test_front_matter_of_other_line_ends_is_changed():
    front = FRONT.replace("\n", "\r\n")
    assert against(f"{front}Be kind.", f"{front}Be brief.") == []
    assert "unchanged" in objection(f"{FRONT}Be kind.", f"{front}Be brief.")


def test_only_a_leading_block_is_front_matter():
    assert against("Be kind.", f"Be brief.\n{FRONT}") == []
    assert against("Be kind.", "---\nBe brief.") == []
    assert against("Be kind.", "----\nBe brief.\n----\n") == []
    assert against("---\n---\nBe kind.", "---\n---\nBe brief.") == []
    assert "unchanged" in objection("---\n---x\nBe kind.", "---\n---\nBe brief.")


# --- tools


def test_a_tool_that_was_mentioned_must_stay():
    old = "Call `find_order` and search, then search-web."
    tools = ["find_order", "search", "search-web", "other", ""]
    assert "missing: “find_order”." in objection("Call search and search-web.", old, tools=tools)
    assert "missing: “search”." in objection("Call find_order, research, search-web.", old, tools=tools)
    assert "missing: “search-web”." in objection("Call find_order, search.", old, tools=tools)
    assert against("search; search-web (find_order)", old, tools=tools) == []


def test_a_tool_that_was_not_mentioned_need_not_be():
    assert against("Be kind.", "Be brief, do research.", tools=["search", "a.b"]) == []


# --- growth


@pytest.mark.parametrize(("old", "most"), [(10, 410), (400, 800), (1000, 2000)])
def test_growth(old, most):
    assert against("x" * most, "x" * old) == []
    reason = objection("x" * (most + 1), "x" * old)
    assert f"{most + 1:,} characters" in reason
    assert f"{most:,} at most" in reason


# --- nothing copied


def test_five_words_are_a_copy():
    reason = objection(OLD + "For example: BLUE kettle -- on\nmonday, and!", inputs=["", INPUT])
    assert "what is said to the bot" in reason
    assert "“blue kettle on monday an…”" in reason
    assert against(OLD + "For example, a blue kettle on Monday", inputs=["x", "blue kettle, Monday, on"]) == []


def test_four_words_are_none():
    assert against(OLD + "Say: kettle on Monday and.", inputs=[INPUT]) == []


def test_a_name_or_a_contraction_is_one_word():
    assert against(OLD + "Use get_it_of_the_id", inputs=["get_it_of_the_id"]) == []
    assert against(OLD + "I don’t know it", inputs=["I don't know it"]) == []


def test_twenty_four_characters_are_a_copy():
    address = "a1b2c3d4e5f6a7b8c9d0e1f2"
    assert "“a1b2c3d4e5f6a7b8c9d0e1f2”" in objection(OLD + f"({address.upper()})", inputs=[f"it is x{address}y"])
    assert against(OLD + address[:23], inputs=[f"it is x{address}y"]) == []
    chinese = "我昨天在你们店里买了一个蓝色的水壶但是盖子不见了怎么办呢"
    assert "copies" in objection(OLD + chinese[2:27], inputs=[chinese])


@pytest.mark.parametrize("start", range(40))
def test_a_copy_is_found_wherever_it_stands(start):
    key = "q7rtwz0plm4xc9vbk2hd8sfy"
    assert against(OLD + key, inputs=["x" * start + key + "y" * 40])
    assert against(OLD + key, inputs=["x" * start + key])


@pytest.mark.parametrize(
    "run", ["-" * 60, "| --- | --- | --- | --- | --- |", "x" + "\t" * 60 + "y", "a . . . b . . . c . . . d . . ."]
)
def test_rules_and_white_space_are_no_copy(run):
    assert against(OLD + run, inputs=[f"before {run} after"]) == []


def test_what_the_old_prompt_has_is_no_copy():
    assert against(OLD + "You are the help desk of a shop.", inputs=["Are you the help desk of a shop?", OLD]) == []


def test_what_the_human_says_is_no_copy():
    new = OLD + "A blue kettle on Monday and it came without its lid: apologise."
    assert against(new, inputs=[INPUT])
    assert against(new, inputs=[INPUT], correction=f"It should apologise to this: “{INPUT}”") == []


def test_checks_must_not_be_copied_either():
    reason = objection(OLD + "Say: we will send you the missing part.", expected=[EXPECTED])
    assert "what the checks of the cases expect" in reason


def test_the_name_of_a_tool_is_no_copy():
    tool = "get_status_of_the_order_by_number"
    new = OLD + f"Call {tool} first."
    assert against(new, inputs=[f"it called {tool}"], expected=[tool], tools=[tool]) == []
    assert len(against(new, inputs=[f"it called {tool}"], expected=[tool])) == 3


def test_a_copy_with_the_name_of_a_tool_in_it_is_one():
    said = "then call get_status_of_the_order at once"
    assert "copies" in objection(OLD + said, inputs=[said], tools=["get_status_of_the_order"])
    said = "wasserkocherdeckeldichtung mit find"
    assert "copies" in objection(OLD + said, inputs=[said], tools=["find"])


def test_a_run_may_not_be_put_together_from_two_inputs():
    assert against(OLD + "one two three four five", inputs=["one two three", "four five"]) == []


def test_only_the_head_of_a_copy_is_quoted():
    for reason in against(OLD + INPUT, inputs=[INPUT]) + against(OLD + EXPECTED, expected=[EXPECTED]):
        assert "without its lid" not in reason
        assert "no cost" not in reason
        assert len(reason) < 160


def test_of_many_copies_some_are_named():
    inputs = [f"w{index} x{index} y{index} z{index} a{index}" for index in range(9)]
    assert "“w4 x4 y4 z4 a4” and 4 more" in objection(OLD + " / ".join(inputs), inputs=inputs)


# --- checks not quoted


def test_a_text_of_a_check_must_not_be_said():
    assert "“Free Lid”" in objection(OLD + "Offer a free\nlid.", expected=["Free Lid", "free"])


def test_a_short_text_or_one_that_was_there_may_be():
    assert against(OLD + "Offer a refund.", expected=["refund", "re fund "]) == []
    assert against(OLD + "Two SENTENCES, no more.", expected=["sentences"]) == []
    assert against(OLD + "Offer a free lid.", expected=["free lid"], correction="It has to offer a free  lid!") == []


# --- how long it takes


def test_many_long_inputs_are_soon_compared():
    """50 ms where it was measured; ten times that is a machine that does other things beside."""
    draw = random.Random(1)
    words = ["".join(draw.choices("etaoinshrdlu", k=draw.randint(2, 9))) for _ in range(3000)]

    def text(length: int) -> str:
        return " ".join(draw.choices(words, k=length // 4))[:length]

    old = text(3000)
    new, inputs = old + text(1000), [text(20_000) for _ in range(50)]
    began = time.process_time()
    assert against(new, old, inputs=inputs) == []
    assert time.process_time() - began < 0.5
    assert against(new + INPUT, old, inputs=[*inputs, text(10_000) + INPUT + text(10_000)])


# --- whatever the texts are

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0") | st.sampled_from("\n {}%$()'a"))
WORDS = st.lists(st.text("abcdefghij", min_size=1, max_size=8), min_size=5, max_size=30)


@ALIKE
@given(TEXT, st.lists(TEXT, max_size=3), st.lists(TEXT, max_size=3), st.booleans())
@example(TEMPLATE, [TEMPLATE], [TEMPLATE], True)
@example(FRONT, [FRONT], [FRONT], False)
def test_a_prompt_may_stay_as_it_is(old, texts, tools, template):
    assume(old.strip())
    assert objections(old, old, inputs=[*texts, old], expected=[*texts, old], tools=tools, template=template) == []


@ALIKE
@given(WORDS, st.data())
def test_five_words_of_an_input_are_found(words, data):
    start = data.draw(st.integers(0, len(words) - 5))
    parted = [data.draw(st.sampled_from([" ", "\n", ", ", " – ", "; "])) for _ in range(5)]
    planted = "".join(map("".join, zip(words[start : start + 5], parted, strict=True)))
    at = data.draw(st.sampled_from([0, OLD.index("\n"), len(OLD)]))
    new = f"{OLD[:at]} {planted.upper()} {OLD[at:]}"
    assert any("copies" in reason for reason in against(new, inputs=["other words", " ".join(words)]))


@ALIKE
@given(TEXT, TEXT, TEXT, st.booleans())
def test_whatever_is_written_there_are_only_reasons(new, old, other, template):
    found = against(new, old, inputs=[other], expected=[other], tools=[other], template=template)
    assert all("\n" not in reason and reason.endswith(".") for reason in found)


# --- same


@pytest.mark.parametrize("other", ["a\n\n b", "a  \n b\n", "\na\r\n b", "a\n \t\n b\n\n\n"])
def test_texts_that_are_the_same(other):
    assert same("a\n b", other)
    assert same(other, "a\n b")


@pytest.mark.parametrize("other", ["a b", "a\nb", "a\n  b", "a\n B", "", "b\na"])
def test_texts_that_are_not(other):
    assert not same("a\n b", other)
