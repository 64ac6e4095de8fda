"""What a sandbox cannot reach: the machine's files, its network, its privileges, and what keeps the sandbox alive."""

from __future__ import annotations

import os
import socket

from .backend import Backend
from .case import Cases
from .seen import LONG, SOON, assert_gone, assert_timed_out, assert_works, mark

CASES = Cases()

SIGNALS = ("KILL", "TERM", "INT", "HUP", "STOP", "QUIT", "USR1", "SEGV", "ABRT", "CHLD", "TSTP")


@CASES.add(25, "isolation")
def files_of_the_image(backend: Backend) -> None:
    """The image's own files are not writable, unless that was asked for."""
    result = backend.sandbox.execute("echo x >/usr/x || echo x >/etc/x")
    assert result.return_code not in (0, None), result
    assert "read-only" in result.error.lower(), result


@CASES.add(27, "isolation")
def signals_to_everything(backend: Backend) -> None:
    """No signal to the first process, or to all of them, ends the sandbox."""
    sandbox = backend.open()
    sent = "; ".join(f"kill -{name} 1" for name in SIGNALS)
    assert sandbox.execute(sent, SOON).killed is None
    for name in SIGNALS:
        if name not in ("STOP", "TSTP"):  # they would stop the shell itself
            sandbox.execute(f"kill -{name} -1", SOON)
    assert_works(sandbox)


@CASES.add(29, "no_network")
def no_network(backend: Backend) -> None:
    """There is no interface but the loopback, and nobody to connect to, this machine neither."""
    with socket.create_server(("0.0.0.0", 0)) as server:  # noqa: S104  # to be reached, if anything could be
        server.settimeout(0.1)
        port = server.getsockname()[1]
        shown = backend.sandbox.execute("cat /proc/net/dev; grep -c . /proc/net/route")
        interfaces = [line.partition(":")[0].strip() for line in shown.output.splitlines() if ":" in line]
        assert interfaces == ["lo"], shown
        for host in (*_addresses(), "127.0.0.1", "192.0.2.2"):
            script = f"(exec 3<>/dev/tcp/{host}/{port}) 2>/dev/null || nc -w 1 {host} {port} </dev/null"
            result = backend.sandbox.execute(script, SOON)
            assert result.return_code not in (0, None), (host, result)
        try:
            server.accept()
        except TimeoutError:
            return
    msg = "a connection came from the sandbox"
    raise AssertionError(msg)


@CASES.add(30, "isolation")
def no_privileges(backend: Backend) -> None:
    """No capabilities and none to be had, no mounting, and no socket of the engine."""
    result = backend.sandbox.execute(
        "grep -E 'CapEff|CapPrm|NoNewPrivs' /proc/self/status; mount -t tmpfs none /tmp; echo mount=$?; "
        "ls /var/run/docker.sock /run/docker.sock /run/podman/podman.sock"
    )
    for line in ("CapEff:\t0000000000000000", "CapPrm:\t0000000000000000", "NoNewPrivs:\t1"):
        assert line in result.output.splitlines(), result
    assert "mount=0" not in result.output, result
    assert ".sock\n" not in result.output, result


@CASES.add(48, "isolation", of_image=False)
def user_without_a_name(backend: Backend) -> None:
    """A user whom the image does not know can work."""
    folder = backend.folder({"file": "text"})
    folder.chmod(0o777)
    sandbox = backend.open(user="23456:23456", folder=folder, permission="READ_WRITE")
    result = sandbox.execute("id -u; id -g; whoami; cat file && echo more >new && cat new; cd && echo at home")
    assert result.output.startswith("23456\n23456\n"), result
    assert result.output.endswith("textmore\nat home\n"), result
    assert_works(sandbox)


@CASES.add(49, "isolation")
def empty_environments(backend: Backend) -> None:
    """What was started with an empty environment, in a session of its own, is killed too when the time is up."""
    this = mark()
    script = f"(setsid env -i /bin/sh -c 'sleep {LONG}; :' {this} &); sleep {LONG}"
    assert_timed_out(backend.sandbox.execute(script, 1))
    assert_gone(backend.sandbox, this)


@CASES.add(50, "isolation", of_image=False)
def variables_of_this_machine(backend: Backend) -> None:
    """No variable of this process is seen in a sandbox: keys are among them."""
    os.environ["CONVO_CONFORMANCE"] = this = mark()
    try:
        result = backend.open().execute("env; cat /proc/1/environ")
    finally:
        del os.environ["CONVO_CONFORMANCE"]
    assert this not in result.output, result


def _addresses() -> list[str]:
    """Addresses of this machine, of which one leads out of it where there is a way out."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.2", 9))  # sends nothing
        except OSError:
            return []
        return [probe.getsockname()[0]]
