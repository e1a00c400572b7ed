"""Bias of raters: which features besides the fit to the person move their answers, and whether they move people's too.

Choices: one regression per rater, all effects jointly: the order shown, length, mention of the person (overlap with the profile, and
naming them), and the rater's own family of models. The same regression on gold gives people's effect, and the two are compared on the
same items by a stacked sandwich, clustered by person (and by prompt where prompts recur): a judge that likes long answers is biased
only if it likes them more than people do. A steady judge's coefficients are larger than those of people with the same tastes, so
people's are first put on the judge's scale, which the other features set.

Yes or no, and marks: each effect is a difference of two means of the rater's answers, with a feature (hedged, on a long list, longer,
naming the attribute) and without it, or shown first and shown last. People's effect is that on their own answers to the same units, and
the two are compared unit by unit. `level` is how far the rater's answers are above people's as a whole.

All effects of a run are tested together.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from personafit._errors import UserError
from personafit.kinds import run_lines
from personafit.kinds.choice import RunScores, choices_of
from personafit.kinds.lines import CONTROL_RATERS, UNIT_SCALE, Feature, Line, Reference, RunLines
from personafit.reports.analysis import (
    Analysis,
    answers_of,
    benchmark_of,
    choice_hints,
    grouped_reasons,
    has_truth,
    judged_lines,
    small_notes,
    undefined,
    vote_shares,
)
from personafit.reports.answer_pairs import own_family, pair_features
from personafit.reports.claims import (
    MARKS,
    ODDS,
    POINTS,
    ClaimWords,
    FigureUnit,
    claim,
    legend_for,
    null_words,
)
from personafit.reports.line_results import line_coverage, line_result
from personafit.reports.pieces import Cell, Grid, Piece, Row, figure_cell
from personafit.reports.report import ReportPart
from personafit.reports.result import Result
from personafit.statistics import Estimate, cluster_mean
from personafit.statistics.bias import (
    NO_SCALE,
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
    Conclusion,
    Hypothesis,
    HypothesisTest,
    decide_together,
    log_odds_margin,
)
from personafit.statistics.preferences import group_difference, group_difference_gap
from personafit.store import TIE, RunRecord, Store

FEATURES = {
    "position": ("the answer shown first", "the answer shown last"),
    "length": ("the longer answer", "the shorter answer"),
    "mention": ("the answer that mentions more of the person", "the answer that mentions less of the person"),
    "naming": ("the answer that names the person", "the answer that does not name the person"),
    "family": ("the answer of its own family", "the answer of another family"),
}
"""Feature of choices → what a rater with a positive effect prefers, and what one with a negative effect prefers."""
UNBOUNDED = "undefined: these features tell every choice apart, so the odds have no upper bound"
DECIDED = "the features together decide every choice, which leaves nothing to measure"


@dataclass(frozen=True)
class Effect:
    """The effect of one feature on a rater's answers, on people's, and their difference (odds ratios where raters choose)."""

    name: str
    judge: Estimate
    people: Estimate
    difference: Estimate
    unit: FigureUnit
    say: Callable[[Sequence[HypothesisTest]], str] = field(compare=False)
    """Writes the claim that the tests support."""
    hypotheses: tuple[Hypothesis, ...] = ()
    tests: tuple[HypothesisTest, ...] = ()
    """The hypotheses tested together with all others of the run; empty for a rater about which nothing is claimed."""
    alone: bool = False
    """Whether the rater's own effect is tested, because there is no human effect to compare it with."""

    @property
    def sentence(self) -> str | None:
        """The effect as a sentence; None if nothing is claimed."""
        return self.say(self.tests) if self.tests else None

    @property
    def why_not(self) -> str | None:
        """Why the rater's own effect is undefined; None if it has a value."""
        return (
            DECIDED if self.judge.note == UNBOUNDED else self.judge.note if self.judge.value is None else None
        )

    @property
    def cells(self) -> list[Cell]:
        return [figure_cell(one, self.unit.scale) for one in (self.judge, self.people, self.difference)]


