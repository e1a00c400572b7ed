"""What pulls at every judge of a run besides the person's good, and whether it pulls at people too.

One regression per rater, all effects jointly: the order shown, length, mentioning the person (overlap with their profile, and
naming them), and the rater's own family of models. The same regression on gold gives people's effect, and the two are
compared on the same items by a stacked sandwich, clustered by person (and by prompt where prompts recur): a judge that likes
long answers is biased only if it likes them more than people do. A steady judge's coefficients are larger than those of people
with the same tastes, so people's are first put on the judge's scale, which the other features set.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from personafit.reporting.bias_features import own_family, pair_features
from personafit.reporting.claims import FEATURES, Pull, always_words, fitted_words, legend_for, pull_words
from personafit.reporting.claims.bias import UNBOUNDED
from personafit.reporting.graded import has_truth, vote_shares
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
from personafit.statistics.decisions import MARGIN, decide_together, log_odds_margin
from personafit.statistics.decisions import Hypothesis as Tested
from personafit.store import TIE, Store

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
    def tests(self) -> tuple[Tested, Tested, Tested]:
        """The judge's effect, people's, and the difference, each against none."""
        difference = Tested(self.taste.difference, p=self.taste.p, se=self.taste.se)
        return Tested(self.judge), Tested(self.people), difference


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
    """People's own regression: raters who answered the same items share it."""

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
