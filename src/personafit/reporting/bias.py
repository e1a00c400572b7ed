"""What pulls at raters besides the person's good, and whether it pulls at people too.

Choices: one regression per rater, all effects jointly: the order shown, length, mentioning the person (overlap with their profile, and
naming them), and the rater's own family of models. The same regression on gold gives people's effect, and the two are
compared on the same items by a stacked sandwich, clustered by person (and by prompt where prompts recur): a judge that likes
long answers is biased only if it likes them more than people do. A steady judge's coefficients are larger than those of people
with the same tastes, so people's are first put on the judge's scale, which the other features set.

Yes or no, and marks: each effect is a difference of two means of the rater's answers, with a feature (hedged, on a long list, longer,
naming the attribute) and without it, or shown first and shown last. People's effect is that on their own answers to the same units, and
the two are compared unit by unit. `level` is how far its answers are above people's as a whole.

All effects of a run are tested together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from personafit._errors import UserError
from personafit.kinds import run_lines
from personafit.kinds.choice_scores import choices_of
from personafit.kinds.lines import UNIT_SCALE, Feature, Line, Reference, RunLines
from personafit.reporting.analysis import Analysis, benchmark_of, choice_hints, figure_cell, small_notes
from personafit.reporting.answer_pairs import own_family, pair_features
from personafit.reporting.calibration import has_truth, vote_shares
from personafit.reporting.claims import (
    FEATURES,
    ClaimWords,
    FigureUnit,
    Pull,
    always_words,
    claim,
    fitted_words,
    legend_for,
    pull_words,
)
from personafit.reporting.claims.subjects import (
    UNBOUNDED,
    level_words,
    order_words,
    own_pull_words,
    unit_pull_words,
)
from personafit.reporting.claims.wording import POINTS
from personafit.reporting.compare import MARKS
from personafit.reporting.pieces import Cell, Grid, Piece, Row, Section, Sentences
from personafit.reporting.report import ReportPart
from personafit.reporting.results import CONTROL_RATERS, Result, RunScores
from personafit.statistics import Estimate, cluster_mean
from personafit.statistics.agreement import Floats
from personafit.statistics.bias import (
    SEPARATED,
    Fit,
    Taste,
    as_odds,
    effect,
    fit_choices,
    taste_difference,
)
from personafit.statistics.decisions import (
    MARGIN,
    Hypothesis,
    HypothesisTest,
    decide_together,
    log_odds_margin,
)
from personafit.statistics.preferences import clustered, group_difference, group_difference_gap
from personafit.store import TIE, RunRecord, Store

LARGE = 99.95  # odds beyond this, and below one over it, are not told apart


@dataclass(frozen=True)
class Effect:
    """One pull at one rater: odds ratios of the rater, of people, and the first over people's at the rater's steadiness."""

    name: str
    judge: Estimate
    people: Estimate
    difference: Estimate
    pull: Pull | None
    """The tests of all three in log-odds, beside all others of the report; None for a rater of which nothing is claimed."""
    always: int = 0
    """1 where every choice goes with this feature, -1 where every choice goes against it."""

    @property
    def words(self) -> str:
        """The effect in a sentence part that follows the rater's name."""
        if self.pull is None:
            return fitted_words(self.name)
        return always_words(self.name, self.always) if self.always else pull_words(self.name, self.pull)


@dataclass(frozen=True)
class _Measured:
    """One pull at one rater, in log-odds and not yet tested."""

    name: str
    judge: Estimate
    people: Estimate
    taste: Taste
    always: int = 0

    @property
    def tests(self) -> tuple[Hypothesis, Hypothesis, Hypothesis]:
        """The judge's effect, people's, and the difference, each against none."""
        difference = Hypothesis(self.taste.difference, p=self.taste.p, se=self.taste.se)
        return Hypothesis(self.judge), Hypothesis(self.people), difference


@dataclass(frozen=True)
class RaterBias:
    """All pulls at one rater under the headline view."""

    rater: dict[str, Any]
    view: str
    first_share: Estimate
    effects: tuple[Effect, ...]
    coverage: float | None
    people_are: str
    """What stands for people: their votes, their gold labels, or why there is nothing."""
    met_people: str | None = None
    """The sentence that says the rater was fitted on people of this run."""


