"""Where a study stands, in numbers: raters, pages, agreement, labels and time, read anew each time they are asked for.

The researcher's pages and `label status` show the same object.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from personafit.labeling.agreement import Figures, study_agreement
from personafit.labeling.quality import GoldScore, check_raters, concerns, page_seconds, shown_places
from personafit.labeling.records import RaterState, Role
from personafit.labeling.studies import Seat, Studies, Study
from personafit.labeling.votes import (
    PlannedPage,
    adjudicated_votes,
    rater_kind,
    study_plan,
    study_remarks,
    study_votes,
)
from personafit.statistics import Estimate

AWAY = (RaterState.FREE, RaterState.ERASED)


@dataclass(frozen=True)
class RaterNumbers:
    """One rater."""

    seat: int
    code: str
    kind: str
    state: RaterState
    reason: str | None
    warning: str | None
    done: int
    planned: int
    joined: float | None
    seen: float | None
    finished: float | None
    seconds: float | None
    """Median time over pages."""
    gold: GoldScore
    attention: GoldScore
    cannot_tell: int
    flags: int
    with_others: Estimate | None
    """Agreement with the majority of the others, on the first question that has labels."""
    concerns: tuple[str, ...]

    @property
    def open(self) -> int:
        """Pages that wait for them; none for who has no seat or may not go on."""
        may = self.state in (RaterState.ACTIVE, RaterState.DONE)
        return self.planned - self.done if may else 0


@dataclass(frozen=True)
class PageNumbers:
    """One page."""

    page: str
    role: str
    person: str
    done: int
    planned: int
    labels: dict[str, dict[str, int]]
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
    agreement: list[Figures]
    distributions: list[Distribution]
    seconds: float | None
    votes: int
    adjudicated: int
    remarks: pl.DataFrame = field(repr=False)

    @property
    def free(self) -> int:
        """Seats that nobody has taken."""
        return sum(rater.state is RaterState.FREE for rater in self.raters)

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
        return [rater for rater in self.raters if rater.state not in AWAY]

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
        away = (RaterState.EXCLUDED, RaterState.ERASED)
        return [rater for rater in self.raters if rater.state not in away]


def overview(studies: Studies, name: str) -> Overview:
    """Everything about a study as it stands."""
    study = studies.study(name)
    plan, seats = study_plan(studies, name), studies.seats(name)
    everybody = study_votes(studies, name, excluded=True)
    out = {seat.code for seat in seats if seat.state is RaterState.EXCLUDED}
    votes = everybody.filter(~pl.col("rater").is_in(out))
    agreement = study_agreement(studies, name, votes)
    remarks = study_remarks(studies, name)
    seconds = page_seconds(everybody)
    usual = seconds.filter(~pl.col("rater").is_in(out))["seconds"].median()
    return Overview(
        study=study,
        raters=_raters(studies, study, seats, plan, everybody, remarks, seconds, _number(usual), agreement),
        pages=_pages(studies, name, seats, plan, votes, remarks),
        agreement=agreement,
        distributions=_distributions(votes),
        seconds=_number(usual),
        votes=votes.height,
        adjudicated=adjudicated_votes(studies, name).height,
        remarks=remarks,
    )


def _raters(
    studies: Studies,
    study: Study,
    seats: list[Seat],
    plan: list[PlannedPage],
    votes: pl.DataFrame,
    remarks: pl.DataFrame,
    seconds: pl.DataFrame,
    usual: float | None,
    agreement: list[Figures],
) -> list[RaterNumbers]:
    planned, done = Counter(one.seat for one in plan), Counter(one.seat for one in plan if one.done)
    gold, attention = (check_raters(studies, study.name, role) for role in (Role.GOLD, Role.ATTENTION))
    skipped = Counter(votes.filter(pl.col("status") == "skipped")["rater"])
    flags = Counter(remarks.filter(pl.col("question") == "flag")["rater"])
    places = shown_places(votes)
    found = []
    for seat in seats:
        timed = seconds.filter(pl.col("rater") == seat.code)["seconds"]
        median = _number(timed.median())
        checks = gold.get(seat.code, GoldScore()), attention.get(seat.code, GoldScore())
        where = Counter(places.filter(pl.col("rater") == seat.code)["place"])
        compared = (figures.with_others.get(seat.code) for figures in agreement)
        found.append(
            RaterNumbers(
                seat=seat.seat,
                code=seat.code,
                kind=rater_kind(seat, study.config.simulated),
                state=seat.state,
                reason=seat.reason,
                warning=seat.progress.get("warning"),
                done=done[seat.seat],
                planned=planned[seat.seat],
                joined=seat.joined,
                seen=seat.seen,
                finished=seat.finished,
                seconds=median,
                gold=checks[0],
                attention=checks[1],
                cannot_tell=skipped[seat.code],
                flags=flags[seat.code],
                with_others=next((estimate for estimate in compared if estimate is not None), None),
                concerns=tuple(concerns(*checks, median, len(timed), usual, where)),
            )
        )
    return found


def _pages(
    studies: Studies,
    name: str,
    seats: list[Seat],
    plan: list[PlannedPage],
    votes: pl.DataFrame,
    remarks: pl.DataFrame,
) -> list[PageNumbers]:
    away = {seat.seat for seat in seats if seat.state in (RaterState.EXCLUDED, RaterState.ERASED)}
    counted = [one for one in plan if one.seat not in away]
    planned, done = Counter(one.page for one in counted), Counter(one.page for one in counted if one.done)
    labels: dict[str, dict[str, dict[str, int]]] = {}
    given = votes.filter(pl.col("label").is_not_null())
    for page, question, target, label in given.select("page", "question", "target", "label").iter_rows():
        about = f"{question}: {target}" if target else question
        held = labels.setdefault(page, {}).setdefault(about, {})
        held[label] = held.get(label, 0) + 1
    remarked = {
        what: Counter(remarks.filter(pl.col("question") == what)["page"]) for what in ("flag", "note")
    }
    noted = Counter(votes.filter(pl.col("note").is_not_null())["page"])
    return [
        PageNumbers(
            page.id,
            page.role,
            page.person,
            done[page.id],
            planned[page.id],
            labels.get(page.id, {}),
            remarked["flag"][page.id],
            remarked["note"][page.id] + noted[page.id],
        )
        for page in studies.pages(name)
    ]


def _distributions(votes: pl.DataFrame) -> list[Distribution]:
    places = shown_places(votes)
    found = []
    for key, part in votes.group_by("question", maintain_order=True):
        question = str(key[0])
        counts = Counter(part["label"].drop_nulls())
        skipped = part.filter(pl.col("status") == "skipped").height
        if counts or skipped:
            where = Counter(places.filter(pl.col("question") == question)["place"])
            found.append(
                Distribution(question, dict(sorted(counts.items())), skipped, dict(sorted(where.items())))
            )
    return found


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
