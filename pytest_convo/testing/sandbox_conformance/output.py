"""Output of any length and kind: nothing is lost but what is left out of the middle, and that is said."""

from __future__ import annotations

import resource

from .backend import Backend
from .case import Cases
from .seen import SOON, assert_works

CASES = Cases()

MB = 1_000_000


@CASES.add(15)
def output_without_end(backend: Backend) -> None:
    """Who writes without end is killed; what is kept is little."""
    sandbox = backend.open()
    result = sandbox.execute("yes", SOON)
    assert result.killed in ("output_limit", "timeout"), result
    assert result.return_code in (124, 137), result
    assert len(result.output) < 70_000, len(result.output)
    assert result.truncated > 0, result
    assert_works(sandbox)


@CASES.add(16, of_image=False)
def much_output(backend: Backend) -> None:
    """200 MB of output are read to the end, and take next to no memory here."""
    sandbox = backend.open(most_output=1000 * MB)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = sandbox.execute("head -c 200000000 /dev/zero", 4 * SOON)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert result.return_code == 0, result
    assert result.truncated > 199 * MB, result.truncated
    assert after - before < 50_000, f"{after - before} kB more memory"


@CASES.add(17)
def head_and_tail(backend: Backend) -> None:
    """Of much output the first and the last lines are kept, with a line between them that says what is not."""
    script = "echo FIRST; i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; echo LAST"
    result = backend.sandbox.execute(script, 2 * SOON)
    assert result.output.startswith("FIRST\nline 0\n"), result.output[:100]
    assert result.output.endswith("\nline 19999\nLAST\n"), result.output[-100:]
    assert f"[... {result.truncated} bytes omitted ...]" in result.output
    assert result.truncated > 0


@CASES.add(18)
def bytes_that_are_no_text(backend: Backend) -> None:
    """What is no UTF-8 comes as replacement characters, and zero bytes as they are."""
    result = backend.sandbox.execute("printf '\\377\\376\\000A'")
    assert result.output == "\ufffd\ufffd\x00A", result


@CASES.add(19)
def characters_in_pieces(backend: Backend) -> None:
    """A character is the same when its bytes are written one after the other."""
    script = "i=0; while [ $i -lt 500 ]; do printf '\\303'; printf '\\251'; i=$((i+1)); done"
    result = backend.sandbox.execute(script, SOON)
    assert result.output == "é" * 500, result
