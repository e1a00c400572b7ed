"""What a preference run means, in sentences."""

from collections.abc import Iterator, Sequence

from personafit.items.preference import HIGHEST, LOWEST, MIDDLE
from personafit.reporting import claims
from personafit.reporting.preference.results import RULE
from personafit.reporting.preference.scores import PreferenceScores
from personafit.reporting.results import Result
from personafit.statistics.decisions import MARGIN, Hypothesis, HypothesisTest, decide_together

Index = dict[tuple[str | None, str], Result]


def explain_preferences(scores: PreferenceScores, results: Sequence[Result]) -> list[str]:
    """The sentences of a run, all claims tested together."""
    index: Index = {
        (r.fingerprint or r.rater, r.metric): r
        for r in results
        if r.system is None and r.control != "published" and r.slice in ({}, {"detector": RULE}) and r.rater
    }
    judges = [line for line in scores.lines if line.control not in ("longer answer", "mention")]
    lines = [(str(line.rater), str(line.fingerprint)) for line in judges]
    people = [] if scores.people_are is None else [(scores.people_are, scores.people_are)]
    found = _tested([key for _, key in (*lines, *people)], index)
    said: list[str] = []
    for name, key in lines:
        said += _preference(name, key, index, found)
        said += _pulls(name, key, found)
        said += _agreement(scores, name, key, index)
    for name, key in people:
        said += _preference(name, key, index, found)
        said += _pulls(name, key, found)
    said += _rates(results)
    if scores.people_are is None:
        said.append(
            "No ratings by people come with these answers: whether a judge is right cannot be said here."
        )
    elif scores.people_are == "simulated":
        said.append(
            "The ratings that judges are held against are simulated: they show that the tables work, and nothing else."
        )
    return [*said, *claims.legend_for(found.values())]


def _tested(keys: Sequence[str], index: Index) -> dict[tuple[str, str], HypothesisTest]:
    """Every mark against the middle of the scale, and every effect against none."""
    effects: dict[tuple[str, str], Hypothesis] = {}
    for key in keys:
        for metric, null in (("rating", float(MIDDLE)), ("position_effect", 0.0), ("mention_effect", 0.0)):
            row = index.get((key, metric))
            if row is not None and row.value is not None and not row.met_people:
                effects[key, metric] = Hypothesis(row, null, MARGIN * (HIGHEST - LOWEST))
    return dict(zip(effects, decide_together(list(effects.values())), strict=True))


def _preference(
    name: str, key: str, index: Index, found: dict[tuple[str, str], HypothesisTest]
) -> Iterator[str]:
    mark, share = index[key, "rating"], index[key, "no_better_items"]
    if mark.value is None:
        yield f"{name} gave no mark that could be read."
        return
    tail = (
        ""
        if share.value is None
        else f", and {100 * share.value:.0f} % of them no better than the generic ones"
    )
    yield claims.mean_mark(name, mark.value, found.get((key, "rating")), tail)


def _pulls(name: str, key: str, found: dict[tuple[str, str], HypothesisTest]) -> Iterator[str]:
    """What pulls at a rater besides the person: the place of an answer, and naming the attribute."""
    for metric, said in (("position_effect", claims.position_pull), ("mention_effect", claims.mention_pull)):
        if finding := found.get((key, metric)):
            yield from said(name, finding)


def _agreement(scores: PreferenceScores, name: str, key: str, index: Index) -> Iterator[str]:
    found = index[key, "spearman"]
    ceiling = index.get((scores.people_are, "human_spearman"))
    if found.value is None:
        return
    beside = "; single raters' agreement is not known here"
    if ceiling is not None and ceiling.value is not None:
        beside = f"; two {scores.people_are} raters correlate at {ceiling.value:.2f}"
    yield f"{name} correlates with {scores.people_are} marks at {found.value:.2f}{beside}."


def _rates(results: Sequence[Result]) -> Iterator[str]:
    rates = [
        r
        for r in results
        if r.metric == "mention_rate_items" and r.system and r.slice == {"detector": RULE} and not r.control
    ]
    if rates:
        listed = "; ".join(
            f"{r.system}{f' ({r.given})' if r.given else ''} {100 * (r.value or 0):.0f} %"
            for r in rates
            if r.value is not None
        )
        yield f"Answers that name at least one attribute, by rule: {listed}."
