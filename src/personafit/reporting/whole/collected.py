"""What a collected report is made of: runs of every kind, studies, audits, measured extraction, error flows, training."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from personafit._errors import UserError
from personafit.reporting.agree_ratings import Source
from personafit.reporting.figures import Drawn, draw_figures
from personafit.reporting.results import Result, RunScores, load_scores, run_results
from personafit.reporting.run_report import open_report
from personafit.reporting.scores import held_answers
from personafit.reporting.totals import RunTotals, load_totals
from personafit.reporting.whole.audits import FILE as AUDIT
from personafit.reporting.whole.audits import ReadAudit, read_audit
from personafit.reporting.whole.curves import Training, is_training, read_training
from personafit.reporting.whole.fitted import FittedRater, is_fitted, read_fitted
from personafit.statistics.decisions import MARGIN
from personafit.store import RunRecord, Store

if TYPE_CHECKING:
    from personafit.reporting.dialogues.run_report import DialogueReport
    from personafit.reporting.injection.run_report import InjectionReport
    from personafit.reporting.preference.run_report import PreferenceReport
    from personafit.reporting.relevance.run_report import RelevanceReport
    from personafit.reporting.writing.run_report import WritingReport

FLOW, EXTRACTION = "flow", "extraction"


@dataclass
class ChoiceRun:
    """A run in which raters chose: its sums, its numbers, and its items one by one for the analyses that need them."""

    store: Store
    run: RunRecord

    @cached_property
    def totals(self) -> RunTotals:
        """The sums."""
        return load_totals(self.store, self.run)

    @cached_property
    def results(self) -> list[Result]:
        """The numbers."""
        return run_results(self.totals)

    @cached_property
    def drawn(self) -> list[Drawn]:
        """The figures."""
        return draw_figures(self.totals, self.results, self.totals.headline_view)

    @cached_property
    def scores(self) -> RunScores:
        """The items."""
        return load_scores(self.store, self.run, held_answers(self.store, self.totals))


@dataclass
class Collected:
    """Everything given, by kind, each part under its name."""

    store: Store
    choices: dict[str, ChoiceRun] = field(default_factory=dict)
    dialogues: dict[str, "DialogueReport"] = field(default_factory=dict)
    relevance: dict[str, "RelevanceReport"] = field(default_factory=dict)
    preferences: dict[str, "PreferenceReport"] = field(default_factory=dict)
    injections: dict[str, "InjectionReport"] = field(default_factory=dict)
    writings: dict[str, "WritingReport"] = field(default_factory=dict)
    agreement: dict[str, Source] = field(default_factory=dict)
    """Studies and benchmark folders with votes; what the raters of a run agree on comes with the run."""
    studies: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """Where each study stands, as `label status --json` says it."""
    audits: dict[str, ReadAudit] = field(default_factory=dict)
    flows: dict[str, list[Result]] = field(default_factory=dict)
    extractions: dict[str, list[Result]] = field(default_factory=dict)
    trainings: dict[str, Training] = field(default_factory=dict)
    fitted: dict[str, FittedRater] = field(default_factory=dict)
    commands: dict[str, str] = field(default_factory=dict)
    """What makes a folder's part again, where its file says so."""
    margin: float = MARGIN
    """Differences within this count as none in equivalence tests."""

    @property
    def names(self) -> list[str]:
        """What the report is of, in the order of its chapters."""
        parts: list[dict[str, Any]] = [
            self.choices,
            self.dialogues,
            self.relevance,
            self.preferences,
            self.injections,
            self.writings,
            self.agreement,
            self.audits,
            self.flows,
            self.extractions,
            self.trainings,
            self.fitted,
        ]
        return [name for part in parts for name in part]

    def add_run(self, run: RunRecord) -> None:
        """A run of any kind that has been judged."""
        kind = run.config.get("kind", "choice")
        parts: dict[str, dict[str, Any]] = {
            "dialogue": self.dialogues,
            "relevance": self.relevance,
            "preference": self.preferences,
            "injection": self.injections,
            "writing": self.writings,
        }
        if kind == "choice":
            self.choices[run.name] = ChoiceRun(self.store, run)
        elif kind in parts:
            parts[kind][run.name] = open_report(self.store, run)
        else:
            raise UserError(f"{run.name} is a {kind} run, which no chapter of a collected report shows.")

    def add_folder(self, folder: Path) -> bool:
        """A folder of `audit`, `extraction flow`, `extraction measure` or `train`; False where it is none of these."""
        if is_training(folder):
            self.trainings[_name(folder)] = read_training(folder)
            return True
        if is_fitted(folder):
            self.fitted[_name(folder)] = read_fitted(folder)
            return True
        if (folder / AUDIT).is_file():
            self.audits[_name(folder)] = read_audit(folder / AUDIT)
            return True
        measured = _measured(folder)
        if measured is None:
            return False
        kind, results, command = measured
        (self.flows if kind == FLOW else self.extractions)[_name(folder)] = results
        if command is not None:
            self.commands[_name(folder)] = command
        return True


def _name(folder: Path) -> str:
    return folder.resolve().name


def _measured(folder: Path) -> tuple[str, list[Result], str | None] | None:
    path = folder / "results.json"
    if not path.is_file():
        return None
    try:
        body = orjson.loads(path.read_bytes())
        if body["benchmark"] not in (FLOW, EXTRACTION):
            return None
        return body["benchmark"], [Result(**row) for row in body["results"]], body.get("command")
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise UserError(
            f"{path} cannot be read ({error}); make it again with `personafit extraction`."
        ) from error
