from __future__ import annotations

import pytest

from pytest_convo.errors import FormatError
from pytest_convo.settings.promptfile import find_prompt
from pytest_convo.settings.resolve import Resolver


@pytest.mark.parametrize("name", ["prompt.md", "prompt.md.j2"])
@pytest.mark.parametrize("place", ["", "a/", "a/b/"])
def test_the_nearest_prompt_is_found(write, name, place):
    root = write({f"{place}{name}": "x", "a/b/0000_user.md": ""})
    assert find_prompt(root / "a/b", root) == root / f"{place}{name}"


def test_a_nearer_prompt_hides_one_above(write):
    root = write({"prompt.md": "x", "a/prompt.md.j2": "y", "b/x": ""})
    assert find_prompt(root / "a", root) == root / "a/prompt.md.j2"
    assert find_prompt(root / "b", root) == root / "prompt.md"


def test_there_need_not_be_a_prompt(tmp_path):
    assert find_prompt(tmp_path / "a", tmp_path) is None


def test_no_prompt_above_the_rootdir_is_found(write):
    root = write({"prompt.md": "x", "a/b/x": ""})
    assert find_prompt(root / "a/b", root / "a") is None


def test_outside_of_the_rootdir_only_the_directory_itself_counts(write):
    root = write({"prompt.md": "x", "b/prompt.md": "y", "b/c/x": ""})
    assert find_prompt(root / "b", root / "a") == root / "b/prompt.md"
    assert find_prompt(root / "b/c", root / "a") is None


def test_a_directory_of_that_name_is_no_prompt(write):
    root = write({"prompt.md/x": ""})
    assert find_prompt(root, root) is None


def test_two_prompts_in_one_directory_are_an_error(write):
    root = write({"prompt.md": "x", "prompt.md.j2": "y", "a/x": ""})
    with pytest.raises(FormatError) as caught:
        find_prompt(root / "a", root)
    assert str(caught.value) == (
        f"{root}/prompt.md.j2: stands beside prompt.md: one of the two must go\n"
        "  .j2 is rendered with the case's variables, .md stands as it is"
    )


def test_a_resolver_looks_once(write):
    root = write({"prompt.md": "x", "a/x": ""})
    resolver = Resolver(root)
    assert resolver.find_prompt(root / "a") == root / "prompt.md"
    (root / "prompt.md").unlink()
    assert resolver.find_prompt(root / "a") == resolver.find_prompt(root / "b") == root / "prompt.md"
    assert find_prompt(root / "a", root) is None