def judge_bias(store: Store, scores: RunScores, margin: float = MARGIN) -> list[RaterBias]:
    """The pulls at every rater of a run, all tested together; `margin` is how far from a coin still counts as no preference."""
    view, items = scores.headline_view, pair_features(store, scores)
    shares = vote_shares(store, scores) if has_truth(scores) else {}
    side = pl.when(pl.col("gold") == TIE).then(0.5).otherwise((pl.col("gold") == "0").cast(pl.Float64))
    gold = pl.when(pl.col("gold").is_not_null()).then(side) if has_truth(scores) else pl.lit(None, pl.Float64)
    voted = pl.col("item").replace_strict(shares, default=None, return_dtype=pl.Float64)
    # People and prompts only tell which rows belong together: numbers do that faster than texts.
    numbers = pl.col("person", "prompt").rank("dense")
    items = items.with_columns(pl.coalesce(voted, gold).alias("people"), numbers)
    if shares:
        people_are = "people's effect is that on their votes"
    elif has_truth(scores):
        people_are = f"people's effect is that on the gold '{scores.info['gold']}'"
    else:
        people_are = "the gold only says which answer was tested: there is no human effect to compare with"
    fits = _PeopleFits()
    measured = [_of_rater(scores, rater, view, items, people_are, fits) for rater in scores.raters]
    return _tested(measured, margin)


def bias_legend(found: Sequence[RaterBias]) -> list[str]:
    """How the claims are tested, where any is."""
    pulls = [effect.pull for rater in found for effect in rater.effects if effect.pull is not None]
    return legend_for(finding for pull in pulls for finding in (pull.judge, pull.difference))


def _tested(measured: Sequence[tuple[RaterBias, Sequence[_Measured]]], margin: float) -> list[RaterBias]:
    """Test the effects of all raters together: every judge's, its differences from people's, and people's own once.

    Raters that were fitted on people of the run are not tested, as nothing is claimed of them.
    """
    every = [
        test
        for rater, effects in measured
        if rater.met_people is None
        for one in effects
        for test in one.tests
    ]
    distinct = list(dict.fromkeys(every))  # raters who answered the same items share people's effect
    tested = decide_together([replace(one, margin=log_odds_margin(margin)) for one in distinct])
    found = dict(zip(distinct, tested, strict=True))
    return [
        replace(
            rater,
            effects=tuple(
                Effect(
                    one.name,
                    as_odds(one.judge),
                    as_odds(one.people),
                    as_odds(one.taste.difference),
                    None if rater.met_people is not None else Pull(*(found[test] for test in one.tests)),
                    one.always,
                )
                for one in effects
            ),
        )
        for rater, effects in measured
    ]


class _PeopleFits:
    """Fits the human bias model once per set of items and reuses it across raters."""

    def __init__(self) -> None:
        self._made: list[tuple[pl.DataFrame, Fit]] = []

    def of(self, rows: pl.DataFrame, names: list[str]) -> Fit:
        """The regression of what people chose on these rows."""
        told = rows.select("item", *names)
        for known, fit in self._made:
            if known.equals(told):
                return fit
        fit = _fit(rows, names, "people")
        self._made.append((told, fit))
        return fit


def _of_rater(
    scores: RunScores,
    rater: dict[str, Any],
    view: str,
    items: pl.DataFrame,
    people_are: str,
    fits: _PeopleFits,
) -> tuple[RaterBias, list[_Measured]]:
    asked = scores.scores[rater["fingerprint"], view]
    planned = int(asked["asked"].sum())
    coverage = int(asked["answered"].sum()) / planned if planned else None
    rows = _choices(scores, rater, view, items)
    family, reason = own_family(rater, rows)
    rows = rows.with_columns(pl.Series("family", family, dtype=pl.Float64))
    absent = _absent(rows, rater, reason)
    names = [name for name in FEATURES if name not in absent]
    shared = rows.filter(pl.col("people").is_not_null())
    human_rows = shared.unique("item", maintain_order=True)
    human_names = [name for name in names if name != "position"]
    judge = _fit(rows, names, "choice")
    paired = judge if len(shared) == len(rows) else _fit(shared, names, "choice")
    human = fits.of(human_rows, human_names)
    found = []
    for name in FEATURES:
        if name in absent:
            nothing = Estimate(None, None, None, 0, 0, absent[name])
            found.append(_Measured(name, nothing, nothing, Taste(nothing)))
            continue
        own, always = _bounded(effect(judge, names.index(name))), _always(rows, name)
        if name == "position" or not len(human_rows):
            why = "gold does not say in which order people saw the answers"
            if not len(human_rows):
                why = "no answered item has gold" if has_truth(scores) else people_are
            nothing = Estimate(None, None, None, 0, 0, why)
            found.append(_Measured(name, own, nothing, Taste(nothing), always))
            continue
        theirs = human_names.index(name)
        others = [other for other in human_names if other != name]
        gap = taste_difference(
            paired,
            [names.index(name), *map(names.index, others)],
            human,
            [theirs, *map(human_names.index, others)],
        )
        gap = gap._replace(difference=_bounded(gap.difference))
        found.append(_Measured(name, own, _bounded(effect(human, theirs)), gap, always))
    met = scores.run.met_people.get(rater["fingerprint"])
    first = _first_share(rows, absent.get("position"))
    return RaterBias(rater, view, first, (), coverage, people_are, met), found


