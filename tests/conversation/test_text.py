import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.conversation.text import read_text
from pytest_convo.errors import FormatError


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"hi", "hi"),
        (b"hi\n", "hi"),
        (b"hi\n\n", "hi\n"),
        (b"hi\r\n", "hi"),
        (b"a\r\nb\r\n\r\n", "a\r\nb\r\n"),
        (b"hi\r", "hi\r"),
        (b"\n", ""),
        (b"\r\n", ""),
        (b"\xef\xbb\xbfhi\n", "hi"),
        (b"\xef\xbb\xbf", ""),
        (b" \thi ", " \thi "),
        ("«ü» 🙂\n".encode(), "«ü» 🙂"),
        (b"{{ order }} {% raw %}\n", "{{ order }} {% raw %}"),
    ],
)
def test_a_text_file_is_its_content_but_for_the_mark_and_one_final_newline(tmp_path, data, text):
    path = tmp_path / "0000_user.md"
    path.write_bytes(data)

    assert read_text(path, variables={"order": "A17"}) == text


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_what_is_written_with_a_final_newline_is_read_back(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "verbatim.md"
    path.write_bytes(f"{text}\n".encode())

    assert read_text(path) == text.removeprefix("\ufeff").removesuffix("\r")


def test_ten_megabytes_are_read(tmp_path):
    path = tmp_path / "0000_user.md"
    path.write_bytes(b"0123456789\n" * 1_000_000)

    assert len(read_text(path)) == 10_999_999


@pytest.mark.parametrize(
    ("data", "line", "what"),
    [
        (b"a\nb\n\xff\n", 3, "is not UTF-8: byte 0xff"),
        (b"caf\xe9", 1, "is not UTF-8: byte 0xe9"),
        (b"\xed\xa0\x80", 1, "is not UTF-8: byte 0xed"),
        (b"a\n\0b", 2, "holds a NUL byte"),
        ("hi".encode("utf-16"), 1, "is UTF-16, not UTF-8"),
    ],
)
def test_what_is_no_text_is_an_error_with_its_line(tmp_path, data, line, what):
    path = tmp_path / "0000_user.md"
    path.write_bytes(data)
    with pytest.raises(FormatError) as caught:
        read_text(path)

    assert str(caught.value) == f"{path}:{line}: {what}\n  save it as UTF-8 text"


@pytest.mark.parametrize(
    ("put", "reason"),
    [
        (lambda _: None, "No such file or directory"),
        (Path.mkdir, "Is a directory"),
        (os.mkfifo, "it is not a regular file"),
        (lambda path: path.symlink_to(path.name), "Too many levels of symbolic links"),
    ],
    ids=["missing", "directory", "pipe", "loop"],
)
@pytest.mark.parametrize("template", [False, True])
def test_what_cannot_be_read_is_an_error_that_says_why(tmp_path, put, reason, template):
    path = tmp_path / "prompt.md.j2"
    put(path)
    with pytest.raises(FormatError) as caught:
        read_text(path, template=template)

    assert str(caught.value) == f"{path}: cannot be read: {reason}\n  put a readable file in its place"


def test_a_file_that_may_not_be_read_is_an_error(tmp_path, monkeypatch):
    def refuse(path, flags):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("pytest_convo.conversation.disk._open_at_once", refuse)
    with pytest.raises(FormatError, match="cannot be read: Permission denied"):
        read_text(tmp_path / "0000_user.md")


@pytest.fixture
def render(tmp_path):
    def render(source, variables=None, **others):
        for name, text in others.items():
            (tmp_path / name.replace("_", ".")).write_text(text)
        path = tmp_path / "0000_user.md.j2"
        path.write_text(source)
        return read_text(path, variables=variables, template=True)

    return render


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("Order {{ order }}.\n", "Order A17."),
        ("{% for i in [1, 2] %}{{ i }}\n{% endfor %}\n", "1\n2\n"),
        ("{{ ends }}\n", "x\n"),
        ("a\r\nb {{ order }}\r\n", "a\nb A17"),
        ("\ufeff{{ order }}", "A17"),
        ("{{ missing | default('none') }}", "none"),
        ("{{ html }}", "<b>&</b>"),
    ],
)
def test_a_template_is_rendered_and_loses_one_final_newline_of_its_own(render, source, text):
    assert render(source, {"order": "A17", "ends": "x\n", "html": "<b>&</b>"}) == text


