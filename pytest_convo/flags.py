"""What can be said of a whole session: on the command line, in the ini file, in the environment."""

from __future__ import annotations

from typing import Literal, get_args

import pytest

INCONCLUSIVE = ("error", "fail", "skip")

RecordMode = Literal["none", "auto", "new", "all"]
RECORD: tuple[RecordMode, ...] = get_args(RecordMode)

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
    "max_usd": "US dollars that a session may cost",
    "max_calls": "model calls that a session may make",
    "max_tokens": "tokens that a session may use",
}
"""Options that the ini file and the environment may give as well."""


def add_options(parser: pytest.Parser) -> None:
    """Register everything that a user can set for a whole session."""
    group = parser.getgroup("convo", "conversations with language models")
    add = group.addoption
    add("--convo-runs", metavar="N", dest="convo_runs", help="redundant runs of every conversation")
    add("--convo-agreement", metavar="X", dest="convo_agreement", help="share that must pass: 0.8 or 2/3")
    add("--convo-model", metavar="M", dest="convo_model", help="ask this model")
    add(
        "--convo-set",
        metavar="KEY=VALUE",
        dest="convo_set",
        action="append",
        help="override any setting of convo.toml, for instance bot.temperature=0",
    )
    add("--convo-concurrency", metavar="K", dest="convo_concurrency", help="model calls in flight (default: 16)")
    add(
        "--convo-eager",
        dest="convo_eager",
        action="store_true",
        default=None,
        help="start every run at once instead of those the verdict needs first",
    )
    add(
        "--convo-inconclusive",
        dest="convo_inconclusive",
        choices=INCONCLUSIVE,
        help="how an inconclusive verdict counts (default: error)",
    )
    add(
        "--convo-record",
        dest="convo_record",
        choices=RECORD,
        help="none: replay recordings only (default where CI=true); auto: ask for what is not recorded (default); "
        "new: and record that; all: ask everything and record it anew",
    )
    add("--convo-max-usd", metavar="USD", dest="convo_max_usd", help="spend at most so many US dollars")
    add("--convo-max-calls", metavar="N", dest="convo_max_calls", help="make at most so many model calls")
    add("--convo-max-tokens", metavar="N", dest="convo_max_tokens", help="use at most so many tokens")
    add(
        "--convo-baseline",
        metavar="PATH",
        dest="convo_baseline",
        help="fail where the pass rates have fallen below those of this file: the regression gate",
    )
    add(
        "--convo-update-baseline",
        dest="convo_update_baseline",
        action="store_true",
        help=f"write the pass rates to the file of --convo-baseline (default: {BASELINE})",
    )
    add(
        "--convo-non-inferior",
        metavar="D",
        dest="convo_non_inferior",
        help="the gate passes only where a fall of D (0.05: five points) can be ruled out",
    )
    add(
        "--convo-simulate",
        dest="convo_simulate",
        action="store_true",
        help="print how often the gate would go red for this suite, and why; call nothing",
    )
    add(
        "--convo-judge-check",
        dest="convo_judge_check",
        action="store_true",
        help="give each judge replies whose verdict is known before it judges any; one that fails judges nothing",
    )
    add("--convo-json", metavar="PATH", dest="convo_json", help="write a report of every group and run as JSON")
    add("--convo-dry", dest="convo_dry", action="store_true", help="print every request; call nothing, write nothing")
    add(
        "--convo-explain",
        dest="convo_explain",
        action="store_true",
        help="print each setting of the given directories with the place it came from",
    )
    add("--convo-schema", dest="convo_schema", action="store_true", help="print the JSON schema of convo.toml")
    for name, what in SETTINGS.items():
        parser.addini(f"convo_{name}", f"pytest-convo: {what}", type="string", default=None)
    for name, what in OF_A_SESSION.items():
        parser.addini(f"convo_{name}", f"pytest-convo: {what}", type="string", default=None)
    parser.addini("convo_eager", "pytest-convo: start every run at once", type="bool", default=False)
