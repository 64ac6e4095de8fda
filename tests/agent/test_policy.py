from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.agent.policy import Policy

POLICY = Policy(("ls -R", "tree", "rm -r", "find !-maxdepth", "git push"))

HERE = "cat >notes.txt <<'EOF'\nfind / and rm -r /\ntree\nEOF\necho done"


@pytest.mark.parametrize(
    "command",
    [
        "ls -ltr",
        "cat tree.py",
        "git write-tree",
        "echo 'could not find file'",
        HERE,
        'python - <<EOF\nprint("find it")\nEOF',
        "find . -maxdepth 2 -name '*.py'",
        "rm -f one.txt",
        "rm a-b",
        "rm -- -r",
        "echo ';' tree",
        "echo a # && tree",
        "echo x > tree",
        "git log --grep=push",
        "grep -rn find .",
        "",
        "echo 'not closed; tree",
    ],
)
def test_nothing_is_said_against_what_only_looks_alike(command):
    assert POLICY.objection(command) is None


@pytest.mark.parametrize(
    "command",
    [
        "ls -R",
        "ls -lRa /",
        "ls --recursive /",
        "cd /tmp && tree",
        "/usr/bin/tree -L 9",
        "rm -f -r x",
        "rm -rf x",
        "rm a-b -r",
        "find . -delete",
        "echo $(find /)",
        "LANG=C find /",
        "ls | xargs rm -r",
        "if true; then tree; fi",
        "bash -c 'rm -r x'",
        f"{HERE}; tree",
        f"{HERE}\ntree",
        "cat <<A <<B\ntree\nA\nfind\nB\ntree",
        "echo a; # nothing\ntree",
        "git \\\n push",
        "tree > out.txt",
    ],
)
def test_what_falls_under_a_rule_is_objected_to(command):
    assert POLICY.objection(command) is not None


def test_an_objection_says_why_and_what_to_do_instead():
    assert (
        POLICY.objection("tree /")
        == "not run: 'tree' is not wanted here. Instead: list one directory at a time, with ls."
    )


def test_without_rules_nothing_is_objected_to():
    assert Policy().objection("rm -rf / ; find / ; tree") is None


@given(st.text(" \t\n;&|()<>`'\"\\$#-EOFrmtree<<ls", max_size=60))
def test_any_text_is_read_to_an_end(text):
    assert POLICY.objection(text) is None or "not run" in POLICY.objection(text)