@dataclass(frozen=True)
class RaterBias:
    """The effects on one rater under the headline context."""

    line: Line
    effects: Sequence[Effect]
    met_people: str | None
    """The sentence that the rater was fitted on people of this run, if it was: nothing is claimed of it."""
    people_are: str = ""
    """Where people's effect comes from: their votes, gold labels, or why there is none."""
    first_share: Estimate | None = None
    """How often the rater chooses the answer shown first; None for raters that do not choose."""


def _tested(found: Sequence[RaterBias]) -> list[RaterBias]:
    """Test the effects of all raters together, except raters fitted on people of the run.

    Raters who answered the same items share people's effect, which is tested once.
    """
    claimed = [one for rater in found if rater.met_people is None for one in rater.effects]
    distinct = list(dict.fromkeys(hypothesis for one in claimed for hypothesis in one.hypotheses))
    tests = dict(zip(distinct, decide_together(distinct), strict=True))

    def tested(one: Effect) -> Effect:
        return replace(one, tests=tuple(tests[hypothesis] for hypothesis in one.hypotheses))

    return [
        rater if rater.met_people else replace(rater, effects=[tested(one) for one in rater.effects])
        for rater in found
    ]


# -- choices -----------------------------------------------------------------------------------------------------------------


def judge_bias(store: Store, scores: RunScores, margin: float = MARGIN) -> list[RaterBias]:
    """Estimate and test the effects on every rater of a run of choices; a preference within `margin` of 50 % counts as none."""
    items = pair_features(store, scores)
    shares = vote_shares(store, scores) if has_truth(scores) else {}
    side = pl.when(pl.col("gold") == TIE).then(0.5).otherwise((pl.col("gold") == "0").cast(pl.Float64))
    gold = pl.when(pl.col("gold").is_not_null()).then(side) if has_truth(scores) else pl.lit(None, pl.Float64)
    voted = pl.col("item").replace_strict(shares, default=None, return_dtype=pl.Float64)
    # People and prompts are only cluster keys, and numbers are faster than strings.
    numbers = pl.col("person", "prompt").rank("dense")
    items = items.with_columns(pl.coalesce(voted, gold).alias("people"), numbers)
    if shares:
        people_are = "people's effect is that on their votes"
    elif has_truth(scores):
        people_are = f"people's effect is that on the gold '{scores.info['gold']}'"
    else:
        people_are = "the gold only says which answer was tested: there is no human effect to compare with"
    fits: PeopleFits = []
    found = [
        _of_rater(scores, rater, items, people_are, fits, log_odds_margin(margin)) for rater in scores.raters
    ]
    return _tested(found)


PeopleFits = list[tuple[pl.DataFrame, Fit]]
"""Items with their features, and the regression of people's choices on them: computed once per set of items and reused across raters."""


def _people_fit(rows: pl.DataFrame, names: list[str], known: PeopleFits) -> Fit:
    told = rows.select("item", *names)
    fit = next((fit for seen, fit in known if seen.equals(told)), None)
    if fit is None:
        fit = _fit(rows, names, "people")
        known.append((told, fit))
    return fit


