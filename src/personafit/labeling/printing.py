"""Where a study stands, as terminal tables and as the object of `label status --json`; and what its raters disagree about."""

import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from personafit.labeling.adjudicating import Dispute
from personafit.labeling.agreement import Figures
from personafit.labeling.overview import Overview, RaterNumbers
from personafit.statistics import Estimate

MOST_NAMED = 12


def counted(number: int, one: str, many: str) -> str:
    """A number with its noun: '1 rater', '2 raters'."""
    return f"{number:,} {one if number == 1 else many}"


def print_status(out: Console, numbers: Overview) -> None:
    """Print how far a study is, how its raters work, and how far they agree."""
    study = numbers.study
    out.print(
        Text(
            f"{study.name} ({study.form}, {study.state}): {numbers.done:,} of {numbers.planned:,} pages answered, "
            f"{numbers.complete_pages:,} of {numbers.item_pages:,} items have all their raters, "
            f"{counted(numbers.free, 'free seat', 'free seats')}."
        )
    )
    raters = Table(title="Raters", title_justify="left")
    for heading in (
        "rater",
        "state",
        "done",
        "open",
        "median s",
        "with others",
        "gold",
        "attention",
        "can't tell",
        "flags",
    ):
        raters.add_column(heading, justify="left" if heading in ("rater", "state") else "right")
    for one in numbers.raters:
        raters.add_row(
            one.code + (" (simulated)" if one.kind == "simulated" else ""),
            one.state.value,
            f"{one.done}/{one.planned}",
            str(one.open) if one.open else "–",
            "–" if one.seconds is None else f"{one.seconds:.1f}",
            _figure(one.with_others),
            f"{one.gold.right}/{one.gold.answered}" if one.gold.answered else "–",
            f"{one.attention.right}/{one.attention.answered}" if one.attention.answered else "–",
            str(one.cannot_tell),
            str(one.flags),
        )
    out.print(raters)
    waiting = [one.code for one in numbers.taking_part if one.open]
    if waiting:
        print(
            f"{counted(len(waiting), 'rater has', 'raters have')} open pages: {', '.join(waiting[:MOST_NAMED])}"
            + (" …" if len(waiting) > MOST_NAMED else ""),
            file=sys.stderr,
        )
    if not numbers.agreement:
        out.print("No agreement yet: it takes two raters who answered the same item.")
        return
    table = Table(title="Agreement, 95 % interval over people", title_justify="left")
    for heading in ("question", "raters", "items", "percent", "Fleiss", "alpha", "alpha, ordinal"):
        table.add_column(heading, justify="left" if heading == "question" else "right")
    notes: dict[str, None] = {}
    for figures in numbers.agreement:
        cells = [figures.figures.get(name) for name in ("percent", "fleiss", "nominal", "ordinal")]
        notes |= {one.note: None for one in cells if one is not None and one.note}
        table.add_row(
            Text(figures.question),
            str(figures.raters),
            str(figures.units),
            *(_figure(one) for one in cells),
        )
    out.print(table)
    for note in notes:
        out.print(Text(note, style="dim"))


def _figure(estimate: Estimate | None) -> str:
    if estimate is None or estimate.value is None:
        return "–"
    interval = f" ({estimate.low:.2f} to {estimate.high:.2f})" if estimate.low is not None else ""
    return f"{estimate.value:.2f}{interval}"


def print_disputes(out: Console, study: str, found: Sequence[Dispute]) -> None:
    """Print the items that raters disagree about, with their votes."""
    table = Table(title=f"{study}: what raters disagree about", title_justify="left")
    for heading in ("item", "question", "target", "votes", "largest share", "decided"):
        table.add_column(heading, overflow="fold")
    for one in found:
        counts = ", ".join(f"{label} × {count}" for label, count in one.counts.items())
        table.add_row(
            Text(one.field.item),
            Text(one.field.question),
            Text(one.field.target),
            Text(counts),
            f"{one.share:.2f}",
            Text(one.decided or ""),
        )
    out.print(table)
    left = sum(one.decided is None for one in found)
    if left:
        print(
            f"{left} of {len(found)} to be decided: label adjudicate {study} --decide ITEM=ANSWER, or in the browser: label serve.",
            file=sys.stderr,
        )


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
