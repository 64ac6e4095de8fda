"""Commands of ours beside those of an agent: closed directories, shells that know nothing, variables that end."""

from __future__ import annotations

from ...errors import SandboxUnavailable
from .backend import Backend
from .case import Cases
from .seen import SOON, raised

CASES = Cases()


@CASES.add(53, "isolation", "closed")
def closed_directories(backend: Backend) -> None:
    """Only trusted commands enter the closed directories; an agent can neither read, nor write, nor replace them."""
    sandbox = backend.open(closed=("/tests", "/logs/verifier"))
    sandbox.write_files({"/tests/test.sh": (b"echo verified", 0o755)}, trusted=True)
    attack = (
        "ls /tests; cat /tests/test.sh; echo 1 >/logs/verifier/reward.txt; rm -rf /tests; mv /logs /other; cd /tests"
    )
    result = sandbox.execute(f"{attack}; mkdir -p /logs/verifier/x && echo made")
    assert result.output == "", result
    raised(FileNotFoundError, lambda: sandbox.read_file("/tests/test.sh"))
    assert sandbox.read_file("/tests/test.sh", trusted=True) == b"echo verified"
    result = sandbox.execute("/tests/test.sh; ls -A /logs/verifier; echo 1 >/logs/verifier/reward.txt", trusted=True)
    assert (result.return_code, result.output) == (0, "verified\n"), result
    assert sandbox.read_file("/logs/verifier/reward.txt", trusted=True) == b"1\n"


@CASES.add(54)
def trusted_shell(backend: Backend) -> None:
    """A trusted command begins where the sandbox does, and knows nothing that an agent has exported."""
    sandbox = backend.open()
    begins = sandbox.execute("pwd").output
    sandbox.execute("mkdir -p deeper && cd deeper && export PATH=/nowhere SPOILT=1 BASH_ENV=x ENV=x; alias ls=false")
    result = sandbox.execute('pwd; echo "spoilt: $SPOILT"; ls >/dev/null && echo listed', trusted=True)
    assert result.output == f"{begins}spoilt: \nlisted\n", result


@CASES.add(55)
def variables(backend: Backend) -> None:
    """Variables of the sandbox and of one command are there, as they are; those of one command do not last."""
    odd = 'it\'s "odd" $HOME `id` \\ \n é'
    sandbox = backend.open(variables={"PLAIN": odd}, secrets={"KEY": "sesame"})
    result = sandbox.execute('printf %s "$PLAIN|$KEY|$ONCE"', variables={"ONCE": odd})
    assert result.output == f"{odd}|sesame|{odd}", result
    assert sandbox.execute('printf %s "$PLAIN|$KEY|$ONCE"').output == f"{odd}|sesame|"


@CASES.add(56)
def state_that_was_spoilt(backend: Backend) -> None:
    """Whatever an agent makes of its own shell's state, the next command runs."""
    sandbox = backend.open()
    sandbox.execute("mkdir gone && cd gone && rm -r ../gone; export PS4=x TMOUT=1 IFS=x; readonly HOME; umask 777")
    result = sandbox.execute("echo works", SOON)
    assert result.output == "works\n", result
    sandbox.execute("kill -KILL $$", SOON)
    result = sandbox.execute("echo works", SOON)
    assert result.output == "works\n", result


@CASES.add(57)
def what_is_told(backend: Backend) -> None:
    """A sandbox says of what environment it is; what of a spec does not hold is among its notes."""
    info = backend.sandbox.info
    assert info.environment == backend.environment.name, info
    if "isolation" not in backend.environment.capabilities:
        assert any("no isolation" in note for note in info.notes), info
    if "limits" in backend.environment.capabilities:
        assert "memory" in info.limits or any("memory" in note for note in info.notes), info


@CASES.add(58, of_image=False)
def what_is_beyond(backend: Backend) -> None:
    """What a spec asks beyond the capabilities is refused, with words, rather than left out."""
    able = backend.environment.capabilities
    if "images" not in able:
        raised(SandboxUnavailable, lambda: backend.open(image="any"))
    if "closed" not in able:
        raised(SandboxUnavailable, lambda: backend.open(closed=("/tests",)))
