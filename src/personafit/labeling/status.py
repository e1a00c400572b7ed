"""Where a study stands as one plain object, for `label status --json`."""

from typing import Any

from personafit.labeling.agreement import Figures
from personafit.labeling.overview import Overview, RaterNumbers
from personafit.statistics import Estimate


def status_object(numbers: Overview) -> dict[str, Any]:
    """The one object that `label status --json` prints; without texts and without who anybody is."""
    return {
        "study": numbers.study.name,
        "state": numbers.study.state,
        "form": numbers.study.form,
        "source": numbers.study.config.source,
        "simulated": numbers.study.config.simulated,
        "done": numbers.done,
        "planned": numbers.planned,
        "pages": numbers.item_pages,
        "complete_pages": numbers.complete_pages,
        "votes": numbers.votes,
        "adjudicated": numbers.adjudicated,
        "median_seconds": numbers.seconds,
        "free_seats": numbers.free,
        "raters": [_rater_object(rater) for rater in numbers.raters],
        "agreement": [_agreement_object(figures) for figures in numbers.agreement],
        "labels": [
            {"question": one.question, "counts": one.counts, "cannot_tell": one.cannot_tell}
            for one in numbers.distributions
        ],
    }


def _estimate_object(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    return {
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "n": estimate.n,
        "people": estimate.people,
        "note": estimate.note,
    }


def _agreement_object(figures: Figures) -> dict[str, Any]:
    return {
        "question": figures.question,
        "raters": figures.raters,
        "units": figures.units,
        "figures": {name: _estimate_object(one) for name, one in figures.figures.items()},
    }


def _rater_object(rater: RaterNumbers) -> dict[str, Any]:
    return {
        "rater": rater.code,
        "kind": rater.kind,
        "state": rater.state,
        "reason": rater.reason,
        "done": rater.done,
        "planned": rater.planned,
        "open": rater.open,
        "median_seconds": rater.seconds,
        "gold": {"right": rater.gold.right, "answered": rater.gold.answered},
        "attention": {"right": rater.attention.right, "answered": rater.attention.answered},
        "cannot_tell": rater.cannot_tell,
        "flags": rater.flags,
        "with_others": _estimate_object(rater.with_others),
    }
