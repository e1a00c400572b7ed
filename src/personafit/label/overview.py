"""Progress and quality figures of a study: raters, pages, agreement, labels and time, recomputed on each request.

The researcher's pages and `label status` show the same object. Concerns about a rater are reported from hidden pages with a known answer,
answer times and side preference; any action is left to the researcher.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import polars as pl

from personafit._errors import counted
from personafit.label.adjudicating import Dispute
from personafit.label.agreement import QuestionAgreement, study_agreement
from personafit.label.forms.questions import ChoiceForm
from personafit.label.records import Arrangement, RaterState, Role
from personafit.label.studies import Seat, Studies, Study, rater_kind
from personafit.label.texts import text
from personafit.label.votes import adjudicated_votes, study_remarks, study_votes
from personafit.reports.pieces import Cell, Grid, Piece, Row, Sentences, count_row, result_cell
from personafit.statistics import Estimate

AWAY = (RaterState.FREE, RaterState.ERASED)
LEFT_OUT = (RaterState.EXCLUDED, RaterState.ERASED)
FEWEST_GOLD, LOW_GOLD = 3, 0.6
FEWEST_TIMED, HASTY = 5, 1 / 3  # HASTY: as a fraction of the study's median time
FEWEST_SIDES, ONE_SIDED = 15, 0.85
MOST_NAMED = 12  # raters that each line below the table lists
RATERS = (
    "rater", "state", "done", "open", "median s", "with others", "gold", "attention", "can't tell", "flags",
)  # fmt: skip
FIGURES = {"percent": "percent", "fleiss": "Fleiss", "nominal": "alpha", "ordinal": "alpha, ordinal"}


@dataclass(frozen=True)
class GoldScore:
    """Number of pages with a known answer that were answered, and how many correctly."""

    right: int = 0
    answered: int = 0


@dataclass(frozen=True)
class RaterNumbers:
    """Figures of one rater."""

    seat: Seat
    kind: str
    done: int
    planned: int
    median_seconds: float | None
    """Median time per page."""
    gold: GoldScore
    attention: GoldScore
    cannot_tell: int
    flags: int
    with_others: Estimate | None
    """Agreement with the majority of the others, on the first question that has labels."""
    concerns: tuple[str, ...]
    """Concerns about the rater, as keys of the interface's texts."""

    @property
    def open(self) -> int:
        """Number of pages left to do; 0 for seats that are free or may not continue."""
        may = self.seat.state in (RaterState.ACTIVE, RaterState.DONE)
        return self.planned - self.done if may else 0


@dataclass(frozen=True)
class Overview:
    """Figures of a study; `done` and `planned` count pages of included raters, `complete_pages` those all their raters have done."""

    study: Study
    raters: list[RaterNumbers]
    agreement: list[QuestionAgreement]
    labels: list[dict[str, Any]]
    """Per question, how often each label was given and how often raters could not tell."""
    seconds: float | None
    votes: int
    adjudicated: int
    remarks: pl.DataFrame = field(repr=False)
    free: int
    done: int
    planned: int
    item_pages: int
    complete_pages: int

    @property
    def taking_part(self) -> list[RaterNumbers]:
        return [rater for rater in self.raters if rater.seat.state not in AWAY]


