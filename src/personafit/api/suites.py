"""Suites: every run of a suite, one table of their results, and one report."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from personafit._errors import UserError, writing
from personafit._names import inside
from personafit.api.evaluating import Evaluation, carry_out, prepare
from personafit.api.gate import check_bars, gated, run_check, say_end_of
from personafit.api.places import HOME, hint, make_folder, out_folder
from personafit.api.run import Run
from personafit.benchmarks import is_file
from personafit.benchmarks.config import RunConfig
from personafit.benchmarks.suite import Suite
from personafit.reports.gate import RunCheck, Undecided, write_junit
from personafit.reports.pieces import Grid
from personafit.store import Status, Store


class SuiteRunner:
    """Runs a suite on a store; what the command line says of all runs is given here."""

    def __init__(
        self,
        suite: Suite,
        limit: int | None,
        budget: float | None,
        retry: Sequence[Status],
        undecided: Undecided = Undecided.FAIL,
        bars: Sequence[str] = (),
        reuse: bool = False,
    ) -> None:
        self.suite = suite
        self._budget = budget
        self._undecided = undecided
        self.failed: list[tuple[str, str]] = []
        """Runs that could not be made, and why."""
        self._plans: list[Evaluation] = []
        unfit: dict[str, UserError] = {}
        fitting: set[str] = set()
        for one in self.suite.runs:  # what is missing is found before hours of other runs
            asked = one.arguments | {"retry": retry, "limit": limit or one.arguments["limit"]}
            try:
                ready = prepare(one.benchmark, **asked)
            except UserError as error:
                if not is_file(one.benchmark):
                    raise
                self.failed.append(("answers", str(error)))  # answers of a step that went wrong
                continue
            held = list(one.bars)
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

    def run(self, store: Store) -> tuple[list[Run], int]:
        """Carry all runs out, each from wherever it stands; returns those that were judged and the exit code."""
        judged: list[Run] = []
        code, spent = 0, 0.0
        for name, said in self.failed:
            hint(f"personafit: {name}: {said}")
            code = 2
        for ready in self._plans:
            rest = None if self._budget is None else max(0.0, self._budget - spent)
            try:
                done = carry_out(replace(ready, config=replace(ready.config, budget=rest)), store)
            except UserError as error:  # one run that cannot be is no reason to lose the others
                name = _name(ready.config)
                hint(f"personafit: {name}: {error}")
                self.failed.append((name, str(error)))
                code = max(code, error.code)
                continue
            spent += done.cost
            if done.judged:
                done.write(out_folder(None, done.name))
                judged.append(done)
            ending = say_end_of(done, self._undecided)
            code = max(code, ending)
            if done.interrupted:
                return judged, ending
        return judged, code

    def write_junit(self, runs: Sequence[Run], path: Path) -> None:
        """Write all runs as one file for CI."""
        checks = [run_check(run, self._undecided) for run in runs]
        write_junit(path, [*checks, *(RunCheck(name, error=said) for name, said in self.failed)])

    def write(self, store: Store, runs: Sequence[Run], out: Path | None, name: str) -> tuple[Path, Grid]:
        """Write the collected page and all numbers; returns where the page is, and the table of all results."""
        from personafit.api.report import collect_parts
        from personafit.reports.report_page import summary_grid, write_page

        folder = out or inside(HOME / "suites", name)
        make_folder(folder)
        parts = collect_parts([run.name for run in runs], store)
        with writing(folder):
            write_page(parts, folder / "report.html", self.suite.title)
            body = orjson.dumps(self.as_dict(runs), option=orjson.OPT_INDENT_2)
            (folder / "results.json").write_bytes(body)
        return folder / "report.html", summary_grid(parts, self.suite.title)

    def as_dict(self, runs: Sequence[Run]) -> dict[str, Any]:
        """The suite as the one object that `--json` prints, with what it prints of each run."""
        return {"suite": self.suite.title, "runs": [run.as_dict() for run in runs]}


def _name(config: RunConfig) -> str:
    """What a run is called: its benchmark, and the kind of its items where it was asked for."""
    return f"{config.benchmark} ({config.kind})" if config.kind else config.benchmark
