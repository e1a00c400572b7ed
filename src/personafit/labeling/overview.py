"""Where a study stands, in numbers: raters, pages, agreement, labels and time, read anew each time they are asked for.

The researcher's pages and `label status` show the same object. Of raters it says what stands out, by hidden pages with a known
answer, time and side; nothing here decides anything, a person does.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from personafit.labeling.agreement import QuestionAgreement, study_agreement
from personafit.labeling.forms.questions import ChoiceForm
from personafit.labeling.records import Arrangement, RaterState, Role
from personafit.labeling.studies import PageAssignment, Seat, Studies, Study, rater_kind
from personafit.labeling.votes import (
    adjudicated_votes,
    study_remarks,
    study_votes,
)
from personafit.statistics import Estimate

AWAY = (RaterState.FREE, RaterState.ERASED)
LEFT_OUT = (RaterState.EXCLUDED, RaterState.ERASED)
FEWEST_GOLD, LOW_GOLD = 3, 0.6
FEWEST_TIMED, HASTY = 5, 1 / 3  # of the study's median time
FEWEST_SIDES, ONE_SIDED = 15, 0.85


@dataclass(frozen=True)
class GoldScore:
    """How many pages with a known answer were answered, and how many correctly."""

    right: int = 0
    answered: int = 0


@dataclass(frozen=True)
class RaterNumbers:
    """One rater."""

    seat: Seat
    kind: str
    done: int
    planned: int
    seconds: float | None
    """Median time over pages."""
    gold: GoldScore
    attention: GoldScore
    cannot_tell: int
    flags: int
    with_others: Estimate | None
    """Agreement with the majority of the others, on the first question that has labels."""
    concerns: tuple[str, ...]
    """What stands out, by key of the interface's texts."""

    @property
    def open(self) -> int:
        """Pages that wait for them; none for who has no seat or may not go on."""
        may = self.seat.state in (RaterState.ACTIVE, RaterState.DONE)
        return self.planned - self.done if may else 0


@dataclass(frozen=True)
class PageNumbers:
    """One page."""

    page: str
    role: str
    person: str
    done: int
    planned: int
    labels: dict[str, Counter[str]]
    """Votes by question (and target) and label."""
    flags: int
    notes: int


@dataclass(frozen=True)
class Distribution:
    """How often each label was given to a question."""

    question: str
    counts: dict[str, int]
    cannot_tell: int
    places: dict[int, int]
    """How often the answer shown first, second, … was chosen."""


@dataclass(frozen=True)
class Overview:
    """A whole study."""

    study: Study
    raters: list[RaterNumbers]
    pages: list[PageNumbers]
    agreement: list[QuestionAgreement]
    distributions: list[Distribution]
    seconds: float | None
    votes: int
    adjudicated: int
    remarks: pl.DataFrame = field(repr=False)

    @property
    def free(self) -> int:
        """Seats that nobody has taken."""
        return sum(rater.seat.state is RaterState.FREE for rater in self.raters)

    @property
    def done(self) -> int:
        """Pages that raters have finished, those excluded left out."""
        return sum(rater.done for rater in self._counted)

    @property
    def planned(self) -> int:
        """Pages that raters are to finish, those excluded left out."""
        return sum(rater.planned for rater in self._counted)

    @property
    def taking_part(self) -> list[RaterNumbers]:
        """Raters who have taken their seat."""
        return [rater for rater in self.raters if rater.seat.state not in AWAY]

    @property
    def complete_pages(self) -> int:
        """Pages that have all the raters they are to have."""
        return sum(page.done >= self.study.config.overlap for page in self._items)

    @property
    def item_pages(self) -> int:
        """Pages that count."""
        return len(self._items)

    @property
    def _items(self) -> list[PageNumbers]:
        return [page for page in self.pages if page.role == Role.ITEM]

    @property
    def _counted(self) -> list[RaterNumbers]:
        return [rater for rater in self.raters if rater.seat.state not in LEFT_OUT]


def overview(studies: Studies, name: str) -> Overview:
    """Everything about a study as it stands."""
    study, plan, seats = studies.study(name), studies.assigned(name), studies.seats(name)
    everybody = study_votes(studies, name, excluded=True)
    out = {seat.code for seat in seats if seat.state is RaterState.EXCLUDED}
    votes = everybody.filter(~pl.col("rater").is_in(out))
    agreement = study_agreement(studies, name, votes)
    remarks = study_remarks(studies, name)
    # How long each rater had each page before them until its last answer.
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
        where = shown_places(everybody.filter(pl.col("rater") == seat.code))
        compared = (figures.with_others.get(seat.code) for figures in agreement)
        raters.append(
            RaterNumbers(
                seat=seat,
                kind=rater_kind(seat, study.config.simulated),
                done=done[seat.seat],
                planned=planned[seat.seat],
                seconds=_median(mine),
                gold=checks[0],
                attention=checks[1],
                cannot_tell=skipped[seat.code],
                flags=flags[seat.code],
                with_others=next((estimate for estimate in compared if estimate is not None), None),
                concerns=tuple(_concerns(*checks, mine, usual, where)),
            )
        )
    return Overview(
        study=study,
        raters=raters,
        pages=_pages(studies, name, seats, plan, votes, remarks),
        agreement=agreement,
        distributions=_distributions(votes),
        seconds=usual,
        votes=votes.height,
        adjudicated=adjudicated_votes(studies, name).height,
        remarks=remarks,
    )


def _known_answers(studies: Studies, name: str, role: Role) -> dict[str, GoldScore]:
    """Each rater's answers to hidden pages of this role against their keys; who cannot tell is not right."""
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


def shown_places(votes: pl.DataFrame) -> Counter[int]:
    """How often the answer in each place on the page was chosen, from 0; only where labels are answers, and no marks of them."""
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


def _pages(
    studies: Studies,
    name: str,
    seats: list[Seat],
    plan: list[PageAssignment],
    votes: pl.DataFrame,
    remarks: pl.DataFrame,
) -> list[PageNumbers]:
    away = {seat.seat for seat in seats if seat.state in LEFT_OUT}
    counted = [one for one in plan if one.seat not in away]
    planned, done = Counter(one.page for one in counted), Counter(one.page for one in counted if one.done)
    labels: dict[str, dict[str, Counter[str]]] = {}
    given = votes.filter(pl.col("label").is_not_null())
    for page, question, target, label in given.select("page", "question", "target", "label").iter_rows():
        about = f"{question}: {target}" if target else question
        labels.setdefault(page, {}).setdefault(about, Counter())[label] += 1
    flags, notes = (Counter(remarks.filter(pl.col("question") == what)["page"]) for what in ("flag", "note"))
    notes += Counter(votes.filter(pl.col("note").is_not_null())["page"])
    return [
        PageNumbers(
            page.id,
            page.role,
            page.person,
            done[page.id],
            planned[page.id],
            labels.get(page.id, {}),
            flags[page.id],
            notes[page.id],
        )
        for page in studies.pages(name)
    ]


def _distributions(votes: pl.DataFrame) -> list[Distribution]:
    found = []
    for key, part in votes.group_by("question", maintain_order=True):
        counts = Counter(part["label"].drop_nulls())
        skipped = part.filter(pl.col("status") == "skipped").height
        if counts or skipped:
            where = dict(sorted(shown_places(part).items()))
            found.append(Distribution(str(key[0]), dict(sorted(counts.items())), skipped, where))
    return found


def _median(timed: pl.DataFrame) -> float | None:
    found: Any = timed["seconds"].median()
    return None if found is None else float(found)