def study_overview(studies: Studies, name: str) -> Overview:
    """Compute the current figures of a study."""
    study, plan, seats = studies.study(name), studies.assigned(name), studies.seats(name)
    everybody = study_votes(studies, name, excluded=True)
    out = {seat.code for seat in seats if seat.state is RaterState.EXCLUDED}
    votes = everybody.filter(~pl.col("rater").is_in(out))
    agreement = study_agreement(studies, name, votes)
    remarks = study_remarks(studies, name)
    # Time each rater spent on each page until the last answer.
    timed = everybody.filter(pl.col("seconds") > 0).group_by("rater", "page").agg(pl.col("seconds").max())
    usual = _median(timed.filter(~pl.col("rater").is_in(out)))
    gold, attention = (_known_answers(studies, name, role) for role in (Role.GOLD, Role.ATTENTION))
    planned, done = Counter(one.seat for one in plan), Counter(one.seat for one in plan if one.done)
    skipped = Counter(everybody.filter(pl.col("status") == "skipped")["rater"])
    flags = Counter(remarks.filter(pl.col("question") == "flag")["rater"])
    raters = []
    for seat in seats:
        mine = timed.filter(pl.col("rater") == seat.code)
        checks = gold.get(seat.code, GoldScore()), attention.get(seat.code, GoldScore())
        where = _shown_places(everybody.filter(pl.col("rater") == seat.code))
        compared = (figures.with_others.get(seat.code) for figures in agreement)
        raters.append(
            RaterNumbers(
                seat=seat,
                kind=rater_kind(seat, study.config.simulated),
                done=done[seat.seat],
                planned=planned[seat.seat],
                median_seconds=_median(mine),
                gold=checks[0],
                attention=checks[1],
                cannot_tell=skipped[seat.code],
                flags=flags[seat.code],
                with_others=next((estimate for estimate in compared if estimate is not None), None),
                concerns=tuple(_concerns(*checks, mine, usual, where)),
            )
        )
    away = {seat.seat for seat in seats if seat.state in LEFT_OUT}
    finished = Counter(one.page for one in plan if one.done and one.seat not in away)
    items = studies.pages(name, (Role.ITEM,))
    there = [rater for rater in raters if rater.seat.state not in LEFT_OUT]
    return Overview(
        study=study,
        raters=raters,
        agreement=agreement,
        labels=_labels(votes),
        seconds=usual,
        votes=votes.height,
        adjudicated=adjudicated_votes(studies, name).height,
        remarks=remarks,
        free=sum(rater.seat.state is RaterState.FREE for rater in raters),
        done=sum(rater.done for rater in there),
        planned=sum(rater.planned for rater in there),
        item_pages=len(items),
        complete_pages=sum(finished[page.id] >= study.config.overlap for page in items),
    )


def _known_answers(studies: Studies, name: str, role: Role) -> dict[str, GoldScore]:
    """Score each rater's answers to hidden pages of this role against their keys; 'cannot tell' counts as wrong."""
    form = studies.form(name)
    known = {
        (page.id, field.item, field.question, field.target): label
        for page in studies.pages(name, (role,))
        for field in form.fields(page, Arrangement.stored(page))
        if (label := form.right(page, field)) is not None
    }
    right, answered = Counter[str](), Counter[str]()
    for vote in study_votes(studies, name, (role,), excluded=True).iter_rows(named=True):
        expected = known.get((vote["page"], vote["item"], vote["question"], vote["target"]))
        if expected is not None:
            right[vote["rater"]] += vote["label"] == expected
            answered[vote["rater"]] += 1
    return {rater: GoldScore(right[rater], count) for rater, count in answered.items()}


def _shown_places(votes: pl.DataFrame) -> Counter[int]:
    """Count how often the answer in each position on the page was chosen, from 0; only for questions that choose an answer."""
    chosen = votes.filter((pl.col("question") == ChoiceForm.name) & pl.col("label").is_not_null())
    return Counter(order.index(label) for order, label in chosen.select("order", "label").iter_rows())


def _concerns(
    gold: GoldScore, attention: GoldScore, timed: pl.DataFrame, usual: float | None, places: Counter[int]
) -> Iterator[str]:
    if attention.right < attention.answered:
        yield "r.concern.attention"
    if gold.answered >= FEWEST_GOLD and gold.right / gold.answered < LOW_GOLD:
        yield "r.concern.gold"
    seconds = _median(timed)
    if seconds is not None and usual is not None and len(timed) >= FEWEST_TIMED and seconds < HASTY * usual:
        yield "r.concern.hasty"
    if places.total() >= FEWEST_SIDES and max(places.values()) >= ONE_SIDED * places.total():
        yield "r.concern.side"


def _labels(votes: pl.DataFrame) -> list[dict[str, Any]]:
    found = []
    for (question,), part in votes.group_by("question", maintain_order=True):
        counts = Counter(part["label"].drop_nulls())
        skipped = part.filter(pl.col("status") == "skipped").height
        if counts or skipped:
            found.append(
                {"question": question, "counts": dict(sorted(counts.items())), "cannot_tell": skipped}
            )
    return found


def _median(timed: pl.DataFrame) -> float | None:
    found: Any = timed["seconds"].median()
    return None if found is None else float(found)


def figure(found: Estimate | None) -> Cell:
    """Format an agreement figure with its interval, for pages and tables."""
    return result_cell(found, "{:.2f}".format, to=" to ")