def _bounded(log_odds: Estimate) -> Estimate:
    """Log-odds; none where choices are separated, because the size is then the ridge's alone."""
    if log_odds.note == SEPARATED:
        return Estimate(None, None, None, log_odds.n, log_odds.people, UNBOUNDED)
    return log_odds


def shown_odds(estimate: Estimate) -> tuple[str, str]:
    """An odds ratio and its interval as tables show them; empty where there is none."""
    if estimate.value is None:
        return "", ""

    def write(odds: float) -> str:
        if odds > LARGE:
            return "over 99"
        return f"{odds:.2f}" if odds > 1 / LARGE else "under 0.01"

    text = write(estimate.value)
    if estimate.low is None or estimate.high is None:
        return text, ""
    low, high = write(estimate.low), write(estimate.high)
    return text, "" if text == low == high else f"{low}–{high}"


def _choices(scores: RunScores, rater: dict[str, Any], view: str, items: pl.DataFrame) -> pl.DataFrame:
    """Every answered ask: `choice` is 1 for product 0, `position` 1 where it was shown first, −1 where last, 0 unknown."""
    answers = scores.answers
    if answers.is_empty():
        answers = pl.DataFrame(
            schema=dict.fromkeys(("item", "rater", "view", "question", "status", "order", "label"), pl.String)
        )
    label, order = pl.col("label"), pl.col("order")
    return items.join(
        answers.filter(
            (pl.col("rater") == rater["fingerprint"])
            & (pl.col("view") == view)
            & (pl.col("question") == scores.run.config["question"])
            & (pl.col("status") == "ok")
        ).select(
            "item",
            pl.when(label == TIE).then(0.5).otherwise((label == "0").cast(pl.Float64)).alias("choice"),
            pl.when(order == "01").then(1.0).when(order == "10").then(-1.0).otherwise(0.0).alias("position"),
        ),
        on="item",
        how="inner",
        maintain_order="left",
    )


def _absent(rows: pl.DataFrame, rater: dict[str, Any], family: str | None) -> dict[str, str]:
    """The effects that cannot be estimated here, and why."""
    if rows.is_empty():
        return dict.fromkeys(FEATURES, "there is no answered choice between two answers")
    if (rows["choice"] == 0.5).all():
        return dict.fromkeys(FEATURES, "every choice is a tie")
    reasons = {
        "position": "it scores each answer by itself: order cannot matter"
        if rater["orders"] == 1
        else "the order shown was not recorded",
        "length": "all answers of a pair are equally long",
        "mention": "both answers of every pair overlap equally with the person",
        "naming": "no pair has one answer that names the person and one that does not",
        "family": family or "",
    }
    return {name: reason for name, reason in reasons.items() if not rows[name].to_numpy().any()}


def _always(rows: pl.DataFrame, name: str) -> int:
    """Whether the feature alone tells every choice apart; a tie must be one in the feature too."""
    lead, toward = rows[name].to_numpy(), 2 * rows["choice"].to_numpy() - 1
    for sign in (1, -1):
        if (np.sign(lead) * sign == np.sign(toward))[lead != 0].all() and not toward[lead == 0].any():
            return sign
    return 0


def _fit(rows: pl.DataFrame, names: list[str], column: str) -> Fit:
    design = rows.select(names).to_numpy() if names else np.empty((len(rows), 0))
    people, prompts = rows["person"].to_numpy(), rows["prompt"].to_numpy()
    return fit_choices(design, rows[column].to_numpy(), people, prompts)


