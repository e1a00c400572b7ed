"""What a preference run means, in sentences."""

from collections.abc import Iterator, Sequence

from personafit.items.preference import MIDDLE
from personafit.reporting.preference.results import RULE
from personafit.reporting.preference.scores import PreferenceScores
from personafit.reporting.results import Result

Index = dict[tuple[str | None, str], Result]


def explain_preferences(scores: PreferenceScores, results: Sequence[Result]) -> list[str]:
    """The sentences of a run."""
    index: Index = {
        (r.fingerprint or r.rater, r.metric): r
        for r in results
        if r.system is None and r.control != "published" and r.slice in ({}, {"detector": RULE}) and r.rater
    }
    judges = [line for line in scores.lines if line.control not in ("longer answer", "mention")]
    said: list[str] = []
    for line in judges:
        said += _preference(line.name, line.fingerprint, index)
        said += _position(line.name, line.fingerprint, index)
        said += _mention(line.name, line.fingerprint, index)
        said += _agreement(scores, line.name, line.fingerprint, index)
    if scores.people_are is not None:
        said += _preference(scores.people_are, scores.people_are, index)
        said += _mention(scores.people_are, scores.people_are, index)
    said += _rates(results)
    if scores.people_are is None:
        said.append(
            "No ratings by people come with these answers: whether a judge is right cannot be said here."
        )
    elif scores.people_are == "simulated":
        said.append(
            "The ratings that judges are held against are simulated: they show that the tables work, and nothing else."
        )
    return said


def _preference(name: str, key: str, index: Index) -> Iterator[str]:
    found, share = index[key, "rating"], index[key, "no_better_items"]
    if found.value is None:
        yield f"{name} gave no mark that could be read."
        return
    start = f"{name} marks the personalized answers {found.value:.2f} on average"
    tail = (
        ""
        if share.value is None
        else f", and {100 * share.value:.0f} % of them no better than the generic ones"
    )
    if found.low is not None and found.high is not None and found.low <= MIDDLE <= found.high:
        yield f"{start}, which cannot be told from no preference ({found.low:.2f} to {found.high:.2f}){tail}."
    else:
        yield f"{start}{tail}."


def _position(name: str, key: str, index: Index) -> Iterator[str]:
    found = index.get((key, "position_effect"))
    if found is None or found.value is None or found.low is None or found.high is None:
        return
    if found.low > 0 or found.high < 0:
        side = "first" if found.value > 0 else "last"
        yield f"{name} leans to the answer shown {side} by {abs(found.value):.2f} points; both orders are averaged."


def _mention(name: str, key: str, index: Index) -> Iterator[str]:
    found = index[key, "mention_effect"]
    if found.value is None or found.low is None or found.high is None:
        return
    if found.low > 0:
        yield f"{name} marks answers that name the attribute higher, by {found.value:.2f}."
    elif found.high < 0:
        yield f"{name} marks answers that name the attribute lower, by {-found.value:.2f}."


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
