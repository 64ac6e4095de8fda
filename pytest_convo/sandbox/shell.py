"""What runs in a sandbox around an agent's commands, in words that dash, bash and busybox's ash have in common.

No terminal and no prompt: of shells that are typed into, every project that has tried it lost output or a session to a
pager, a `set -e` or a prompt that was redefined. Each command has a shell of its own; what lasts is saved in between.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from shlex import quote

_DEAF = "trap '' INT TERM HUP QUIT USR1 USR2 ALRM PIPE; trap 'exec sh -c \"$0\" \"$0\"' EXIT; "

KEEPER = f"{_DEAF}exec 3<&0; while :; do cat <&3 >/dev/null & wait $!; [ $? -eq 0 ] && trap - EXIT && exit 0; done"
"""Process 1 of a container, `sh -c KEEPER KEEPER`: it lives as long as we hold its input open, and reaps every orphan.

At the end of its input `cat` returns 0 and so the container ends, also where our process was killed: a dead man's
switch. A `cat` that was killed by the agent, or with all else by us, is started again; where there is no room for a
process in that moment the shell ends, and begins anew in the same process. `sleep` or `tail` in its place reap nothing,
and 60 orphans exhaust a limit of 64 processes; an `init` ends when its child is killed.
"""

STAYER = f"{_DEAF}while :; do sleep 60 & wait $!; done"
"""Process 1 of a container that may be left: it reaps as KEEPER does, and lives until somebody removes it."""

KILL_EVERYTHING = "kill -KILL -1"
"""Spares process 1 and the caller; reaches what has left its group, its session or its environment behind."""

_WRAP = """
convo_script=$(head -c "$1") || exit 126;
exec </dev/null;
printf %s "$2";
cd "$3" 2>/dev/null || cd /;
convo_state=$4;
if [ -n "$convo_state" ]; then
 [ -f "$convo_state/env" ] && [ "$(. "$convo_state/env" >/dev/null 2>&1; echo sound)" = sound ]
 && . "$convo_state/env" 2>/dev/null;
 [ -f "$convo_state/cwd" ] && [ -s "$convo_state/cwd" ] && cd "$(cat "$convo_state/cwd")" 2>/dev/null;
 trap 'convo_code=$?; trap - EXIT; {
 pwd >"$convo_state/cwd"; (unset -v convo_state $convo_given; export -p) >"$convo_state/env";
 } 2>/dev/null; exit $convo_code' EXIT;
fi;
set --;
convo_given=;
eval "$convo_script"
"""

WRAP = " ".join(_WRAP.split("\n")).strip()
"""Runs one script: `sh -c WRAP sh LENGTH READY WORKDIR STATE`, with the script, so many bytes of it, on its input.

The script comes over the input because an argument may have 128 KiB at most, because it is in no list of processes
then, and because nothing can be written before its writer holds the stream: docker-py loses what comes earlier
(docker-py#3332). `READY` is written to the output first, as a sign that a shell has begun.

`STATE` is a directory that keeps working directory and exported variables until the next command; empty, nothing is
kept and nothing known of earlier ones. An agent can write to it and may spoil it: what was saved is tried in a subshell
first, so that a file that was cut off, or ends the shell, is as none. All stands in one line, so that the numbers of
lines in a shell's messages are those of the script.
"""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_name(name: str) -> bool:
    """Whether a shell can have a variable of that name."""
    return _NAME.fullmatch(name) is not None


def script(command: str, given: Mapping[str, str]) -> bytes:
    """What WRAP is to read: the command, with variables that are given to this command and not kept after it.

    They come in the script rather than in the engine's request: there a single one of more than 128 KiB stops the
    shell from being started, here it stops only the programs that would have to take it. And they come after what was
    saved, so that nothing that an agent has exported earlier stands in for them.
    """
    names = [name for name in given if is_name(name)]
    exports = "".join(f"export {name}={quote(given[name])}; " for name in names)
    kept_out = f"convo_given={quote(' '.join(names))}; " if names else ""
    return f"{exports}{kept_out}{command}\n".encode(errors="surrogateescape")
