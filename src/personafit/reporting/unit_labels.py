"""People's labels from a file, for runs in which raters say yes or no or give marks: one number for each unit."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from personafit._errors import UserError, located
from personafit.benchmarks.lines import read_lines, required_text
from personafit.items.relevance import NO, YES
from personafit.kinds.lines import Reference, RunLines

WORDS = {YES: 1.0, NO: 0.0}


@dataclass(frozen=True)
class UnitLabels:
    """What people said of units: the mean over voters of each item and target."""

    question: str | None
    """The question they answered; None where the file does not say and the run asks but one."""
    values: Mapping[tuple[str, str], float]
    weights: Mapping[tuple[str, str], float]
    """Design weights, where the file gives them."""
    elsewhere: int
    """Lines about items that the run does not have."""
    unanswered: int
    """Lines without an answer, or to another question."""

    def beside(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The units with these labels as `human_score`, and their `weight`."""
        rows = [(*key, value, self.weights.get(key)) for key, value in self.values.items()]
        schema = {"item": pl.String, "target": pl.String, "human_score": pl.Float64, "weight": pl.Float64}
        said = pl.DataFrame(rows, schema=schema, orient="row")
        keys = ["item", "target"] if "target" in frame.columns else ["item"]
        rest = frame.drop("human_score", "weight")
        return rest.join(
            said.select(*keys, "human_score", "weight"), on=keys, how="left", maintain_order="left"
        )


def read_unit_labels(path: Path, opened: RunLines) -> UnitLabels:
    """Labels of a JSONL file, `{"item", "label"}` and where units have one `"target"`, or votes of a study.

    A label is `yes` or `no`, or a mark on the question's scale. Several lines on one unit are several voters; a line that names its
    rater replaces an earlier one of the same rater. A run that asks several questions needs `"question"` in each line.
    """
    if not path.is_file():
        raise UserError(f"{path} is not a file; --human takes a JSONL file of people's labels.")
    known = {one.question: one for one in opened.references}
    units = {
        (item, target)
        for line in opened.lines
        for item, target in line.frame.select(
            "item", "target" if "target" in line.frame.columns else pl.lit("").alias("target")
        ).iter_rows()
        if item is not None
    }
    items = {item for item, _ in units}
    asked: set[str] = set()
    votes: dict[tuple[str, str], dict[object, float]] = {}
    weights: dict[tuple[str, str], float] = {}
    lines = elsewhere = unanswered = 0
    for number, row in read_lines(path):
        lines += 1
        item = required_text(row, "item", path, number)
        question = str(row.get("question") or (next(iter(known)) if len(known) == 1 else ""))
        if not question:
            raise UserError(
                f"{located(path, number, 'question')} is missing; {opened.run.name} asks {', '.join(known)}."
            )
        key = (item, str(row.get("target") or ""))
        if item not in items:
            elsewhere += 1
        elif question not in known or row.get("status", "ok") != "ok":
            unanswered += 1
        elif key not in units:
            raise UserError(
                f"{located(path, number, 'target')}: '{key[1]}' is nothing that was judged in '{item}'."
            )
        else:
            asked.add(question)
            value = _value(row, known[question], path, number)
            votes.setdefault(key, {})[row.get("rater", number)] = value
            if row.get("weight") is not None:
                weights[key] = _positive(row["weight"], path, number)
    if not votes:
        raise UserError(
            f"{path} has no label for an item of {opened.run.name} ({lines} lines; the run's items are like '{min(items, default='none')}')."
        )
    if len(asked) > 1:
        raise UserError(f"{path} answers several questions ({', '.join(sorted(asked))}); give one at a time.")
    if weights and len(weights) < len(votes):
        raise UserError(
            f"{path}: some labels have a 'weight' and others have none; give all a weight or none."
        )
    means = {key: float(np.mean(list(by_voter.values()))) for key, by_voter in votes.items()}
    return UnitLabels(next(iter(asked)), means, weights, elsewhere, unanswered)


def _value(row: Mapping[str, Any], reference: Reference, path: Path, number: int) -> float:
    said = row.get("label") if row.get("label") is not None else row.get("value")
    low, high = reference.bounds
    try:
        found = WORDS[said] if isinstance(said, str) and said in WORDS else float(str(said))
    except ValueError:
        found = float("nan")
    if not low <= found <= high or isinstance(said, bool):
        allowed = f"{YES} or {NO}" if reference.bounds == (0.0, 1.0) else f"a mark from {low:g} to {high:g}"
        raise UserError(f"{located(path, number, 'label')}: '{said}' is no answer; use {allowed}.")
    return found


def _positive(weight: object, path: Path, number: int) -> float:
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < float("inf"):
        raise UserError(f"{located(path, number, 'weight')} must be a number above 0.")
    return float(weight)
