"""Suites: every run of a suite, one table of their results, and one report."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import orjson
from rich.table import Table
from rich.text import Text

from personafit._errors import UserError, writing
from personafit._names import inside
from personafit.api.evaluating import Evaluation, carry_out, evaluation_of
from personafit.api.gate import check_bars, gated, say_end_of
from personafit.api.places import HOME, hint, make_folder, out_folder
from personafit.api.run import Run
from personafit.benchmarks.config import RunConfig
from personafit.benchmarks.lamp import COPIES
from personafit.benchmarks.suite import Suite
from personafit.kinds import find_kind
from personafit.reports import Result
from personafit.reports.assertions import Undecided
from personafit.reports.claims import line_name
from personafit.reports.junit import RunCheck, write_suites
from personafit.reports.naming import NamedRun, apart
from personafit.store import Status, Store

POINTS = ("rating", "personalization", "naturalness", "coherence")  # on scales of their own


COPIED = tuple(COPIES.values())  # controls that nobody in particular wrote


class SuiteResult(NamedTuple):
    """The outcome of one run of a suite."""

    config: RunConfig
    run: Run
    version: str
    """Of the benchmark's data."""


class SuiteRunner:
    """Runs a suite on a store; what the command line says of all runs is given here."""

    def __init__(
        self,
        suite: Suite,
        name: str,
        limit: int | None,
        budget: float | None,
        retry: frozenset[Status],
        undecided: Undecided = Undecided.FAIL,
        bars: Sequence[str] = (),
        reuse: bool = False,
    ) -> None:
        self.suite = suite
        self._name = name
        self._budget = budget
        self._undecided = undecided
        self.failed: list[tuple[str, str]] = []
        """Runs that could not be made, and why."""
        self._plans: list[Evaluation] = []
        unfit: dict[str, UserError] = {}
        fitting: set[str] = set()
        for config, own in self.suite.runs:  # what is missing is found before hours of other runs
            try:
                ready = evaluation_of(replace(config, retry=retry, limit=limit or config.limit))
            except UserError as error:
                if config.log is None:
                    raise
                self.failed.append((config.benchmark, str(error)))  # answers of a step that went wrong
                continue
            held = list(own)
            for bar in bars:  # a run is held against those bars that are on its metrics and slices
                try:
                    check_bars(ready, [bar])
                except UserError as error:
                    unfit[bar] = error
                else:
                    held.append(bar)
            fitting.update(held)
            self._plans.append(gated(ready, list(dict.fromkeys(held)), reuse, fresh=bool(bars)))
        for bar in unfit.keys() - fitting:
            raise unfit[bar]

    def estimate(self, store: Store) -> str:
        """What all runs would take."""
        return "\n".join(ready.estimate(store) for ready in self._plans)

    def run(self, store: Store) -> tuple[list[SuiteResult], int]:
        """Carry all runs out, each from wherever it stands; returns what came of them and the exit code."""
        came: list[SuiteResult] = []
        code, spent = 0, 0.0
        for name, said in self.failed:
            hint(f"personafit: {name}: {said}")
            code = 2
        for ready in self._plans:
            config = ready.config
            rest = None if self._budget is None else max(0.0, self._budget - spent)
            try:
                done = carry_out(replace(ready, config=replace(config, budget=rest)), store)
            except UserError as error:  # one run that cannot be is no reason to lose the others
                hint(f"personafit: {_called(config)}: {error}")
                self.failed.append((_called(config), str(error)))
                code = max(code, error.code)
                continue
            spent += done.cost
            if done.judged:
                done.write(out_folder(None, done.name))
                version = str(store.dataset_info(done.record.dataset)["version"])
                came.append(SuiteResult(config, done, version))
            ending = say_end_of(done, self._undecided)
            code = max(code, ending)
            if done.interrupted:
                return came, ending
        return came, code

    def write_junit(self, came: Sequence[SuiteResult], path: Path) -> None:
        """Write all runs as one file for CI."""
        made = [
            RunCheck(
                run.name, run.figures, run.verdict.gate, missed=run.coverage_gap, undecided=self._undecided
            )
            for _, run, _ in came
        ]
        write_suites(path, [*made, *(RunCheck(name, error=said) for name, said in self.failed)])

    def write(self, store: Store, came: Sequence[SuiteResult], out: Path | None) -> Path:
        """Write the collected page and all numbers; returns where the page is."""
        from personafit.api.report import collect_parts
        from personafit.reports.report_page import write_page

        folder = out or inside(HOME / "suites", self._name)
        make_folder(folder)
        page = folder / "report.html"
        with writing(folder):
            write_page(collect_parts([one.run.name for one in came], store), page, self.suite.title)
            (folder / "results.json").write_bytes(self.body(came))
        return page

    def body(self, came: Sequence[SuiteResult]) -> bytes:
        """All numbers as one object: the suite, and of each run what `--json` prints of it, and the version of its benchmark."""
        runs = [
            {**one.run.as_dict(), "benchmark": one.config.benchmark, "version": one.version} for one in came
        ]
        return orjson.dumps({"suite": self.suite.title, "runs": runs}, option=orjson.OPT_INDENT_2)


