"""What a relevance run means, in sentences: does a rater pick what people would, does it pick too much, does it read the
prompt, and does asking for a list help."""

from collections.abc import Iterator, Sequence

from personafit.items.relevance import ALONE
from personafit.reporting import claims
from personafit.reporting.relevance.scores import PUBLISHED, RelevanceScores
from personafit.reporting.results import Result
from personafit.statistics.decisions import Hypothesis, HypothesisTest, decide_together

OVER = 1.2  # from here on a rater is said to pick too much

Totals = dict[tuple[str | None, str | None, str], Result]
LineKey = tuple[str, str]
"""Rater and view."""
Key = tuple[str, str]
"""What is asked, and of which rater."""


def explain_relevance(scores: RelevanceScores, results: Sequence[Result]) -> list[str]:
    """The sentences of a run, all claims tested together; of a rater that met prompts it was fitted on nothing is claimed."""
    totals = {
        (r.rater, r.view, r.metric): r for r in results if not r.slice and r.control not in ("published",)
    }
    own = list(
        dict.fromkeys(
            (str(r.rater), str(r.view))
            for r in results
            if r.control is None and r.view != ALONE and r.metric == "f1" and not r.slice
        )
    )
    controls = _controls(results)
    met = {str(line.rater) for line in scores.lines if line.fingerprint in scores.run.met_people}
    effects = _effects(own, totals, results, controls, met)
    found = dict(zip(effects, decide_together(list(effects.values())), strict=True))
    sentences: list[str] = []
    for rater, view in own:
        sentences += _picks(rater, view, totals, found)
        if rater in met:
            sentences.append(claims.met_sentence(rater, "prompts"))
        if finding := found.get(("control", rater)):
            sentences.append(claims.against_control(rater, controls[0], finding))
        if finding := found.get(("prompt", rater)):
            sentences += claims.without_prompt(rater, finding)
    sentences += _lists(own, totals, found)
    if not own:
        sentences += _baseline(totals)
    return [*sentences, *claims.legend_for(found.values())]


def _effects(
    own: Sequence[LineKey],
    totals: Totals,
    results: Sequence[Result],
    controls: Sequence[str],
    met: set[str],
) -> dict[Key, Hypothesis]:
    """Everything that may be claimed of a run."""
    effects: dict[Key, Hypothesis] = {}
    for rater, view in own:
        if rater in met:
            continue
        over = totals.get((rater, view, "over_selection"))
        if over is not None and over.value is not None:
            effects["over", rater] = Hypothesis(over, null=OVER if over.value > 1 else 1 / OVER)
        # The best of several controls is picked by the data.
        if controls and (found := _difference(rater, "f1", controls[0], results)):
            effects["control", rater] = Hypothesis(found, picked_from=len(controls))
        if found := _difference(rater, "f1", f"{rater} ({ALONE})", results):
            effects["prompt", rater] = Hypothesis(found)
    for rater, model in _listed(own):
        found = _difference(rater, "over_selection", model, results) or _difference(
            model, "over_selection", rater, results
        )
        if found is not None and not {rater, model} & met:
            effects["list", rater] = Hypothesis(found)
    return effects


def _controls(results: Sequence[Result]) -> list[str]:
    """Controls by F1, the one that is hardest to beat first."""
    found = {
        str(r.rater): r.value
        for r in results
        if r.metric == "f1"
        and not r.slice
        and r.view != ALONE
        and r.control not in (None, PUBLISHED, "published")
        and r.value is not None
    }
    return sorted(found, key=lambda name: -found[name])


def _picks(rater: str, view: str, totals: Totals, found: dict[Key, HypothesisTest]) -> Iterator[str]:
    over, precision, recall = (
        totals.get((rater, view, m)) for m in ("over_selection", "precision", "recall")
    )
    if over is None or over.value is None:
        yield f"{rater} has no answer that could be held against people's."
        return
    shown = ", ".join(
        f"{name} {100 * one.value:.1f} %"
        for name, one in (("precision", precision), ("recall", recall))
        if one is not None and one.value is not None
    )
    yield claims.picks(rater, over.value, found.get(("over", rater)), shown)


def _listed(own: Sequence[LineKey]) -> Iterator[tuple[str, str]]:
    """Raters asked for a list whose model is also asked pair by pair."""
    names = {rater for rater, _ in own}
    for rater in dict.fromkeys(rater for rater, _ in own):
        name = rater.removeprefix("list:")
        model = name if name in names else f"pair:{name}"
        if name != rater and model in names:
            yield rater, model


def _lists(own: Sequence[LineKey], totals: Totals, found: dict[Key, HypothesisTest]) -> Iterator[str]:
    """The same model asked for a list and asked pair by pair."""
    views = dict(reversed(own))  # the first view of each counts
    for rater, model in _listed(own):
        listed, paired = (totals[one, views[one], "over_selection"].value for one in (rater, model))
        finding = found.get(("list", rater))
        if finding is not None and listed is not None and paired is not None:
            yield claims.list_against_pairs(rater.removeprefix("list:"), listed, paired, finding)


def _baseline(totals: Totals) -> Iterator[str]:
    always = totals.get(("rule:always-yes", "none", "f1"))
    if always is not None and always.value is not None:
        yield (
            f"Saying yes to everything has an F1 of {100 * always.value:.1f} %: a rater has to be well above that to know "
            "anything."
        )


def _difference(first: str, metric: str, second: str, results: Sequence[Result]) -> Result | None:
    return next(
        (
            r
            for r in results
            if r.rater == first and r.metric == f"{metric}_difference" and r.slice.get("against") == second
        ),
        None,
    )