def _first_share(rows: pl.DataFrame, absent: str | None) -> Estimate:
    if absent is not None:
        return Estimate(None, None, None, 0, 0, absent)
    seen = rows.filter(pl.col("position") != 0)
    toward: Floats = np.where(
        seen["position"].to_numpy() > 0, seen["choice"].to_numpy(), 1 - seen["choice"].to_numpy()
    )
    people, prompts = seen["person"].to_numpy(), seen["prompt"].to_numpy()
    return cluster_mean(toward, people, prompts, (0.0, 1.0))


def bias_results(biases: list[RaterBias]) -> Iterator[Result]:
    """One record per number: `bias_length`, `bias_length_people`, and `bias_length_over_people`, the judge's over people's at
    the judge's steadiness."""
    for bias in biases:
        yield _result(bias, "first_share", bias.first_share, None)
        for found in bias.effects:
            yield _result(bias, f"bias_{found.name}", found.judge, None)
            yield _result(bias, f"bias_{found.name}_people", found.people, None)
            yield _result(
                bias,
                f"bias_{found.name}_over_people",
                found.difference,
                f"{bias.rater['name']} {found.words}",
            )


def _result(bias: RaterBias, metric: str, estimate: Estimate, words: str | None) -> Result:
    note = (
        words
        if words and estimate.note and estimate.note in words
        else "; ".join(filter(None, [words, estimate.note]))
    )
    result = Result.of(
        estimate,
        rater=bias.rater["name"],
        view=bias.view,
        metric=metric,
        coverage=bias.coverage,
        control=CONTROL_RATERS.get(bias.rater["name"]),
        fingerprint=bias.rater["fingerprint"],
        note=note or None,
    )
    return replace(result, met_people=bias.met_people is not None)


# -- yes or no, and marks ----------------------------------------------------------------------------------------------------

NOBODY = "people said nothing of these units"
NO_ORDER = "it was not known in which order people saw the answers"


@dataclass(frozen=True)
class LineEffect:
    """One pull at one rater: on its answers, on people's, and by how much the first is larger."""

    line: Line
    reference: Reference
    name: str
    words: ClaimWords
    judge: Estimate
    people: Estimate
    difference: Estimate
    tested: HypothesisTest | None = None
    """The test of the difference, or of the rater's own effect where people's is not known."""
    alone: bool = False
    """Whether the rater's own effect is tested, as there is nothing of people's to compare it with."""
    met: str | None = None
    """The sentence that says the rater was fitted on people of this run: nothing is claimed of it."""

    @property
    def decisive(self) -> Estimate:
        """What is tested: the difference from people, else the rater's own effect."""
        return self.judge if self.alone else self.difference

    @property
    def unit(self) -> FigureUnit:
        """Points for shares, marks for marks."""
        return POINTS if self.reference.bounds == UNIT_SCALE else MARKS

    def sentence(self) -> str:
        """The effect in words."""
        if self.tested is None:
            return f"{self.line.rater}: {self.met or f'nothing can be said of {self.name}'}"
        figure = (
            f"effect on {self.reference.metric}" if self.alone else f"{self.reference.metric}, over people's"
        )
        return claim(str(self.line.rater), self.tested, self.words, figure, self.unit)


LEVEL, POSITION = "level", "position"


def line_bias(opened: RunLines, margin: float = MARGIN) -> list[LineEffect]:
    """The pulls at every rater of a run, under the view that counts; `margin` is a share of the scale."""
    if not opened.references:
        raise UserError(
            f"{opened.run.name} is a {opened.kind} run, {opened.why_no_people}: nobody can be biased."
        )
    if not opened.features:
        raise UserError(
            f"{opened.run.name} is a {opened.kind} run: its raters see one thing at a time and nothing is known of it that could "
            f"pull at them; `personafit agree {opened.run.name}` says how far they are from people."
        )
    found = []
    for reference in opened.references:
        lines = [line for line in opened.lines if reference.answer in line.frame.columns]
        headline = opened.headline_view(lines)
        for line in lines:
            if line.view == headline and line.fingerprint in opened.rater_kinds:
                met = opened.run.met_people.get(str(line.fingerprint))
                found += [replace(one, met=met) for one in _effects(line, reference, opened.features)]
    wanted = any(
        one.line.asked_for for one in found
    )  # what controls do is shown, and claimed only where nobody else was asked
    tested = [
        one
        for one in found
        if one.met is None and one.decisive.value is not None and (one.line.asked_for or not wanted)
    ]
    decided = decide_together(
        [
            Hypothesis(one.decisive, margin=margin * (one.reference.bounds[1] - one.reference.bounds[0]))
            for one in tested
        ]
    )
    verdicts = {id(one): verdict for one, verdict in zip(tested, decided, strict=True)}
    return [replace(one, tested=verdicts.get(id(one))) for one in found]