def _of_rater(
    scores: RunScores,
    rater: dict[str, Any],
    items: pl.DataFrame,
    people_are: str,
    fits: PeopleFits,
    margin: float,
) -> RaterBias:
    context, fingerprint, called = scores.headline_context, rater["fingerprint"], rater["name"]
    rows = _choices(scores, rater, items)
    family, reason = own_family(rater, rows)
    rows = rows.with_columns(pl.Series("family", family, dtype=pl.Float64))
    absent = _absent(rows, rater, reason)
    names = [name for name in FEATURES if name not in absent]
    shared = rows.filter(pl.col("people").is_not_null())
    human_rows = shared.unique("item", maintain_order=True)
    human_names = [name for name in names if name != "position"]
    judge = _fit(rows, names, "choice")
    paired = judge if len(shared) == len(rows) else _fit(shared, names, "choice")
    human = _people_fit(human_rows, human_names, fits)
    why = "gold does not say in which order people saw the answers"
    if human_rows.is_empty():
        why = "no answered item has gold" if has_truth(scores) else people_are

    def made(name: str, own: Estimate, people: Estimate, gap: Taste) -> Effect:
        def say(tests: Sequence[HypothesisTest]) -> str:
            return f"{called}: {_preference(name, *tests)}."

        asked = (
            Hypothesis(own, margin=margin),
            Hypothesis(people, margin=margin),
            Hypothesis(gap.difference, margin=margin, p=gap.p, se=gap.se),
        )
        odds = as_odds(own), as_odds(people), as_odds(gap.difference)
        return Effect(name, *odds, ODDS, say, asked)

    effects = []
    for name in FEATURES:
        if name in absent:
            nothing = undefined(absent[name])
            effects.append(made(name, nothing, nothing, Taste(nothing)))
            continue
        own = _bounded(effect(judge, names.index(name)))
        if name == "position" or human_rows.is_empty():
            effects.append(made(name, own, undefined(why), Taste(undefined(why))))
            continue
        order = [name, *(other for other in human_names if other != name)]
        gap = taste_difference(paired, [*map(names.index, order)], human, [*map(human_names.index, order)])
        theirs = _bounded(effect(human, human_names.index(name)))
        gap = gap._replace(difference=_bounded(gap.difference))
        effects.append(made(name, own, theirs, gap))
    line = Line.of(rater, context, scores.scores[fingerprint, context], CONTROL_RATERS.get(called))
    met, first = scores.run.met_people.get(fingerprint), _first_share(rows, absent.get("position"))
    return RaterBias(line, effects, met, people_are, first)


def _bounded(log_odds: Estimate) -> Estimate:
    """Return the log-odds, undefined where choices are separated, as the ridge penalty alone then sets their size."""
    if log_odds.note == SEPARATED:
        return Estimate(None, None, None, log_odds.n, log_odds.people, UNBOUNDED)
    return log_odds


def _choices(scores: RunScores, rater: dict[str, Any], items: pl.DataFrame) -> pl.DataFrame:
    """Return every answered ask: `choice` is 1 for product 0; `position` is 1 if it was shown first, −1 if last, 0 if unknown."""
    label, order = pl.col("label"), pl.col("order")
    said = answers_of(scores, rater).select(
        "item",
        pl.when(label == TIE).then(0.5).otherwise((label == "0").cast(pl.Float64)).alias("choice"),
        pl.when(order == "01").then(1.0).when(order == "10").then(-1.0).otherwise(0.0).alias("position"),
    )
    return items.join(said, on="item", how="inner", maintain_order="left")


def _absent(rows: pl.DataFrame, rater: dict[str, Any], family: str | None) -> dict[str, str]:
    """Return the effects that cannot be estimated, with the reason."""
    if rows.is_empty():
        return dict.fromkeys(FEATURES, "there is no answered choice between two answers")
    if (rows["choice"] == 0.5).all():
        return dict.fromkeys(FEATURES, "every choice is a tie")
    reasons = {
        "position": "it scores each answer by itself, so order cannot matter"
        if rater["orders"] == 1
        else "the order shown was not recorded",
        "length": "all answers of a pair are equally long",
        "mention": "both answers of every pair overlap equally with the person",
        "naming": "no pair has one answer that names the person and one that does not",
        "family": family or "",
    }
    return {name: reason for name, reason in reasons.items() if not rows[name].to_numpy().any()}


def _fit(rows: pl.DataFrame, names: list[str], column: str) -> Fit:
    design = rows.select(names).to_numpy() if names else np.empty((len(rows), 0))
    people, prompts = rows["person"].to_numpy(), rows["prompt"].to_numpy()
    return fit_choices(design, rows[column].to_numpy(), people, prompts)


