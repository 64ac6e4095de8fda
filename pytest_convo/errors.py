"""Every error of pytest-convo, in one tree.

ConvoError
├── FormatError            a file that somebody wrote is not as FORMATS says      → collection error
│   └── FormatErrors       several of them, found in one go
├── SettingsError          a setting, wherever it comes from                      → collection or usage error
├── CannotWatch            the system does not tell what changes in a directory   → usage error
├── HarnessError           nothing was measured: no reply, or none could be judged → outcome `error`
│   ├── ProviderError      the server refused, failed or broke off
│   ├── NoCredentials      a key is needed and not there
│   ├── CapReached         the session may make no further call
│   ├── NoRecording        a request is in no recording, and must not be asked
│   ├── ScriptExhausted    a scripted bot has no answer left
│   ├── PromptOverflow     what a request must say does not fit into its token budget
│   ├── RunTimeout         the run's time was used up
│   ├── RedactionError     what is secret in a text could not be told: it is not written
│   └── CheckError         a check could not be evaluated
│       └── UnusableVerdict  a judge answered, and said neither "pass" nor "fail" so that it counts
└── BotFailure             a valid measurement of a bot that did not do it        → outcome `fail`
    ├── CheckFailed        a check does not hold
    ├── ContextOverflow    the conversation no longer fits the model's context
    ├── FormRefused        a judge's server does not take the form in which the verdict was asked for
    └── TooManyRounds      it went on calling tools

Each says what is wrong, where (file and line), and what to do, in at most three lines; a PromptOverflow has a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


class ConvoError(Exception):
    """What is wrong, where, and what to do.

    `what` is one sentence, `path` and `line` (from 1) say where, `hint` says what to do.
    """

    def __init__(self, what: str, *, path: str | Path | None = None, line: int | None = None, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.path = path
        self.line = line
        self.hint = hint

    def __str__(self) -> str:
        where = "" if self.path is None else f"{self.path}: " if self.line is None else f"{self.path}:{self.line}: "
        return f"{where}{self.what}" + (f"\n  {self.hint}" if self.hint else "")


class FormatError(ConvoError):
    """A file that somebody wrote is not as the format has it."""


class FormatErrors(FormatError):
    """Everything that is wrong with a directory, listed in one go."""

    def __init__(self, errors: Sequence[ConvoError]) -> None:
        super().__init__("\n".join(str(error) for error in errors))
        self.errors = tuple(errors)


class SettingsError(ConvoError):
    """A setting that is unknown or has no usable value."""


class CannotWatch(ConvoError):
    """The system cannot tell, or does not, what changes in a directory."""


class HarnessError(ConvoError):
    """Nothing was measured: the run's outcome is `error`, neither a pass nor a fail."""

    transient = True
    """Whether the same run, tried again, may end otherwise."""


class ProviderError(HarnessError):
    """The server refused, failed or broke off; `status` is its HTTP status, where there was one."""

    def __init__(
        self,
        what: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(what, hint=hint)
        self.status = status
        self.retry_after = retry_after
        self.transient = status is None or status in (408, 409, 429) or status >= 500


class NoCredentials(HarnessError):
    """The server needs a key and the environment has none."""

    transient = False


class CapReached(HarnessError):
    """The session has used up what it may: calls, tokens or US dollars."""

    transient = False


class NoRecording(HarnessError):
    """No recording fits a request, and no model may be asked."""

    transient = False


class ScriptExhausted(HarnessError):
    """A scripted bot was asked for more than its script holds."""

    transient = False


class PromptOverflow(HarnessError):
    """What a request must say does not fit into its token budget; the table of its parts is in what it says."""

    transient = False


class RunTimeout(HarnessError):
    """A run did not end within its `timeout`."""


class RedactionError(HarnessError):
    """A user's redactor failed: the text that it was given may neither be written nor shown."""

    transient = False


class SandboxError(HarnessError):
    """The place in which an agent works failed: never the agent's fault, and never what a command wrote."""

    transient = False


class SandboxUnavailable(SandboxError):
    """There is no engine, no image, or no permission: no sandbox could be made."""


class SandboxDied(SandboxError):
    """A sandbox has gone away while it was used."""

    transient = True


class ToolInstallError(SandboxError):
    """A tool could not be installed, verified or set up: which one, by which command, with which return code."""


class CheckError(HarnessError):
    """A check could not be evaluated."""

    transient = False


class UnusableVerdict(CheckError):
    """A judge's answer that is no verdict."""


class BotFailure(ConvoError):
    """The bot was measured and did not do it: the run's outcome is `fail`."""


class CheckFailed(BotFailure):
    """The bot answered, and a check does not hold."""


class ContextOverflow(BotFailure):
    """The conversation no longer fits the model's context."""


class TooManyRounds(BotFailure):
    """The bot went on calling tools until its rounds were used up."""


class FormRefused(BotFailure):
    """The server does not take the form in which an answer was asked for; it is asked for in another.

    It is among what recordings keep, so that a replay asks in the same forms; nobody but who asks ever sees it.
    """