def _effects(line: Line, reference: Reference, features: Sequence[Feature]) -> Iterator[LineEffect]:
    answered = line.frame.filter(pl.col(reference.answer).is_not_null())
    shared = answered.filter(pl.col(reference.people).is_not_null())
    nothing = Estimate(None, None, None, 0, 0, NOBODY)
    level = nothing
    if len(shared):
        gap = shared[reference.answer].cast(pl.Float64) - shared[reference.people].cast(pl.Float64)
        level = clustered(gap, shared["person"], shared["prompt"])
    yield LineEffect(
        line,
        reference,
        LEVEL,
        level_words(reference.metric),
        _mean(answered, reference.answer, reference.bounds),
        _mean(shared, reference.people, reference.bounds),
        level,
    )
    for feature in features:
        pulls = _pull(answered, shared, reference, feature)
        alone = shared.is_empty()
        words = own_pull_words(feature.words) if alone else unit_pull_words(feature.words)
        yield LineEffect(line, reference, feature.name, words, *pulls, alone=alone)
    if reference.orders is not None:
        both = line.frame.filter(pl.all_horizontal(pl.col(reference.orders).is_not_null()))
        first, last = (both[name].cast(pl.Float64) for name in reference.orders)
        own = Estimate(None, None, None, 0, 0, "it was not asked in both orders")
        if len(both):
            own = clustered((first - last) / 2, both["person"], both["prompt"])
        unknown = Estimate(None, None, None, 0, 0, NO_ORDER)
        yield LineEffect(line, reference, POSITION, order_words(), own, unknown, unknown, alone=True)


def _pull(
    answered: pl.DataFrame, shared: pl.DataFrame, reference: Reference, feature: Feature
) -> tuple[Estimate, Estimate, Estimate]:
    """The effect of a feature on the rater's answers, on people's, and the difference of the two on the units of both."""
    nothing = Estimate(None, None, None, 0, 0, NOBODY)
    known = answered.with_columns(feature.inside(answered).alias("inside")).filter(
        pl.col("inside").is_not_null()
    )
    both = shared.with_columns(feature.inside(shared).alias("inside")).filter(pl.col("inside").is_not_null())
    said = known[reference.answer].cast(pl.Float64)
    ours = (
        group_difference(said, known["inside"], known["person"], known["prompt"]) if len(known) else nothing
    )
    if not len(both):
        return ours, nothing, nothing
    one, other = (both[name].cast(pl.Float64) for name in (reference.answer, reference.people))
    where = both["inside"], both["person"], both["prompt"]
    return ours, group_difference(other, *where), group_difference_gap(one, other, *where)


def _mean(frame: pl.DataFrame, column: str, bounds: tuple[float, float]) -> Estimate:
    if frame.is_empty():
        return Estimate(None, None, None, 0, 0, NOBODY)
    return clustered(frame[column].cast(pl.Float64), frame["person"], frame["prompt"], bounds)


def line_bias_results(found: Sequence[LineEffect]) -> Iterator[Result]:
    """One record per number: `bias_NAME`, `bias_NAME_people`, and `bias_NAME_over_people`, the rater's minus people's."""
    for one in found:
        for ending, estimate in (("", one.judge), ("_people", one.people), ("_over_people", one.difference)):
            said = one.sentence() if estimate is one.decisive and one.tested is not None else None
            result = Result.of(
                estimate,
                metric=f"bias_{one.name}{ending}",
                rater=one.line.rater,
                system=one.line.system,
                given=one.line.given,
                view=one.line.view,
                control=one.line.control,
                fingerprint=one.line.fingerprint,
                note="; ".join(filter(None, [said, estimate.note])) or None,
            )
            yield replace(result, met_people=one.met is not None)


# -- pieces ------------------------------------------------------------------------------------------------------------------