def _first_share(rows: pl.DataFrame, absent: str | None) -> Estimate:
    if absent is not None:
        return undefined(absent)
    seen = rows.filter(pl.col("position") != 0)
    toward = pl.when(pl.col("position") > 0).then("choice").otherwise(1 - pl.col("choice"))
    return _mean(seen.with_columns(toward.alias("toward")), "toward", UNIT_SCALE)


def _preference(feature: str, judge: HypothesisTest, people: HypothesisTest, gap: HypothesisTest) -> str:
    """Describe a feature's effect on a judge, compared with people; the result follows the judge's name in a sentence."""
    if judge.verdict is Conclusion.UNDEFINED:
        why = DECIDED if judge.estimate.note == UNBOUNDED else judge.estimate.note
        return f"{feature} cannot be measured: {why}"
    if judge.p is None:
        return f"{feature} has {judge.estimate.note}"
    more, less = FEATURES[feature]
    said = f"shows no clear preference by {feature} ({null_words(judge, ODDS)})"
    if judge.decided:
        said = f"prefers {more if judge.verdict is Conclusion.ABOVE else less}"
    if judge.decided and people.decided and judge.verdict is not people.verdict:
        return f"{said}, unlike people, who prefer {more if people.verdict is Conclusion.ABOVE else less}"
    if gap.estimate.note == NO_SCALE:
        return f"{said}; this cannot be compared with people, who do not clearly go by any other feature"
    if gap.p is None:
        return said
    if not gap.decided:
        equal = " and equivalent" if gap.verdict is Conclusion.EQUIVALENT else ""
        return f"{said}; not distinguishable from people{equal} ({null_words(gap, ODDS)})"
    if not judge.decided:
        return f"{said}; people lean to {less if gap.verdict is Conclusion.ABOVE else more} more than it does"
    return f"{said} {'more' if judge.verdict is gap.verdict else 'less'} than people do"


# -- yes or no, and marks ----------------------------------------------------------------------------------------------------

NOBODY = "people did not rate these units"
NO_ORDER = "the order in which people saw the answers is not known"
LEVEL, POSITION = "level", "position"
LEVELS = ClaimWords(
    "is above people in {}",
    "is below people in {}",
    "is not distinguishable from people in {}",
    "is like people in {}",
    "has the very {} of people",
)
BESIDE_PEOPLE = ClaimWords(
    "favours {} more than people do",
    "favours {} less than people do",
    "is not shown to favour {} more or less than people do",
    "favours {} as much as people do",
    "treats {} exactly as people do",
)
OWN = ClaimWords(
    "favours {}",
    "disfavours {}",
    "is not shown to favour or disfavour {}",
    "treats {} like others",
    "treats {} exactly like others",
)
ORDER = ClaimWords(
    "favours the answer shown first",
    "favours the answer shown last",
    "is not shown to favour either place",
    "favours neither place",
    "gives the same marks in both orders",
)


def line_bias(opened: RunLines, margin: float = MARGIN) -> list[RaterBias]:
    """Estimate and test the effects on every rater of a run that is not of choices; `margin` is a share of the scale."""
    if not opened.references:
        raise UserError(
            f"{opened.run.name} is a run of {opened.kind} items, {opened.why_no_people}: there is no judge whose bias could be measured."
        )
    if not opened.features:
        raise UserError(
            f"{opened.run.name} is a run of {opened.kind} items: its raters rate one product at a time, and no feature of products is "
            f"recorded that could bias them; `personafit agree {opened.run.name}` says how far they are from people."
        )
    judged = [(line, one) for one in opened.references for line in judged_lines(opened, one)]
    # Effects on controls are shown, but claimed only if all raters are controls.
    wanted = any(line.asked_for for line, _ in judged)
    found = []
    for line, reference in judged:
        width = margin * (reference.bounds[1] - reference.bounds[0])
        effects = _effects(line, reference, opened.features, width if line.asked_for or not wanted else None)
        found.append(RaterBias(line, effects, opened.run.met_people.get(str(line.fingerprint))))
    return _tested(found)


