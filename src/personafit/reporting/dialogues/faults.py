"""The audit of the simulated user, and the score without the dialogues it spoilt."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from personafit.raters.dialogues.counting import UserFaults, user_faults
from personafit.reporting.dialogues.loading import DialogueRun
from personafit.reporting.dialogues.results import HEADLINES, Group, groups, mean_of
from personafit.reporting.results import Result
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


def audit_results(run: DialogueRun, audit: SimulatorAudit) -> list[Result]:
    """How often each fault occurred, what helped or hurt the assistant, and the scores without those dialogues."""
    found: list[Result] = []
    for group in groups(run):
        items = set(group.frame.filter(pl.col("whole"))["item"])
        people = group.frame["person"].n_unique()
        for kind in FAULTS:
            found.append(_share(group, f"user_{kind}", audit.count(kind, items), len(items), people))
        faults = [audit.faults[item] for item in items]
        for name, count in (
            ("helped", sum(one.helped for one in faults)),
            ("hurt", sum(one.hurt for one in faults)),
        ):
            found.append(_share(group, f"user_{name}", count, len(items), people))
        found += _without(group, audit)
    return found


def _share(group: Group, metric: str, count: int, total: int, people: int) -> Result:
    share = Estimate(count / total if total else None, None, None, total, people)
    return group.result(metric, share, note=f"{count} of {total} dialogues; counted, not judged")


def _without(group: Group, audit: SimulatorAudit) -> list[Result]:
    found = []
    for rater in group.run.raters:
        for metric in HEADLINES:
            view = group.run.views[0]
            marked = group.marked(rater["fingerprint"], view, metric)
            kept = marked.filter(~pl.col("item").is_in([one for one in marked["item"] if audit.spoilt(one)]))
            left = f"{len(kept)} of {len(marked)} dialogues are left"
            found.append(
                group.result(
                    metric,
                    mean_of(kept, "value", metric),
                    rater=rater["name"],
                    view=view,
                    slice={"simulator": "unspoilt"},
                    fingerprint=rater["fingerprint"],
                    note=f"without dialogues the simulated user spoilt; {left}",
                )
            )
    return found