LEAD = (
    "What moves each judge besides the person: position, length, mention of the person, its own model family, all in one regression. A judge "
    "that likes long answers is biased only if it likes them more than people do."
)
ODDS_CAPTION = "Odds ratios (1 is no bias), 95 % intervals below."
ODDS_NOTE = (
    "Judge over people: above 1 is more than people, who are put on the judge’s scale by the other features, as a steadier judge has larger "
    "odds ratios with the same tastes. Position: for the answer shown first; length: per standard deviation of log length; mention: per "
    "standard deviation of overlap with the person; naming and family: yes or no. “always” and “never”: every choice goes with the "
    "feature, or against it. Intervals cluster by person and, where prompts recur, by prompt."
)
ALWAYS = {1: "always", -1: "never"}


def analyze_bias(store: Store, run: RunRecord, margin: float = MARGIN) -> Analysis:
    """The pulls at every rater of a run of any kind; `margin` is how far from none still counts as none."""
    scores = choices_of(store, run)
    if scores is not None:
        found = judge_bias(store, scores, margin)
        results, (sentences, pieces) = list(bias_results(found)), choice_pieces(found)
    else:
        effects = line_bias(run_lines(store, run), margin)
        results, (sentences, pieces) = list(line_bias_results(effects)), line_pieces(run, effects)
    part = ReportPart(run.name, f"Bias of the judges of {run.name}", sentences, pieces)
    return Analysis(benchmark_of(store, run), results, part, hints=choice_hints(scores))


def bias_section(store: Store, scores: RunScores, margin: float = MARGIN) -> Section | None:
    """The pulls at the judges of a run of choices; None where nothing can be said of any."""
    sentences, pieces = choice_pieces(judge_bias(store, scores, margin))
    if not any(isinstance(one, Grid) for one in pieces):
        return None
    return Section("Bias of the judges", [Sentences(sentences), *pieces], LEAD)


def choice_pieces(found: Sequence[RaterBias]) -> tuple[list[str], list[Piece]]:
    """What pulls at the raters asked for in words, one row per rater and pull, and why the others cannot be measured."""
    rows, said, controls = [], [], []
    silent: dict[str, list[str]] = {}
    for one in found:
        name = one.rater["name"]
        if one.met_people:
            said.append(one.met_people)
            continue
        if one.first_share.value is not None and not one.rater["control"]:
            said.append(
                f"{name}: takes the answer shown first in {100 * one.first_share.value:.1f} % of its choices."
            )
        for pull in one.effects:
            if pull.judge.value is None and not pull.always:
                silent.setdefault(pull.words.replace(name, "it"), []).append(name)
                continue
            judge = Cell(ALWAYS[pull.always]) if pull.always else _odds(pull.judge)
            cells = [judge, _odds(pull.people), _odds(pull.difference)]
            rows.append(Row([name, pull.name], cells, CONTROL_RATERS.get(name)))
            if not one.rater["control"]:
                said.append(f"{name}: {pull.words}.")
            elif pull.always:
                controls.append(f"{name}: {pull.words}.")
    reasons = [f"{', '.join(names)}: {why}." for why, names in silent.items()]
    notes = small_notes([*controls, *reasons, *bias_legend(found)])
    if not rows:
        return said, [*notes]
    people = found[0].people_are
    note = f"{people[0].upper()}{people[1:]}. {ODDS_NOTE}"
    columns = ["judge", "people", "judge over people"]
    grid = Grid("Biases of the judges", ODDS_CAPTION, ["rater", "feature"], columns, rows, note=note)
    return said, [grid, *notes]


def line_pieces(run: RunRecord, found: Sequence[LineEffect]) -> tuple[list[str], list[Piece]]:
    """What pulls at raters that say yes or no or give marks: the tested effects in words, and all of them in a table."""
    said = [one.sentence() for one in found if one.tested is not None]
    rows = [
        Row(
            [str(one.line.rater), one.name],
            [figure_cell(each, one.unit.scale) for each in (one.judge, one.people, one.difference)],
            one.line.control,
        )
        for one in found
    ]
    caption = "On the scale of their answers (shares in %), 95 % intervals below."
    columns = ["on the rater", "on people", "difference"]
    grid = Grid("Biases of the raters", caption, ["rater", "feature"], columns, rows)
    notes = small_notes(legend_for(one.tested for one in found))
    return [*run.met_people.values(), *said], [grid, *notes]


def _odds(estimate: Estimate) -> Cell:
    return Cell() if estimate.value is None else Cell(*shown_odds(estimate), estimate.value)
