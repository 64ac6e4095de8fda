"""A command is a script of the shell, with a result; what it leaves behind for the next is little, and said."""

from __future__ import annotations

from .backend import Backend
from .case import Cases
from .seen import SOON, assert_works

CASES = Cases()


@CASES.add(1)
def streams_and_return_code(backend: Backend) -> None:
    """Output and error come apart, with the return code."""
    result = backend.sandbox.execute("echo out; echo err >&2; exit 3")
    assert (result.return_code, result.output, result.error) == (3, "out\n", "err\n"), result
    assert (result.timed_out, result.killed, result.truncated) == (False, None, 0), result


@CASES.add(2)
def directory_and_variables_last(backend: Backend) -> None:
    """The working directory and exported variables last until the next command, whatever is in them."""
    sandbox = backend.open()
    sandbox.execute('mkdir -p "it\'s"; cd "it\'s"; export TEXT=\'q u"o\n\'; unexported=1; set -f')
    result = sandbox.execute('basename "$PWD"; echo "$TEXT$unexported"; echo $-')
    assert result.output.startswith("it's\nq u\"o\n\n"), result
    assert "f" not in result.output.splitlines()[-1], "options of the shell last as well"


@CASES.add(3)
def exit_and_exec(backend: Backend) -> None:
    """`exit` and `exec` end the command and nothing else."""
    assert backend.sandbox.execute("exit 7").return_code == 7
    assert backend.sandbox.execute("exec true").return_code == 0
    assert_works(backend.sandbox)


@CASES.add(4)
def options_of_the_shell(backend: Backend) -> None:
    """`set -eu` of one command is not that of the next."""
    backend.sandbox.execute("set -eu; true")
    result = backend.sandbox.execute("false; echo still $UNSET_VARIABLE")
    assert result.output == "still\n", result


@CASES.add(5)
def syntax_error(backend: Backend) -> None:
    """A script that is none is a result, with the shell's message in the error."""
    result = backend.sandbox.execute("echo 'unterminated")
    assert result.return_code not in (0, None), result
    assert result.error, result
    assert result.killed is None, result
    assert_works(backend.sandbox)


@CASES.add(6)
def unknown_command(backend: Backend) -> None:
    """A program that is not there is return code 127."""
    result = backend.sandbox.execute("no-such-program --help")
    assert result.return_code == 127, result
    assert "no-such-program" in result.error, result


@CASES.add(7)
def empty_input(backend: Backend) -> None:
    """Who reads finds the end of the input at once."""
    result = backend.sandbox.execute("cat; read line; echo code $?", SOON)
    assert (result.return_code, result.output) == (0, "code 1\n"), result


@CASES.add(8)
def interactive_programs(backend: Backend) -> None:
    """Pagers and shells come back at once, as nobody can press a key; an editor does so when its time is up."""
    sandbox = backend.open()
    result = sandbox.execute("echo text >file; more file; sh -i; read -r line; echo done", SOON)
    assert (result.timed_out, result.killed) == (False, None), result
    assert result.output.endswith("done\n"), result
    sandbox.execute("vi file", 2)  # busybox's comes back, vim does not
    assert_works(sandbox)


@CASES.add(20)
def long_script(backend: Backend) -> None:
    """A script may be longer than the arguments of a program can be."""
    text = "x" * 1_000_000
    result = backend.sandbox.execute(f"wc -c <<'EOF'\n{text}\nEOF", SOON)
    assert result.output.strip() == "1000001", result


@CASES.add(21)
def quotes(backend: Backend) -> None:
    """Quotes, backticks, dollars, backslashes, tabs and other characters than ASCII arrive as they are."""
    text = "$HOME `id` 'a' \"b\" \\ \\n \n\ttab é \U0001f600 %s !x"
    result = backend.sandbox.execute(f"cat <<'EOF'\n{text}\nEOF")
    assert result.output == f"{text}\n", result