def _effects(
    line: Line, reference: Reference, features: Sequence[Feature], margin: float | None
) -> list[Effect]:
    """Return the effects on a line's answers; without a margin none is tested."""
    answered = line.frame.filter(pl.col(reference.answer).is_not_null())
    shared = answered.filter(pl.col(reference.people).is_not_null())
    unit = POINTS if reference.bounds == UNIT_SCALE else MARKS

    def made(name: str, words: ClaimWords, *estimates: Estimate, alone: bool = False) -> Effect:
        judge, people, difference = estimates
        figure = f"effect on {reference.metric}" if alone else f"{reference.metric}, over people's"
        decisive = judge if alone else difference
        tested = margin is not None and decisive.value is not None
        asked = (Hypothesis(decisive, margin=margin or 0.0),) if tested else ()

        def say(tests: Sequence[HypothesisTest]) -> str:
            return claim(str(line.rater), tests[0], words, figure, unit)

        return Effect(name, judge, people, difference, unit, say, asked, alone=alone)

    gap = pl.col(reference.answer).cast(pl.Float64) - pl.col(reference.people).cast(pl.Float64)
    level = _mean(shared.with_columns(gap.alias("gap")), "gap")
    own = _mean(answered, reference.answer, reference.bounds)
    theirs = _mean(shared, reference.people, reference.bounds)
    effects = [made(LEVEL, LEVELS.about(reference.metric), own, theirs, level)]
    alone = shared.is_empty()
    for feature in features:
        words = (OWN if alone else BESIDE_PEOPLE).about(feature.words)
        effects.append(
            made(feature.name, words, *_feature_effect(answered, shared, reference, feature), alone=alone)
        )
    if reference.orders is not None:
        both = line.frame.filter(pl.all_horizontal(pl.col(reference.orders).is_not_null()))
        first, last = (pl.col(name).cast(pl.Float64) for name in reference.orders)
        own = _mean(
            both.with_columns(ahead=(first - last) / 2), "ahead", none="it was not asked in both orders"
        )
        unknown = undefined(NO_ORDER)
        effects.append(made(POSITION, ORDER, own, unknown, unknown, alone=True))
    return effects


def _feature_effect(
    answered: pl.DataFrame, shared: pl.DataFrame, reference: Reference, feature: Feature
) -> tuple[Estimate, Estimate, Estimate]:
    """Return a feature's effect on the rater's answers, on people's, and the difference of the two on units with both."""
    nothing = undefined(NOBODY)
    known, both = (
        rows.with_columns(feature.inside(rows).alias("inside")).filter(pl.col("inside").is_not_null())
        for rows in (answered, shared)
    )
    ours = nothing
    if len(known):
        said = known[reference.answer].cast(pl.Float64)
        ours = group_difference(said, known["inside"], known["person"], known["prompt"])
    if not len(both):
        return ours, nothing, nothing
    one, other = (both[name].cast(pl.Float64) for name in (reference.answer, reference.people))
    where = both["inside"], both["person"], both["prompt"]
    return ours, group_difference(other, *where), group_difference_gap(one, other, *where)


def _mean(
    frame: pl.DataFrame, column: str, bounds: tuple[float, float] | None = None, none: str = NOBODY
) -> Estimate:
    if frame.is_empty():
        return undefined(none)
    return cluster_mean(frame[column].cast(pl.Float64), frame["person"], frame["prompt"], bounds)


# -- results and report -------------------------------------------------------------------------------------------------------

FITTED = "was fitted on people of this run: what it goes by here ({}) is no evidence"
LEAD = (
    "What moves each judge besides the person: position, length, mention of the person, its own model family, all in one regression. A judge "
    "that likes long answers is biased only if it likes them more than people do."
)
OVER_NOTE = (
    "Judge over people: above 1 is more than people, who are put on the judge’s scale by the other features, as a steadier judge has larger "
    "odds ratios with the same tastes. "
)
ODDS_NOTE = (
    "Position: for the answer shown first; length: per standard deviation of log length; mention: per standard deviation of overlap with "
    "the person; naming and family: yes or no."
)