def status_pieces(numbers: Overview) -> list[Piece]:
    """Return the report pieces on progress, raters and agreement of a study."""
    study = numbers.study
    said = [
        f"{study.name} ({study.form}, {study.state}): {numbers.done:,} of {counted(numbers.planned, 'page', 'pages')} answered, "
        f"{numbers.complete_pages:,} of {counted(numbers.item_pages, 'item has all its raters', 'items have all their raters')}, "
        f"{counted(numbers.free, 'free seat', 'free seats')}."
    ]
    raters = Grid("Raters", "", RATERS[:1], RATERS[1:], [_rater_row(one) for one in numbers.raters])
    after = []
    if waiting := [one.seat.code for one in numbers.taking_part if one.open]:
        named = ", ".join(waiting[:MOST_NAMED]) + (" …" if len(waiting) > MOST_NAMED else "")
        after.append(f"{counted(len(waiting), 'rater has', 'raters have')} open pages: {named}")
    after += [
        f"Worth a look: {one.seat.code} ({', '.join(text('en', key) for key in one.concerns)})"
        for one in numbers.raters
        if one.concerns
    ][:MOST_NAMED]
    if not numbers.agreement:
        after.append("No agreement yet: it takes two raters who answered the same item.")
        return [Sentences(said), raters, Sentences(after)]
    rows: list[Row] = []
    notes: dict[str, None] = {}
    for one in numbers.agreement:
        found = [one.figures.get(name) for name in FIGURES]
        notes |= {estimate.note: None for estimate in found if estimate is not None and estimate.note}
        counts = count_row([one.question], (one.raters, one.units))
        rows.append(Row(counts.names, [*counts.cells, *map(figure, found)]))
    columns = ["raters", "items", *FIGURES.values()]
    agreement = Grid("Agreement, 95 % interval over people", "", ["question"], columns, rows)
    return [Sentences(said), raters, Sentences(after), agreement, Sentences(list(notes), small=True)]


def _rater_row(one: RaterNumbers) -> Row:
    known = (
        Cell(f"{score.right}/{score.answered}" if score.answered else "–")
        for score in (one.gold, one.attention)
    )
    cells = [
        Cell(one.seat.state.value),
        Cell(f"{one.done}/{one.planned}"),
        _number(one.open or None),
        _number(one.median_seconds, 1),
        figure(one.with_others),
        *known,
        _number(one.cannot_tell),
        _number(one.flags),
    ]
    return Row([one.seat.code + (" (simulated)" if one.kind == "simulated" else "")], cells)


def _number(value: float | None, digits: int = 0) -> Cell:
    return Cell("–") if value is None else Cell(f"{value:.{digits}f}", sort=value)


def dispute_pieces(study: str, found: Sequence[Dispute]) -> list[Piece]:
    """Return the table of disputed items with their votes."""
    rows = []
    for one in found:
        votes = ", ".join(f"{label} × {count}" for label, count in one.counts.items())
        about = Cell(one.field.question), Cell(one.field.target)
        cells = [*about, Cell(votes), _number(one.share, 2), Cell(one.decided or "")]
        rows.append(Row([one.field.item], cells))
    columns = ["question", "target", "votes", "largest share", "decided"]
    pieces: list[Piece] = [Grid(f"{study}: what raters disagree about", "", ["item"], columns, rows)]
    if left := sum(one.decided is None for one in found):
        how = f"label adjudicate {study} --decide ITEM=ANSWER, or in the browser: label serve."
        pieces.append(Sentences([f"{left} of {len(found)} to be decided: {how}"]))
    return pieces


def status_object(numbers: Overview) -> dict[str, Any]:
    """Return the object that `label status --json` prints; it has no texts and no external ids."""
    study = numbers.study
    return {
        "study": study.name,
        "state": study.state,
        "form": study.form,
        "source": study.config.source,
        "simulated": study.config.simulated,
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
            {"question": one.question, "raters": one.raters, "units": one.units}
            | {"figures": {name: _estimate_object(estimate) for name, estimate in one.figures.items()}}
            for one in numbers.agreement
        ],
        "labels": numbers.labels,
    }


def _estimate_object(estimate: Estimate | None) -> dict[str, Any] | None:
    shown = ("value", "low", "high", "n", "people", "note")
    return None if estimate is None else {name: getattr(estimate, name) for name in shown}


def _rater_object(rater: RaterNumbers) -> dict[str, Any]:
    seat = rater.seat
    who = {"rater": seat.code, "kind": rater.kind, "state": seat.state, "reason": seat.reason}
    counts = ("done", "planned", "open", "median_seconds", "cannot_tell", "flags")
    known = {"gold": asdict(rater.gold), "attention": asdict(rater.attention)}
    return (
        who
        | {name: getattr(rater, name) for name in counts}
        | known
        | {"with_others": _estimate_object(rater.with_others)}
    )
