from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.agent.page import page_text

PAGE = """<!doctype html><html><head><title>Shop</title><style>p { color: red }</style></head>
<body><h1>Prices &amp; <em>more</em></h1><script>if (a < b) { alert("<p>no</p>") }</script>
<p>Two   words,
one <a href="/list?a=1&amp;b=2">long
list</a>.</p><ul><li>Tea: 3&nbsp;&euro;</li><li><a href="https://x.example/">Coffee</a></li></ul>
<pre>a
  b</pre><table><tr><td>1</td><td>2</td></tr></table>line<br>break<img src="x.png" alt="A cup"></body></html>"""


def test_a_page_as_text():
    lines = page_text(PAGE, "http://shop.example/a/").replace("\xa0", " ").split("\n")

    assert [line for line in lines if line] == [
        "Shop",
        "# Prices & more",
        "Two words, one [long list](http://shop.example/list?a=1&b=2).",
        "- Tea: 3 €",
        "- [Coffee](https://x.example/)",
        "a",
        "  b",
        "| 1| 2",
        "line",
        "break[image: A cup]",
    ]


@pytest.mark.parametrize(
    "html, text",
    [
        ("", ""),
        ("plain", "plain"),
        ("<a href='x'>not closed", "[not closed](x)"),
        ("<a href='x'></a><a>no address</a>", "no address"),
        ("<a href='x'><h2>A heading</h2></a>", "[## A heading](x)"),
        ("<script>never closed <p>text", ""),
        ("<p>a</p></pre></a></script><p>b</p>", "a\nb"),
        ("a &lt;b&gt; &#228; &zzz;", "a <b> ä &zzz;"),
        ("<svg><text>drawn</text></svg>seen", "seen"),
    ],
)
def test_pages_that_are_not_as_they_should_be(html, text):
    assert page_text(html) == text


@given(
    st.lists(
        st.sampled_from(
            ["<a href=x>", "</a>", "<p>", "</p>", "<pre>", "<script>", "</script>", "<li>", "w", " ", "\n", "&lt;"]
        )
    )
)
def test_any_page_is_read_to_its_end(pieces):
    text = page_text("".join(pieces))

    assert text == text.strip("\n")
    assert "script" not in text
