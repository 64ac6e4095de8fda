"""Any test can be run several times for one verdict; `bot` is the bot of the nearest convo.toml."""

import pytest

QUESTIONS = ["What does shipping cost?", "How much do you charge to send me a tin of tea?", "Was kostet der Versand?"]


@pytest.mark.convo(runs=3, agreement="2/3")
def test_the_price_does_not_depend_on_the_wording(bot):
    answers = [bot.ask(question).text.replace(",", ".") for question in QUESTIONS]
    assert all("4.90" in answer for answer in answers)