def bias_results(found: Sequence[RaterBias]) -> Iterator[Result]:
    """Yield one record per number: `bias_NAME`, `bias_NAME_people`, and `bias_NAME_over_people`, which is the rater's effect over people's
    at the rater's steadiness where raters choose, and otherwise the rater's minus people's."""
    for bias in found:
        if bias.first_share is not None:
            yield _result(bias, "first_share", bias.first_share, None)
        for one in bias.effects:
            said = f"{bias.line.rater} {FITTED.format(one.name)}" if bias.met_people else one.sentence
            estimates = {"": one.judge, "_people": one.people, "_over_people": one.difference}
            for ending, estimate in estimates.items():
                tested = ending == ("" if one.alone else "_over_people")
                yield _result(bias, f"bias_{one.name}{ending}", estimate, said if tested else None)


def _result(bias: RaterBias, metric: str, estimate: Estimate, said: str | None) -> Result:
    repeated = said is not None and estimate.note is not None and estimate.note in said
    notes = [said] if repeated else [said, estimate.note]
    note, line = "; ".join(filter(None, notes)) or None, bias.line
    result = line_result(line, estimate, metric, coverage=line_coverage(line.frame), note=note)
    return replace(result, met_people=bias.met_people is not None)


def analyze_bias(
    store: Store, run: RunRecord, margin: float = MARGIN, scores: RunScores | None = None
) -> Analysis:
    """Analyse the bias of every rater of a run of any kind; effects within `margin` count as none in equivalence tests."""
    scores = scores or choices_of(store, run)
    found = line_bias(run_lines(store, run), margin) if scores is None else judge_bias(store, scores, margin)
    part = ReportPart(run.name, f"Bias of the judges of {run.name}", *bias_pieces(found))
    return Analysis(benchmark_of(store, run), list(bias_results(found)), part, hints=choice_hints(scores))


def bias_pieces(found: Sequence[RaterBias]) -> tuple[list[str], list[Piece]]:
    """Return sentences on the raters asked for, a table with a row per rater and effect, and why other effects cannot be measured."""
    rows, said = [], []
    silent: dict[tuple[str, str], list[str]] = {}
    wanted = any(one.line.asked_for for one in found)
    for one in found:
        name, share, asked_for = str(one.line.rater), one.first_share, one.line.asked_for
        if one.met_people:
            said.append(one.met_people)
            continue
        if share is not None and share.value is not None and asked_for:
            said.append(f"{name}: takes the answer shown first in {100 * share.value:.1f} % of its choices.")
        for found_effect in one.effects:
            if found_effect.why_not is not None:
                silent.setdefault((name, found_effect.why_not.replace(name, "it")), []).append(
                    found_effect.name
                )
            elif found_effect.sentence and (asked_for or not wanted):
                said.append(found_effect.sentence)
            if any(cell.text for cell in found_effect.cells):
                rows.append(Row([name, found_effect.name], found_effect.cells, one.line.control))
    notes = grouped_reasons(
        (name, f"{', '.join(features)} cannot be measured: {why}") for (name, why), features in silent.items()
    )
    small = small_notes([*notes, *legend_for(test for one in found for e in one.effects for test in e.tests)])
    rows = [row for row in rows if row.cells[0].text]  # people's effect alone says nothing about a judge
    if not rows:
        return (said, [*small]) if said else (notes, [])
    caption, over = "On the scale of their answers (shares in %), 95 % intervals below.", "difference"
    note, people = "", found[0].people_are
    if people:
        caption, over = "Odds ratios (1 is no bias), 95 % intervals below.", "judge over people"
        beside = OVER_NOTE if any(row.cells[-1].text for row in rows) else ""
        note = f"{people[0].upper()}{people[1:]}. {beside}{ODDS_NOTE}"
    columns = ["judge", "people", over]
    grid = Grid("Biases of the judges", caption, ["rater", "feature"], columns, rows, note=note).filled()
    return list(dict.fromkeys(said)), [grid, *small]
