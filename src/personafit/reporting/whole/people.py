"""The chapter on the people behind people's answers: who rated, how far they got, how they did on what is known, what they said."""

from collections.abc import Mapping
from typing import Any

from personafit.reporting.number_tables import NumberRow
from personafit.reporting.sections import Cell
from personafit.reporting.whole.collected import Collected
from personafit.reporting.whole.content import (
    Chapter,
    Grid,
    Piece,
    Prose,
    Sentences,
    made_chapter,
    percent_cell,
)
from personafit.statistics import Estimate

SIMULATED = (
    "The raters of this study are simulated. They show that everything works and say nothing about people."
)
PLACES = {"0", "1"}  # which answer of a pair, in the order of the data: how often says nothing
Status = Mapping[str, Any]
"""A study as `label status --json` says it."""


def people(given: Collected) -> Chapter:
    """Who rated in each study."""
    return made_chapter(
        "people",
        "Who rated",
        "The people of each study, by pseudonym: how much they answered, how long a page took them, whether they met answers that "
        "are known, and how often each goes with the majority of the others.",
        {name: _pieces(one) for name, one in given.studies.items()},
        "No study was given: `personafit label new NAME --from BENCHMARK` starts one; name it beside the runs.",
    )


def _pieces(one: Status) -> list[Piece]:
    pieces: list[Piece] = [Prose(SIMULATED, "warning")] if one["simulated"] else []
    pieces.append(Sentences(study_words(one)))
    took_part = [rater for rater in one["raters"] if rater["done"]]
    if took_part:
        pieces.append(
            Grid(
                "Raters",
                "Shares in %, 95 % interval over people below; a page in seconds, the median.",
                ["rater", "state"],
                [
                    *("pages", "seconds a page", "goes with the others", "known answers met"),
                    *("attention checks met", "cannot tell", "flagged"),
                ],
                [_rater_row(rater) for rater in took_part],
            ).filled()
        )
    answers = [
        NumberRow([row["question"], label], [_count(count)])
        for row in one["labels"]
        if not set(row["counts"]) <= PLACES
        for label, count in [*row["counts"].items(), ("cannot tell", row["cannot_tell"])]
        if count
    ]
    if answers:
        pieces.append(
            Grid("Answers given", "Counts.", ["question", "answer"], ["times"], answers, folded=True)
        )
    return pieces


def study_words(one: Status) -> list[str]:
    """How far a study got, in a sentence or two."""
    raters = sum(rater["done"] > 0 for rater in one["raters"])
    said = (
        f"{raters} raters gave {one['votes']:,} answers on {one['pages']:,} pages (question “{one['form']}”); "
        f"{one['complete_pages']:,} pages have all the raters they were to have."
    )
    decided = (
        f" {one['adjudicated']:,} answers were decided afterwards by one person."
        if one["adjudicated"]
        else ""
    )
    return [said + decided]


def _rater_row(rater: Mapping[str, Any]) -> NumberRow:
    others = rater["with_others"]
    name = f"{rater['rater']} (simulated)" if rater["kind"] == "simulated" else str(rater["rater"])
    return NumberRow(
        [name, str(rater["state"])],
        [
            _count(rater["done"]),
            Cell()
            if rater["median_seconds"] is None
            else Cell(f"{rater['median_seconds']:.1f}", sort=rater["median_seconds"]),
            percent_cell(
                None if others is None else Estimate(others["value"], others["low"], others["high"], 0, 0)
            ),
            _met(rater["gold"]),
            _met(rater["attention"]),
            _count(rater["cannot_tell"]),
            _count(rater["flags"]),
        ],
    )


def _met(checked: Mapping[str, int]) -> Cell:
    if not checked["answered"]:
        return Cell()
    return Cell(f"{checked['right']} of {checked['answered']}", sort=checked["right"] / checked["answered"])


def _count(count: int) -> Cell:
    return Cell(f"{count:,}", sort=float(count))