def suite_table(title: str, came: Sequence[SuiteResult]) -> Table:
    """One line for every rater of every run: its score, what the best control scores, and what the person adds."""
    said = Text(f"{title}: in %, ratings in points; 95 % interval in brackets")
    table = Table(title=said, title_justify="left")
    for heading in ("benchmark", "rater", "context", "metric"):
        table.add_column(heading, overflow="fold")
    for heading in ("score", "best control", "lift", "coverage", "people"):
        table.add_column(heading, justify="right", no_wrap=heading != "best control")
    for name, one in zip(suite_names(came), came, strict=True):
        table.add_section()
        for head, lift, control in _lines(one):
            cells = (
                name,
                (head.rater if head.system is None else line_name(head.rater, head.system, head.given)) or "",
                head.view or "",
                head.metric,
                _number(head),
                f"{_number(control, bare=True)} {control.rater or ''} ({control.control})" if control else "",
                _number(lift, signed=True) if lift else "",
                "" if head.coverage is None else f"{100 * head.coverage:.1f}",
                str(head.people),
            )
            table.add_row(*map(Text, cells))  # a name in brackets is no markup
    return table


def suite_names(came: Sequence[SuiteResult]) -> list[str]:
    """A name for each run of a suite by which a reader can tell it from the others."""
    return apart([NamedRun(_called(one.config), one.version, one.run.name) for one in came])


def _called(config: RunConfig) -> str:
    """What a run is called: its benchmark, and the kind of its items where it was asked for."""
    return f"{config.benchmark} ({config.kind})" if config.kind else config.benchmark


def _lines(came: SuiteResult) -> list[tuple[Result, Result | None, Result | None]]:
    """The headline of each rater that was asked for, its lift, and the best control; controls alone where nobody was asked."""
    totals = [result for result in came.run.figures if not result.slice]
    kind = came.run.kind
    wanted = ("accuracy", "win_rate") if kind == "choice" else find_kind(kind).bars
    metric = next((name for name in wanted if any(r.metric == name for r in totals)), "")
    heads = [result for result in totals if result.metric == metric]
    controls = [result for result in heads if result.control and result.value is not None]
    lifts = {(r.rater, r.system, r.given, r.view): r for r in totals if r.metric == "lift"}
    asked = [result for result in heads if not result.control]
    return [
        (head, lifts.get((head.rater, head.system, head.given, head.view)), _best(head, controls))
        for head in asked or controls
    ]


def _best(head: Result, controls: Sequence[Result]) -> Result | None:
    """The best that scores without understanding: a rule, or the same rater without the person or with the wrong one."""
    fair = [
        control
        for control in controls
        if control is not head
        and (control.system == head.system or control.control in COPIED)
        and (control.rater == head.rater or control.control not in ("no view", "wrong person"))
    ]
    return max(fair, key=lambda control: control.value or 0.0, default=None)


def _number(result: Result, signed: bool = False, bare: bool = False) -> str:
    if result.value is None:
        return "–"
    scale = 1 if result.metric in POINTS else 100
    text = f"{scale * result.value:+.1f}" if signed else f"{scale * result.value:.1f}"
    if bare or result.low is None or result.high is None:
        return text
    return f"{text} [{scale * result.low:.1f}–{scale * result.high:.1f}]"
