"""Checks in Python: each is run on the transcript of every run, and judged by the same agreement."""


def test_the_order_is_looked_up_before_it_is_refunded(convo):
    assert [call.name for call in convo.reply(1).calls] == ["look_up_order", "refund_order"]


def test_money_goes_out_once(convo):
    results = [message.text for message in convo.messages if message.role == "tool"]
    assert results.count("refunded 12.40 €") == 1
