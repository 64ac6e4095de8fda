"""What can be said of a whole session: on the command line, in the ini file, in the environment."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import pytest

INCONCLUSIVE = ("error", "fail", "skip")

RecordMode = Literal["none", "auto", "new", "all"]
RECORD: tuple[RecordMode, ...] = get_args(RecordMode)

Sandboxes = Literal["auto", "require", "skip"]
SANDBOX: tuple[Sandboxes, ...] = get_args(Sandboxes)

Refining = Literal["suggest", "apply", "measure"]
REFINE: tuple[Refining, ...] = ("suggest", "apply")
"""What may come of a better prompt."""
MEASURE: Refining = "measure"
"""A session that tries a prompt out, and is started by the one that mends it."""

BASELINE = "convo-baseline.json"
"""The file of the baseline, at the rootdir, unless `--convo-baseline` names another."""

SETTINGS = {
    "runs": "redundant runs of every conversation",
    "agreement": "share of the runs that must pass, as 0.8 or 2/3",
    "model": "the model that is asked",
    "timeout": "limit of one run, all turns, as 120s",
}
"""Settings that the ini file may give as `convo_<name>`, with what each means."""

OF_A_SESSION = {
    "concurrency": "model calls in flight",
    "inconclusive": "error, fail or skip",
    "record": "none, auto, new or all",
    "sandbox": "auto, require or skip",
    "max_usd": "US dollars that a session may cost",
    "max_calls": "model calls that a session may make",
    "max_tokens": "tokens that a session may use",
}
"""Options that the ini file and the environment may give as well."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option of the command line, `--convo-<name>`."""

    name: str
    help: str
    value: str | None = None
    """What stands for its value in the help."""
    how: Mapping[str, Any] = field(default_factory=dict)
    """What else argparse is told of it."""

    def add_to(self, group: pytest.OptionGroup) -> None:
        known = {} if self.value is None else {"metavar": self.value}
        group.addoption(f"--convo-{self.name}", help=self.help, **known, **self.how)


SWITCH = {"action": "store_true"}
"""How an option is taken that has no value."""

AFTER_EQUALS = {"nargs": "?", "const": ""}
"""How an option is taken whose value may be left out, and is given after `=` only: see `unfold`."""

OPTIONS = (
    Option("runs", "redundant runs of every conversation", "N"),
    Option("agreement", "share that must pass: 0.8 or 2/3", "X"),
    Option("model", "ask this model", "M"),
    Option(
        "set", "override any setting of convo.toml, for instance bot.temperature=0", "KEY=VALUE", {"action": "append"}
    ),
    Option("concurrency", "model calls in flight (default: 16)", "K"),
    Option(
        "eager", "start every run at once instead of those the verdict needs first", how={**SWITCH, "default": None}
    ),
    Option("inconclusive", "how an inconclusive verdict counts (default: error)", how={"choices": INCONCLUSIVE}),
    Option(
        "record",
        "none: replay recordings only (default where CI=true); auto: ask for what is not recorded (default); "
        "new: and record that; all: ask everything and record it anew",
        how={"choices": RECORD},
    ),
    Option("max-usd", "spend at most so many US dollars", "USD"),
    Option("max-calls", "make at most so many model calls", "N"),
    Option("max-tokens", "use at most so many tokens", "N"),
    Option("baseline", "fail where the pass rates have fallen below those of this file: the regression gate", "PATH"),
    Option(
        "update-baseline", f"write the pass rates to the file of --convo-baseline (default: {BASELINE})", how=SWITCH
    ),
    Option("non-inferior", "the gate passes only where a fall of D (0.05: five points) can be ruled out", "D"),
    Option("simulate", "print how often the gate would go red for this suite, and why; call nothing", how=SWITCH),
    Option(
        "judge-check",
        "give each judge replies whose verdict is known before it judges any; one that fails judges nothing",
        how=SWITCH,
    ),
    Option("json", "write a report of every group and run as JSON", "PATH"),
    Option("dry", "print every request; call nothing, write nothing", how=SWITCH),
    Option("write", "write the bot's answers into the conversation's directory, at its holes", how=SWITCH),
    Option("next", "with --convo-write: offer an empty next user file after the last answer", how=SWITCH),
    Option(
        "trunc",
        "with --convo-write: remove the answers after the message that was edited (in watch), or after index N",
        "N",
        AFTER_EQUALS,
    ),
    Option("trunc-all", "with --convo-trunc: remove every message after that point, not only answers", how=SWITCH),
    Option(
        "fork",
        "as --convo-trunc, and keep the conversation as it was in a directory beside it: refund-0001",
        "N",
        AFTER_EQUALS,
    ),
    Option(
        "refine",
        "mend the prompts that cases fail with, and print a diff (suggest, the default) or write it (apply)",
        "MODE",
        AFTER_EQUALS,
    ),
    Option("watch", "stay, and run what an edit concerns as soon as it is saved", how=SWITCH),
    Option("watch-queue", "with --convo-watch: let what is running end before an edit of it runs", how=SWITCH),
    Option(
        "watch-poll",
        "with --convo-watch: look for edits every S seconds (default: 1), where the system does not tell of them",
        "S",
        AFTER_EQUALS,
    ),
    Option("watch-tools", "with --convo-watch: ask before a tool's result is sent to the bot", how=SWITCH),
    Option(
        "sandbox",
        "agents' tasks where no container engine answers: auto skips them, and is require where CI=true (default); "
        "require: each run is an error; skip",
        how={"choices": SANDBOX},
    ),
    Option("oracle", "run the solution of each task in the agent's place: it must pass, and nothing else", how=SWITCH),
    Option("keep-sandbox", "leave the sandboxes of agents that failed, and print how to enter them", how=SWITCH),
    Option("prune", "remove the images that were made for tasks and tools, and end", how=SWITCH),
    Option("explain", "print each setting of the given directories with the place it came from", how=SWITCH),
    Option("schema", "print the JSON schema of convo.toml", how=SWITCH),
)
"""The options of the command line, in the order of its help."""


def unfold(early_config: pytest.Config, parser: pytest.Parser, args: list[str]) -> None:
    """Have no option whose value may be left out take the path behind it for its value.

    To argparse `--convo-trunc convos/` and `--convo-trunc=convos/` are one, so the first becomes `--convo-trunc=`.
    """
    names = {f"--convo-{option.name}" for option in OPTIONS if option.how is AFTER_EQUALS}
    end = args.index("--") if "--" in args else len(args)
    bare = [place for place, argument in enumerate(args[:end]) if argument in names]
    for place in bare:
        args[place] += "="
    if bare:
        namespace = copy.copy(early_config.option)
        early_config.known_args_namespace = parser.parse_known_args(args, namespace=namespace)


def add_options(parser: pytest.Parser) -> None:
    """Register everything that a user can set for a whole session."""
    group = parser.getgroup("convo", "conversations with language models")
    for option in OPTIONS:
        option.add_to(group)
    for name, what in {**SETTINGS, **OF_A_SESSION}.items():
        parser.addini(f"convo_{name}", f"pytest-convo: {what}", type="string", default=None)
    parser.addini("convo_eager", "pytest-convo: start every run at once", type="bool", default=False)
