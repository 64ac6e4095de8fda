from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.bot.docstring import read_docstring

GOOGLE = """Look an order up.

    It may take a while.

    Args:
        order_id: The order's number,
            as printed on the bill.
        deep (bool, optional): Whether to search: everywhere.
        *rest: More.

    Returns:
        order: not a parameter.
    """
NUMPY = """
    Look an order up.

    It may take a while.

    Parameters
    ----------
    order_id : str
        The order's number,
        as printed on the bill.
    deep : bool, optional
        Whether to search: everywhere.
    *rest
        More.

    Returns
    -------
    order
        Not a parameter.
    """
REST = """Look an order up.

    It may take a while.

    :param str order_id: The order's number,
        as printed on the bill.
    :param deep: Whether to search: everywhere.
    :type deep: bool
    :param rest: More.
    :returns: not a parameter
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, REST], ids=["google", "numpy", "rest"])
def test_description_and_parameters(text):
    description, parameters = read_docstring(text)

    assert description == "Look an order up.\n\nIt may take a while."
    assert parameters == {
        "order_id": "The order's number, as printed on the bill.",
        "deep": "Whether to search: everywhere.",
        "rest": "More.",
    }


@pytest.mark.parametrize(
    "text, description, parameters",
    [
        (None, "", {}),
        ("", "", {}),
        ("One line.", "One line.", {}),
        ("Args:\n    a: first", "", {"a": "first"}),
        ("It does.\n\nReturns:\n    a: nothing", "It does.", {}),
        ("It does.\n\nArgs:\n    not an entry\n    a: first", "It does.", {"a": "first"}),
        ("Its args: are these.", "Its args: are these.", {}),
        ("It does.\n:param: no name", "It does.", {}),
    ],
)
def test_docstrings_of_all_sorts(text, description, parameters):
    assert read_docstring(text) == (description, parameters)


@given(st.lists(st.sampled_from(["Args:", "Parameters", "----", "a: b", "  a: b", "    c", ":param x: y", "", ":"])))
def test_no_docstring_whatever_breaks_it(lines):
    read_docstring("\n".join(lines))
