"""What a relevance run means, in sentences: does a rater pick what people would, does it pick too much, does it read the
prompt, and does asking for a list help."""

from collections.abc import Iterator, Sequence

from personafit.items.relevance import ALONE
from personafit.reporting.relevance.scores import PUBLISHED, RelevanceScores
from personafit.reporting.results import Result

OVER = 1.2  # from here on a rater is said to pick too much


def explain_relevance(scores: RelevanceScores, results: Sequence[Result]) -> list[str]:
    """The sentences of a run; a rater that met prompts it was fitted on is not said to beat anything."""
    notes = scores.run.config.get("notes", [])
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
    sentences: list[str] = []
    for rater, view in own:
        sentences += _picks(rater, view, totals)
        if not any(note.startswith(f"{rater} was fitted on") for note in notes):
            sentences += _against_controls(rater, results)
        sentences += _reads_prompt(rater, results)
    sentences += _lists(own, totals, results)
    if not own:
        sentences += _baseline(totals)
    return [sentence.replace(" -", " −") for sentence in sentences]


Totals = dict[tuple[str | None, str | None, str], Result]


def _picks(rater: str, view: str, totals: Totals) -> Iterator[str]:
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
    much = f"{over.value:.1f} times as many attributes as people do"
    if over.low is not None and over.low > OVER:
        yield f"{rater} picks {much}: it over-selects ({shown})."
    elif over.high is not None and over.high < 1 / OVER:
        yield f"{rater} picks {much}: it leaves out what people would use ({shown})."
    else:
        yield f"{rater} picks {much} ({shown})."


def _against_controls(rater: str, results: Sequence[Result]) -> Iterator[str]:
    """Against the control that is hardest to beat."""
    controls = {
        str(r.rater): r
        for r in results
        if r.metric == "f1"
        and not r.slice
        and r.view != ALONE
        and r.control not in (None, PUBLISHED, "published")
        and r.value is not None
    }
    if not controls:
        return
    best = max(controls, key=lambda name: controls[name].value or 0.0)
    found = _difference(rater, "f1", best, results)
    if found is None or found.low is None or found.high is None:
        return
    value = 100 * (found.value or 0)
    if found.low > 0:
        yield f"{rater} beats the best control, {best}, by {value:.1f} points of F1."
    elif found.high < 0:
        yield f"{rater} does worse than the control {best}: {value:+.1f} points of F1."
    else:
        yield f"{rater} is not distinguishable from the control {best} by F1."


def _reads_prompt(rater: str, results: Sequence[Result]) -> Iterator[str]:
    found = _difference(rater, "f1", f"{rater} ({ALONE})", results)
    if found is not None and found.low is not None and found.low <= 0:
        yield f"{rater} does about as well without the prompt: it may judge attributes, not relevance."


def _lists(own: Sequence[tuple[str, str]], totals: Totals, results: Sequence[Result]) -> Iterator[str]:
    """The same model asked for a list and asked pair by pair."""
    views = dict(reversed(own))  # the first view of each counts
    for rater, view in own:
        name = rater.removeprefix("list:")
        model = name if name in views else f"pair:{name}"
        if name == rater or model not in views:
            continue
        listed, paired = totals[rater, view, "over_selection"], totals[model, views[model], "over_selection"]
        if listed.value is None or paired.value is None:
            continue
        by_list, by_pair = (
            _difference(rater, "over_selection", model, results),
            _difference(model, "over_selection", rater, results),
        )
        sign = 1 if by_list is not None else -1
        found = by_list or by_pair
        if found is None or found.value is None or found.low is None or found.high is None:
            continue
        low, high = sorted((sign * found.low, sign * found.high))
        middle = (
            f"it picks {listed.value:.2f} times as many as people, pair by pair {paired.value:.2f} times "
            f"(difference {sign * found.value:+.2f}, {low:+.2f} to {high:+.2f})"
        )
        if high < 0:
            less = "over-selects less" if paired.value > 1 else "picks fewer"
            yield f"Asked for a list, {name} {less}: {middle}."
        elif low > 0:
            yield f"Asked for a list, {name} picks more: {middle}."
        else:
            yield f"A list makes no difference that can be seen for {name}: {middle}."


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
