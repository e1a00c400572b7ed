"""What `personafit stages` found, as flat records: shares with intervals clustered by person, coverage beside each."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np

from personafit.reporting.results import Result
from personafit.stages.records import LABELS, REFINED, StageFile
from personafit.stages.verifying import decide
from personafit.statistics import Estimate, cluster_mean

COVERAGE_BAR = 0.95
FATES = ("kept", "rewritten", "dropped")  # what was decided; coverage says of how many of all


def stage_results(files: StageFile, counts: dict[str, Any]) -> list[dict[str, Any]]:
    """Every number of a finished run."""
    return [result.as_dict() for result in _results(files, counts)]


def _results(files: StageFile, counts: dict[str, Any]) -> Iterator[Result]:
    model, extraction = counts["model"], counts["extraction"]
    asked = extraction["conversations"]
    people = counts["people"]

    def number(metric: str, value: float | None, n: int, note: str | None = None) -> Result:
        return Result.of(Estimate(value, None, None, n, people, note), metric=metric, system=model)

    yield number("extraction_coverage", extraction["coverage"], asked)
    given = {row.id: (row.person, row.status) for row in files.read_attributes() if row.status in REFINED}
    per_person = len(given) / people if people else None
    yield number("attributes_per_person", per_person, people, "after merging, before verification")
    decided = [(person, status) for person, status in given.values() if status in FATES]
    owners = np.array([person for person, _ in decided])
    for fate in FATES:
        values = [float(status == fate) for _, status in decided]
        share = len(decided) / len(given) if given else None
        yield Result.of(_mean(values, owners), metric=f"{fate}_share", system=model, coverage=share)
    labels: dict[str, str] = {}
    for attribute, verdicts in groupby(files.read_verdicts(), lambda verdict: verdict.attribute):
        if (verdict := decide(list(verdicts))) is not None:
            labels[attribute] = verdict.label
    answered = np.array([given[attribute][0] for attribute in labels if attribute in given])
    known = [label for attribute, label in labels.items() if attribute in given]
    for label in LABELS:
        values = [float(one == label) for one in known]
        share = len(known) / len(given) if given else None
        yield Result.of(_mean(values, answered), metric=f"{label}_share", system=model, coverage=share)


def _mean(values: list[float], people: Any) -> Estimate:
    if not values:
        return Estimate(None, None, None, 0, 0, "there are no attributes")
    return cluster_mean(np.array(values), people, None, (0.0, 1.0))
