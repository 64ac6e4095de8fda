"""`--convo-refine`: when a session has found what fails, mend the prompts that it fails with, one after the other."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ..agreement.verdict import Verdict
from ..options import Options, in_ci
from ..report.directory import ROOT, make_root
from ..report.reporter import Reporter, of
from ..settings.bots import RefineSettings
from .cost import Cost, cost
from .ends import End, Outcome
from .items import Item, Scores
from .journal import Journal, Standing, identity
from .loop import Loop
from .memory import Memory
from .reading import corrections, failing_prompts, items_of, scores_in, settings_of
from .split import split
from .trying import Limits, Place, Sessions
from .words import Done, figures, headline, lines
from .writer import Terms

NOT_TOGETHER = {
    "convo_dry": "--convo-dry",
    "convo_simulate": "--convo-simulate",
    "convo_write": "--convo-write",
    "convo_oracle": "--convo-oracle",
    "convo_baseline": "--convo-baseline",
    "convo_update_baseline": "--convo-update-baseline",
    "update_snapshots": "--snapshot-update",
    "usepdb": "--pdb",
    "trace": "--trace",
    "collectonly": "--collect-only",
}
"""Options whose session finds no failures to mend, or judges them otherwise."""

BOM = "\ufeff"
"""What some editors begin a file with; it is no part of the prompt."""

_RESUMED = (None, str(End.FIXED), str(End.LIMIT), str(End.ERROR))
"""Ends of earlier loops from which one goes on: broken off, found, cut short."""


def require_sense(config: pytest.Config, options: Options) -> None:
    """Raise `pytest.UsageError` where prompts cannot be mended."""
    if reason := next(_reasons(config, options), None):
        raise pytest.UsageError(reason)


def _reasons(config: pytest.Config, options: Options) -> Iterator[str]:
    for name, option in NOT_TOGETHER.items():
        if config.getoption(name, None):
            yield f"--convo-refine and {option} do not go together"
    if options.record == "none":
        yield (
            "--convo-refine asks models, and --convo-record=none, the default in CI, asks nobody\n"
            "  use --convo-record=auto"
        )
    if options.refine == "apply" and in_ci():
        yield "--convo-refine=apply writes prompts, and nobody looks at them in CI: use --convo-refine=suggest there"


class Refining:
    """The plugin of a session after which prompts are mended."""

    def __init__(self, config: pytest.Config, options: Options) -> None:
        require_sense(config, options)
        self._config = config
        self._options = options
        self._done: list[Done] = []
        self._notes: list[str] = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        try:
            result = yield
        except session.Failed:  # -x, --maxfail
            self._notes.append("the session ended early, so that not all is known of what fails")
            raise
        self._refine(of(self._config))
        return result

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for done in self._done:
            terminalreporter.section(f"refine {done.name}", "-")
            for line in lines(done):
                terminalreporter.write_line(line)
        for note in self._notes:
            terminalreporter.write_line(f"refine: {note}")

    def _refine(self, reporter: Reporter) -> None:
        results = reporter.everything
        prompts = failing_prompts(results)
        if not prompts:
            self._notes.append("nothing failed that a prompt file takes part in")
        for prompt in prompts:
            path = Path(prompt)
            if not path.is_relative_to(self._config.rootpath):
                self._notes.append(f"{path} lies outside of the rootdir, and is left alone")
                continue
            try:
                done = self._mend(reporter, path)
            except (OSError, UnicodeError) as error:  # files of the user's, or a full disk
                self._notes.append(f"{path.name} could not be mended: {error}")
                reporter.verdicts.emit(f"{path.name}::refine", "setup", "failed", f"refine: {error}")
                continue
            self._done.append(done)
            reporter.notes.append(f"refine {headline(done)}")
            reporter.refinements.append(figures(done))
            if done.outcome.end is End.ERROR:
                reporter.verdicts.emit(f"{done.name}::refine", "setup", "failed", f"refine: {done.outcome.why}")

    def _mend(self, reporter: Reporter, path: Path) -> Done:
        """One prompt: its loop, from where an earlier one about the same left off, and what comes of it."""
        old, results = path.read_bytes().decode().removeprefix(BOM), reporter.everything
        name = path.relative_to(self._config.rootpath).as_posix()
        everything = items_of(results, str(path), old)
        scores = scores_in(results, everything)
        items = [
            item for item in everything if item.id in scores and scores[item.id].verdict in (Verdict.PASS, Verdict.FAIL)
        ]
        asks, given = settings_of(results, str(path))
        settings = RefineSettings.model_validate(given)
        journal = Journal(self._config.rootpath / ROOT / "refine" / name.replace("/", "-"), old, path)
        make_root(self._config.rootpath, journal.root.parent)
        digest = identity(old, items, given)
        standing = self._standing(journal, digest, items, scores, settings)
        scores = journal.first(scores)
        failing = [id_ for id_, score in scores.items() if not score.passed]
        takes = cost(items, standing.split, failing, settings.attempts)
        limits = self._limits(reporter, settings, standing)
        place = Place(
            self._config.invocation_params.args,
            self._config.invocation_params.dir,
            self._config.rootpath,
            str(path),
            asks,
            given,
            journal.root,
        )
        bench = Sessions(place, limits, standing.spent)
        self._say(f"{name}: {len(standing.split.training)} of {len(items)} cases are shown, {_words(takes, reporter)}")
        if too_small := _too_small(takes, limits, standing, reporter):
            outcome, made = Outcome(End.LIMIT, too_small), 0
        else:
            correction = corrections(results, str(path), standing.split.training)
            terms = Terms(correction, settings.attempts, template=path.suffix == ".j2")
            loop = Loop(
                old,
                items,
                scores,
                terms,
                bench=Memory(bench, journal),
                journal=journal,
                digest=digest,
                standing=standing,
                say=lambda text: self._say(f"{name}: {text}"),
            )
            outcome = self._run(loop, name)
            made = len(loop.tried) - 1
        written = self._apply(path, old, outcome)
        return Done(name, outcome, standing, scores, journal, dict(bench.spent), made, written, self._config.rootpath)

    def _run(self, loop: Loop, name: str) -> Outcome:
        try:
            return loop.run()
        except KeyboardInterrupt:
            made = len(loop.tried) - 1
            self._notes.append(
                f"{name} was broken off after {made} attempt{'' if made == 1 else 's'}; the next --convo-refine goes on"
            )
            raise

    def _standing(
        self, journal: Journal, digest: str, items: list[Item], scores: Scores, settings: RefineSettings
    ) -> Standing:
        """Where an earlier loop about the same stands, or a new one at its beginning."""
        standing = journal.resume(digest)
        if standing is not None and standing.end in _RESUMED and set(standing.split.ids) == {item.id for item in items}:
            self._say("going on with the loop of an earlier session: what it has measured holds")
            return standing
        journal.begin()
        failing = [id_ for id_, score in scores.items() if not score.passed]
        return Standing(split(items, failing, settings.holdout))

    def _limits(self, reporter: Reporter, settings: RefineSettings, standing: Standing) -> Limits:
        """The loop's own limits, and what the session may still spend."""
        spent, before = reporter.spent, standing.spent
        own = Limits(
            settings.max_calls,
            None,
            settings.max_usd,
            None if settings.minutes is None else settings.minutes * 60,
        )
        caps = {
            "calls": (self._options.max_calls, spent.calls),
            "tokens": (self._options.max_tokens, spent.billed.total_tokens),
            "usd": (self._options.max_usd, spent.usd),
        }
        for name, (cap, used) in caps.items():
            if cap is not None:
                left = max(0.0, cap - used) + before.get(name, 0.0)
                given = getattr(own, name)
                own = replace(own, **{name: left if given is None else min(given, left)})
        return own

    def _apply(self, path: Path, old: str, outcome: Outcome) -> str:
        """Write an accepted text where that is asked for; what was done, in words."""
        if not outcome.accepted or outcome.best is None:
            return ""
        if self._options.refine != "apply":
            return "--convo-refine=apply writes it"
        try:
            before = path.read_bytes().decode()
            if before.removeprefix(BOM) != old:
                return "not written: the prompt was edited meanwhile"
            if not os.access(path, os.W_OK):
                return "not written: the file is read-only"
            unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
            unfinished.write_bytes((before[: len(before) - len(old)] + outcome.best.text).encode())
            unfinished.chmod(path.stat().st_mode & 0o7777)
            unfinished.replace(path)
        except OSError as error:
            return f"not written: {error.strerror or error}"
        return "written; the next session runs with it"

    def _say(self, what: str) -> None:
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and reporter.verbosity >= 0:
            if self._config.get_terminal_writer().width_of_current_line:
                reporter.write_line("")
            reporter.write_line(f"refine: {what}")


def _too_small(takes: Cost, limits: Limits, standing: Standing, reporter: Reporter) -> str:
    """Why not even one honest round fits into the limits; empty where it does."""
    if standing.spent.get("calls"):
        return ""  # it has begun, and goes on with what is left
    if limits.calls is not None and limits.calls < takes.least:
        return f"{limits.calls:g} calls are too few for one honest round, which takes {takes.least}"
    spent = reporter.spent
    if limits.usd is not None and spent.calls and spent.usd:
        least = takes.least * spent.usd / spent.calls
        if limits.usd < least:
            return f"${limits.usd:g} is too little for one honest round, which takes about ${least:.2g}"
    return ""


def _words(takes: Cost, reporter: Reporter) -> str:
    """What it takes, in money too where the session's own calls had a price."""
    spent = reporter.spent
    price = spent.usd / spent.calls if spent.calls else 0.0
    money = f", about ${takes.least * price:.2g} to ${takes.most * price:.2g}" if price else ""
    return f"{takes.least} to {takes.most} calls needed{money}"
