"""Where a study stands and what its raters disagree about, as pieces for the terminal; and the object of `label status --json`."""

from collections.abc import Sequence
from typing import Any

from personafit.labeling.adjudicating import Dispute
from personafit.labeling.overview import GoldScore, Overview, RaterNumbers
from personafit.reporting.pieces import Cell, Grid, Piece, Row, Sentences, text_grid
from personafit.statistics import Estimate

MOST_NAMED = 12
RATERS = (
    "rater", "state", "done", "open", "median s", "with others", "gold", "attention", "can't tell", "flags",
)  # fmt: skip
FIGURES = {"percent": "percent", "fleiss": "Fleiss", "nominal": "alpha", "ordinal": "alpha, ordinal"}


def counted(number: int, one: str, many: str) -> str:
    """A number with its noun: '1 rater', '2 raters'."""
    return f"{number:,} {one if number == 1 else many}"


def status_pieces(numbers: Overview) -> list[Piece]:
    """How far a study is, how its raters work, and how far they agree."""
    study = numbers.study
    said = [
        f"{study.name} ({study.form}, {study.state}): {numbers.done:,} of {numbers.planned:,} pages answered, "
        f"{numbers.complete_pages:,} of {numbers.item_pages:,} items have all their raters, "
        f"{counted(numbers.free, 'free seat', 'free seats')}."
    ]
    raters = text_grid("Raters", "", RATERS, [_rater_row(one) for one in numbers.raters])
    after = []
    if waiting := [one.seat.code for one in numbers.taking_part if one.open]:
        named = ", ".join(waiting[:MOST_NAMED]) + (" …" if len(waiting) > MOST_NAMED else "")
        after.append(f"{counted(len(waiting), 'rater has', 'raters have')} open pages: {named}")
    if not numbers.agreement:
        after.append("No agreement yet: it takes two raters who answered the same item.")
        return [Sentences(said), raters, Sentences(after)]
    rows: list[Row] = []
    notes: dict[str, None] = {}
    for one in numbers.agreement:
        found = [one.figures.get(name) for name in FIGURES]
        notes |= {estimate.note: None for estimate in found if estimate is not None and estimate.note}
        counts = [Cell(f"{count:,}", sort=float(count)) for count in (one.raters, one.units)]
        rows.append(Row([one.question], [*counts, *map(_cell, found)]))
    columns = ["raters", "items", *FIGURES.values()]
    agreement = Grid("Agreement, 95 % interval over people", "", ["question"], columns, rows)
    return [Sentences(said), raters, Sentences(after), agreement, Sentences(list(notes), small=True)]


def _rater_row(one: RaterNumbers) -> list[str]:
    others = _cell(one.with_others)
    return [
        one.seat.code + (" (simulated)" if one.kind == "simulated" else ""),
        one.seat.state.value,
        f"{one.done}/{one.planned}",
        str(one.open or "–"),
        "–" if one.seconds is None else f"{one.seconds:.1f}",
        f"{others.text} ({others.interval})" if others.interval else others.text,
        _known(one.gold),
        _known(one.attention),
        str(one.cannot_tell),
        str(one.flags),
    ]


def _known(score: GoldScore) -> str:
    return f"{score.right}/{score.answered}" if score.answered else "–"


def _cell(found: Estimate | None) -> Cell:
    if found is None or found.value is None:
        return Cell("–")
    interval = "" if found.low is None else f"{found.low:.2f} to {found.high:.2f}"
    return Cell(f"{found.value:.2f}", interval, found.value)


def dispute_pieces(study: str, found: Sequence[Dispute]) -> list[Piece]:
    """The items that raters disagree about, with their votes."""
    rows = [
        [
            one.field.item,
            one.field.question,
            one.field.target,
            ", ".join(f"{label} × {count}" for label, count in one.counts.items()),
            f"{one.share:.2f}",
            one.decided or "",
        ]
        for one in found
    ]
    columns = ("item", "question", "target", "votes", "largest share", "decided")
    pieces: list[Piece] = [text_grid(f"{study}: what raters disagree about", "", columns, rows)]
    if left := sum(one.decided is None for one in found):
        how = f"label adjudicate {study} --decide ITEM=ANSWER, or in the browser: label serve."
        pieces.append(Sentences([f"{left} of {len(found)} to be decided: {how}"]))
    return pieces


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
        "agreement": [
            {
                "question": one.question,
                "raters": one.raters,
                "units": one.units,
                "figures": {name: _estimate_object(estimate) for name, estimate in one.figures.items()},
            }
            for one in numbers.agreement
        ],
        "labels": [
            {"question": one.question, "counts": one.counts, "cannot_tell": one.cannot_tell}
            for one in numbers.distributions
        ],
    }


def _estimate_object(estimate: Estimate | None) -> dict[str, Any] | None:
    shown = ("value", "low", "high", "n", "people", "note")
    return None if estimate is None else {name: getattr(estimate, name) for name in shown}


def _rater_object(rater: RaterNumbers) -> dict[str, Any]:
    return {
        "rater": rater.seat.code,
        "kind": rater.kind,
        "state": rater.seat.state,
        "reason": rater.seat.reason,
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
