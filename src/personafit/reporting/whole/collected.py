"""What a collected report is made of: runs of every kind, studies, audits, measured extraction, error flows, training."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from personafit.reporting.agree_ratings import Source
from personafit.reporting.figures import Drawn, draw_figures
from personafit.reporting.results import Result, RunScores, load_scores, run_results
from personafit.reporting.scores import held_answers
from personafit.reporting.totals import RunTotals, load_totals
from personafit.statistics.decisions import MARGIN
from personafit.store import RunRecord, Store

if TYPE_CHECKING:
    from personafit.reporting.dialogues.run_report import DialogueReport
    from personafit.reporting.injection.run_report import InjectionReport
    from personafit.reporting.plain_report import PlainReport
    from personafit.reporting.preference.run_report import PreferenceReport
    from personafit.reporting.relevance.run_report import RelevanceReport
    from personafit.reporting.whole.audits import ReadAudit
    from personafit.reporting.whole.curves import Training
    from personafit.reporting.whole.fitted import RaterCard
    from personafit.reporting.writing.run_report import WritingReport


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
    others: dict[str, "PlainReport"] = field(default_factory=dict)
    """Runs of kinds that packages bring."""
    agreement: dict[str, Source] = field(default_factory=dict)
    """Studies and benchmark folders with votes; what the raters of a run agree on comes with the run."""
    studies: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """Where each study stands, as `label status --json` says it."""
    audits: dict[str, "ReadAudit"] = field(default_factory=dict)
    flows: dict[str, list[Result]] = field(default_factory=dict)
    extractions: dict[str, list[Result]] = field(default_factory=dict)
    trainings: dict[str, "Training"] = field(default_factory=dict)
    fitted: dict[str, "RaterCard"] = field(default_factory=dict)
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
            self.others,
            self.agreement,
            self.audits,
            self.flows,
            self.extractions,
            self.trainings,
            self.fitted,
        ]
        return [name for part in parts for name in part]
