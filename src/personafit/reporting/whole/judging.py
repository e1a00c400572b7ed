"""The chapters on judges and answers: agreement, bias, aspects, and how the chosen answers fall short."""

from collections.abc import Callable, Sequence
from functools import partial

from personafit._errors import UserError
from personafit.reporting.agree import agreements, ranking_findings
from personafit.reporting.agree_page import print_agreement
from personafit.reporting.agree_ratings import run_source
from personafit.reporting.analysis_tables import print_aspects, print_failures
from personafit.reporting.aspects import aspect_correlations, aspect_results, heat_map
from personafit.reporting.bias import RaterBias, bias_legend, judge_bias, shown_odds
from personafit.reporting.declared import choice_lines_of
from personafit.reporting.failures import answer_failures, failure_results, find_rater
from personafit.reporting.number_tables import NumberRow
from personafit.reporting.results import CONTROL_RATERS
from personafit.reporting.sections import Cell
from personafit.reporting.whole.collected import ChoiceRun, Collected
from personafit.reporting.whole.content import Chapter, Grid, Picture, Piece, Prose, Sentences, made_chapter
from personafit.reporting.whole.printed import printed_pieces
from personafit.statistics import Estimate

HEAT = (
    "How to read it: Pearson’s r over single answers; `chosen` is being the gold’s choice. The fuller the colour the stronger; the "
    "sign stands in the number. Intervals over people are in the table."
)


def agreement(given: Collected) -> Chapter:
    """Raters, people and gold side by side."""
    parts: dict[str, list[Piece]] = {}
    for name, source in given.agreement.items():
        parts[name] = printed_pieces(print_agreement, source, agreements(source, given.margin), ())
    for name, one in given.choices.items():
        parts[name] = _tried(partial(_run_agreement, margin=given.margin), one)
    if given.relevance or given.preferences:
        from personafit.reporting.whole.side_by_side import (
            preference_agreement,
            relevance_agreement,
            study_pieces,
        )

        for name, relevant in given.relevance.items():
            parts[name] = study_pieces(relevance_agreement(given.store, relevant.scores.run))
        for name, preferred in given.preferences.items():
            parts[name] = study_pieces(preference_agreement(preferred.scores, preferred.results))
    return made_chapter(
        "agreement",
        "Agreement",
        "How far raters agree with each other, with people and with gold, beyond what chance would give.",
        parts,
        "Nobody’s answers were given: `personafit label new` starts a study, and its name beside the runs adds this chapter.",
    )


def _run_agreement(one: ChoiceRun, margin: float) -> list[Piece]:
    source = run_source(one.store, one.run, one.scores.answers)
    found = agreements(source, margin)
    return printed_pieces(print_agreement, source, found, ranking_findings(choice_lines_of(one.scores)))


def bias(given: Collected) -> Chapter:
    """What pulls at judges besides the person's good."""
    parts = {
        name: bias_pieces(judge_bias(one.store, one.scores, given.margin))
        for name, one in given.choices.items()
    }
    return made_chapter(
        "bias",
        "Bias",
        "What pulls at each judge besides the person’s good, all pulls in one regression: odds ratios, 1 is none. A judge that "
        "likes long answers is biased only if it likes them more than people do.",
        parts,
        "No run of choices was given: `personafit run starter --rater SPEC` adds one.",
    )


def bias_pieces(found: Sequence[RaterBias]) -> list[Piece]:
    """One line per rater and pull that can be said, what it comes to in words, and why the others cannot be."""
    rows, said = [], []
    silent: dict[str, list[str]] = {}
    for one in found:
        name = one.rater["name"]
        if one.met_people:
            said.append(one.met_people)
            continue
        if one.first_share.value is not None and not one.rater["control"]:
            said.append(
                f"{name} takes the answer shown first in {100 * one.first_share.value:.1f} % of its choices."
            )
        for effect in one.effects:
            if effect.judge.value is None and not effect.always:
                silent.setdefault(effect.words.replace(name, "it"), []).append(name)
                continue
            odds = [_odds(estimate) for estimate in (effect.judge, effect.people, effect.difference)]
            control = CONTROL_RATERS.get(name)
            rows.append(NumberRow([name, effect.name], [*odds, Cell(effect.words)], control))
            if not one.rater["control"]:
                said.append(f"{name} {effect.words}.")
    pieces: list[Piece] = [Sentences([*said, *bias_legend(found)])] if said else []
    if rows:
        people = found[0].people_are
        note = (
            f"{people[0].upper()}{people[1:]}. Position: for the answer shown first; length: per standard deviation of log length; "
            "mention: per standard deviation of overlap with the person; naming and family: yes or no."
        )
        caption = (
            "Odds ratios, 95 % interval below; judge over people, who are put on the judge’s scale by the other features, "
            "above 1 is more than people."
        )
        columns = ["judge", "people", "judge over people", "in words"]
        pieces.append(Grid("What pulls at the judges", caption, ["rater", "pull"], columns, rows, note=note))
    if silent:
        pieces.append(Sentences([f"{', '.join(names)}: {why}." for why, names in silent.items()], small=True))
    return pieces


def aspects(given: Collected) -> Chapter:
    """What aspects of an answer the gold rewards."""
    parts = {name: aspect_pieces(one) for name, one in given.choices.items()}
    return made_chapter(
        "aspects",
        "Aspects",
        "Which of five aspects of an answer the gold rewards: choosing by one aspect alone, tier by tier, and how the aspects "
        "hang together.",
        parts,
        "No run has marks by aspect: `personafit run BENCHMARK --rater aspects:SPEC` gives them.",
    )


def aspect_pieces(one: ChoiceRun) -> list[Piece]:
    """The tables and the heat map; nothing for a run without marks by aspect."""
    try:
        results = aspect_results(one.scores)
    except UserError:  # no rater gave marks by aspect, or no gold to hold them against
        return []
    found = aspect_correlations(one.store, one.scores)
    pictures = [Picture(f"Aspects of {each.rater}", HEAT, heat_map(each)) for each in found if each.pairs]
    return [*pictures, *printed_pieces(print_aspects, one.scores, results, found)]


def shortfalls(given: Collected) -> Chapter:
    """How the answers that raters chose fall short."""
    parts = {name: _tried(failure_pieces, one) for name, one in given.choices.items()}
    return made_chapter(
        "shortfalls",
        "How chosen answers fall short",
        "Counted by rules, no model asked: answers that cram in the person, could be anybody’s, make uncomfortable, do not help, or "
        "contradict what is known. What gold chose and what it rejected stand beside.",
        parts,
        "No run of choices was given: `personafit run starter --rater SPEC` adds one.",
    )


def failure_pieces(one: ChoiceRun) -> list[Piece]:
    """The shares of the first rater that was asked for."""
    who = find_rater(one.scores, None)
    results = failure_results(one.scores, answer_failures(one.store, one.scores, who), who)
    more = f"`personafit failures {one.run.name} --rater NAME` counts another rater’s, with --model also what no rule sees."
    return [
        *printed_pieces(print_failures, one.scores, results),
        Prose(f"The rater is {who['name']}; {more}", "small"),
    ]


def _tried(make: Callable[[ChoiceRun], list[Piece]], one: ChoiceRun) -> list[Piece]:
    """The pieces of a run, or in one line why there are none."""
    try:
        return make(one)
    except UserError as error:
        return [Prose(str(error), "small")]


def _odds(estimate: Estimate) -> Cell:
    return Cell() if estimate.value is None else Cell(*shown_odds(estimate), estimate.value)
