from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.sandbox.dockerfile import bases, instructions


def test_instructions_have_their_lines_and_are_joined() -> None:
    text = "# a comment\nFROM a\n\nrun one \\\n  # amid it\n\n  && two\nCOPY . /x\n"
    assert [(one.line, one.text) for one in instructions(text)] == [
        (2, "FROM a"),
        (4, "RUN one   && two"),
        (8, "COPY . /x"),
    ]


def test_another_escape_leaves_backslashes_alone() -> None:
    text = "# escape=`\nFROM a\nRUN dir C:\\\nRUN one `\n two\n"
    assert [one.text for one in instructions(text)] == ["FROM a", "RUN dir C:\\", "RUN one  two"]


def test_the_text_of_heredocs_is_no_instruction() -> None:
    found = instructions("FROM a\nRUN <<EOF\nFROM b\nEOF\nCOPY <<-'X' /x\n\tFROM c\n\tX\nRUN d\n")
    assert [one.line for one in found] == [1, 2, 5, 8]
    assert [one.needs_buildkit for one in found] == [False, True, True, False]


@pytest.mark.parametrize(
    ("line", "needs"),
    [
        ("RUN --mount=type=cache,target=/x pip install y", True),
        ("COPY --chmod=755 a b", True),
        ("COPY --from=x --chown=1:1 a b", False),
        ("RUN echo --mount=x", False),
        ("RUN cat << EOF", True),
    ],
)
def test_what_only_buildkit_understands_is_seen(line: str, needs: bool) -> None:
    assert instructions(line)[0].needs_buildkit is needs


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FROM python:3.12", ["python:3.12"]),
        ("ARG V=3.12\nFROM python:${V}-slim", ["python:3.12-slim"]),
        ("ARG V\nFROM python:${V:-3.13}", ["python:3.13"]),
        ("ARG A=b\nARG C=$A:1\nFROM $C", ["b:1"]),
        ("from --platform=linux/amd64 a AS build\nFROM Build\nFROM b as x", ["a", "b"]),
        ("FROM a AS one\nFROM b\nCOPY --from=one /x /x\nCOPY --chown=1 --from=0 /x /x\nCOPY --from=c:1 /x /x", None),
        ("FROM scratch\nCOPY a /", []),
        ("FROM a\nFROM a", ["a"]),
        ("FROM a\nARG V=1\nRUN echo FROM b", ["a"]),
        ("", []),
    ],
)
def test_the_images_that_a_build_needs(text: str, expected: list[str] | None) -> None:
    assert bases(text) == (["a", "b", "c:1"] if expected is None else expected)


@given(st.text("FROM a\n\\#`<EOF$\"'-={}:", max_size=60))
def test_any_text_is_read(text: str) -> None:
    lines = [one.line for one in instructions(text)]
    assert lines == sorted(set(lines))
    assert all(1 <= line <= len(text.splitlines()) for line in lines)
    bases(text)
