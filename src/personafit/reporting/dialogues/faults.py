"""The audit of the simulated user, and the score without the dialogues it spoilt."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from personafit.kinds.lines import Line, Metric, RunLines
from personafit.raters.dialogues.counting import UserFaults, user_faults
from personafit.reporting.dialogues.loading import DialogueRun
from personafit.reporting.dialogues.results import DIALOGUE_METRICS, HEADLINES
from personafit.reporting.line_results import record
from personafit.reporting.result import Result
from personafit.statistics import Estimate

FAULTS = {
    "contradicted": "said something against its own profile",
    "leaked": "told preferences unasked in its first turn",
    "early": "was satisfied although the judges say the task was not done",
    "late": "went on although there was nothing left to do",
    "echoed": "repeated the assistant or spoke in its role",
}


# Leaving out what the judges called undone would raise the score by itself, so `early` and `late` leave nothing out.
SPOILING = frozenset({"contradicted", "leaked", "echoed"})


@dataclass(frozen=True)
class SimulatorAudit:
    """What the simulated users did wrong."""

    faults: Mapping[str, UserFaults]
    """Dialogue id to its user's faults, for dialogues that ran to an end."""

    def count(self, kind: str, items: set[str]) -> int:
        """How many of these dialogues have that fault."""
        return sum(kind in self.faults[item].found for item in items if item in self.faults)

    def spoilt(self, item: str) -> bool:
        """Whether a dialogue has a fault that is told without the judges."""
        return item in self.faults and any(kind in SPOILING for kind in self.faults[item].found)


def audit_simulator(run: DialogueRun) -> SimulatorAudit:
    """Look for the user's faults in every dialogue."""
    completed = (
        run.marks.filter(pl.col("question") == "completion").group_by("item").agg(pl.col("value").mean())
    )
    verdicts = dict(completed.iter_rows())
    return SimulatorAudit(
        {
            item: user_faults(counted, verdicts.get(item))
            for item, counted in run.counted.items()
            if counted.dialogue.stop.whole
        }
    )


def audit_results(run: DialogueRun, opened: RunLines, audit: SimulatorAudit) -> list[Result]:
    """How often each fault occurred, what helped or hurt the assistant, and the scores without those dialogues."""
    found: list[Result] = []
    for line in opened.lines:
        if "personalization" not in line.frame.columns:
            found += _faults(line, audit)
        elif line.view == run.views[0]:
            found += _without(line, audit)
    return found


def _faults(line: Line, audit: SimulatorAudit) -> list[Result]:
    held = line.frame.filter("held")
    items, people = set(held.filter("whole")["item"]), held["person"].n_unique()
    faults = [audit.faults[item] for item in items]
    counts = {kind: audit.count(kind, items) for kind in FAULTS}
    counts |= {"helped": sum(one.helped for one in faults), "hurt": sum(one.hurt for one in faults)}
    found = []
    for kind, count in counts.items():
        share = Estimate(count / len(items) if items else None, None, None, len(items), people)
        note = f"{count} of {len(items)} dialogues; counted, not judged"
        found.append(record(line, Metric(f"user_{kind}", note=note), (), share, None, False))
    return found


def _without(line: Line, audit: SimulatorAudit) -> list[Result]:
    held = line.frame.filter("held")
    kept = held.filter(~pl.col("item").is_in([one for one in held["item"] if audit.spoilt(one)]))
    note = f"without dialogues the simulated user spoilt; {len(kept)} of {len(held)} dialogues are left"
    return [
        record(
            line,
            replace(metric, note=note, how=""),
            (("simulator", "unspoilt"),),
            metric.of(kept),
            None,
            False,
        )
        for metric in DIALOGUE_METRICS
        if metric.name in HEADLINES
    ]