def test_the_value_of_a_variable_is_never_read_as_template_text(render):
    value = "{{ 7 * 7 }} {% include 'x.md' %} {# #}"

    assert render("{{ value }}|{% set other = value %}{{ other }}", {"value": value}) == f"{value}|{value}"


@given(st.text(alphabet="{}%#- ab\\\"'\n"))
def test_any_value_comes_out_as_it_went_in(tmp_path_factory, value):
    path = tmp_path_factory.getbasetemp() / "value.md.j2"
    path.write_text("<{{ value }}>")

    assert read_text(path, variables={"value": value}, template=True) == f"<{value}>"


def test_an_included_template_is_rendered_and_any_other_file_stays_as_it_is(render):
    source = "{% include 'part.j2' %}|{% include 'policy.md' %}"
    text = render(source, {"a": 1}, part_j2="{{ a }}\n", policy_md="{{ a }} {% x %} {# c #}\n")

    assert text == "1|{{ a }} {% x %} {# c #}"


def test_an_edit_is_seen_at_the_next_reading(render):
    assert render("{% include 'part.j2' %}", part_j2="one") == "one"
    assert render("{% include 'part.j2' %}!", part_j2="two") == "two!"


@pytest.mark.parametrize(
    ("source", "line", "what", "hint"),
    [
        ("a\n{{ ordr }}", 2, "'ordr' is undefined", "did you mean 'order'? known: order, product"),
        ("{{ order.id }}", 1, "has no attribute 'id'", "set it in [vars]"),
        ("{% if ordr %}{% endif %}", 1, "'ordr' is undefined", "did you mean 'order'?"),
        ("a\n\n{% if %}", 3, "Expected an expression", "correct the template"),
        ("{% endfor %}", 1, "unknown tag 'endfor'", "correct the template"),
        ("a\n{{ 1 / 0 }}", 2, "ZeroDivisionError: division by zero", "correct the template"),
        ("{{ ''.__class__ }}", 1, "access to attribute '__class__' of 'str' object is unsafe", "correct the template"),
        ("{{ product.append(1) }}", 1, "attribute 'append' of 'list' object is unsafe", "correct the template"),
        ("\n{% include 'gone.md' %}", 2, "there is no 'gone.md' to include", "start at the template's directory"),
        ("{% include '../secret.md' %}", 1, "there is no '../secret.md' to include", "and stay in it"),
        ("{% include '/etc/passwd' %}", 1, "there is no '/etc/passwd' to include", "and stay in it"),
        ("{{ range(10000000) }}", 1, "OverflowError", "correct the template"),
        ("{% include '0000_user.md.j2' %}", 1, "RecursionError", "correct the template"),
    ],
)
def test_a_template_that_cannot_be_rendered_is_an_error_with_its_line(render, tmp_path, source, line, what, hint):
    (tmp_path.parent / "secret.md").write_text("secret")
    with pytest.raises(FormatError) as caught:
        render(source, {"order": "A17", "product": ["tea"]})
    error = caught.value

    assert (error.path, error.line) == (str(tmp_path / "0000_user.md.j2"), line)
    assert error.what.startswith("the template cannot be rendered: ")
    assert what in error.what
    assert hint in error.hint


def test_an_error_in_an_included_template_names_that_file(render, tmp_path):
    with pytest.raises(FormatError) as caught:
        render("a\n{% include 'part.j2' %}", part_j2="b\n\n{{ missing }}")

    assert (caught.value.path, caught.value.line) == (str(tmp_path / "part.j2"), 3)


def test_an_included_file_that_is_no_text_is_an_error_that_names_it(render, tmp_path):
    (tmp_path / "policy.md").write_bytes(b"ok\n\xff")
    with pytest.raises(FormatError, match=r"policy\.md:2: is not UTF-8"):
        render("{% include 'policy.md' %}")
