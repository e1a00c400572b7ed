"""Which items of a run a study is about: drawn evenly over the range of a metric, so that rare marks are seen as often as common ones."""

from collections import defaultdict
from collections.abc import Container, Mapping
from statistics import fmean

from sqlalchemy import func, select

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.store import RunRecord, Status, Store
from personafit.store import tables as t

ACCURACY, MARGIN = "accuracy", "margin"
STRATA = 5


def stratified_sample(
    store: Store, run: RunRecord | None, metric: str, count: int | None, seed: int, among: Container[str]
) -> dict[str, float]:
    """Ids of so many items of a run, of those there are, evenly over a metric, each with its design weight."""
    if run is None:
        raise UserError("--stratify: metrics are a run's; name one with --from RUN.")
    if count is None:
        raise UserError("--stratify says over what to sample; say how many with --limit N.")
    metrics = metric_values(store, run)
    if metric not in metrics:
        known = ", ".join(sorted(metrics)) or "none; nobody has judged it yet"
        raise UserError(
            f"--stratify {metric}: {run.name} has no such metric for its items; there are: {known}."
        )
    return stratified({item: value for item, value in metrics[metric].items() if item in among}, count, seed)


def metric_values(store: Store, run: RunRecord) -> dict[str, dict[str, float]]:
    """What a run's raters said of each item on average, by metric: accuracy and margin of choices, the marks of all else."""
    ask, judgment = t.asks.c, t.judgments.c
    query = (
        select(judgment.question, judgment.item, func.avg(judgment.value).label("mean"))
        .select_from(
            t.run_jobs.join(t.asks, ask.job == t.run_jobs.c.job).join(t.judgments, judgment.ask == ask.id)
        )
        .where(t.run_jobs.c.run == run.id, judgment.status == Status.OK.value, judgment.value.is_not(None))
        .group_by(judgment.question, judgment.item)
    )
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for rows in store.stream(query, 1000):
        for row in rows:
            found[row.question][row.item] = float(row.mean)
    if run.config.get("kind", "choice") != "choice" or "raters" not in run.config:
        return dict(found)
    margins = found.get(str(run.config.get("question", "fit")), {})
    sure = {item: abs(value) for item, value in margins.items()}
    accuracies = _accuracies(store, run)
    return {name: values for name, values in ((ACCURACY, accuracies), (MARGIN, sure)) if values}


def _accuracies(store: Store, run: RunRecord) -> dict[str, float]:
    from personafit.reporting import load_scores

    by_item: dict[str, list[float]] = defaultdict(list)
    scores = load_scores(store, run)
    for rater in scores.raters:
        frame = scores.scores[rater["fingerprint"], scores.headline_view]
        for item, accuracy in frame.select("item", "accuracy").drop_nulls().iter_rows():
            by_item[item].append(accuracy)
    return {item: fmean(values) for item, values in by_item.items()}


def stratified(values: Mapping[str, float], count: int, seed: int) -> dict[str, float]:
    """So many ids, evenly over the range of their values, each with its design weight.

    Few distinct values are strata by themselves; many are cut at their quantiles. Within a stratum the draw is seeded. The weight is
    the size of the stratum over how many were drawn from it: for so many items each of the drawn stands.
    """
    distinct = sorted(set(values.values()))
    ranked = sorted(values, key=lambda one: (values[one], hash_text("stratify", str(seed), one)))
    groups: dict[int, list[str]] = {}
    for place, one in enumerate(ranked):
        stratum = distinct.index(values[one]) if len(distinct) <= STRATA else place * STRATA // len(ranked)
        groups.setdefault(stratum, []).append(one)
    for members in groups.values():
        members.sort(key=lambda one: hash_text("draw", str(seed), one))
    sizes = {stratum: len(members) for stratum, members in groups.items()}
    chosen: dict[int, list[str]] = {stratum: [] for stratum in groups}
    drawn = 0
    while drawn < min(count, len(ranked)):
        for stratum, members in groups.items():
            if members and drawn < count:
                chosen[stratum].append(members.pop())
                drawn += 1
    return {one: sizes[stratum] / len(ids) for stratum, ids in chosen.items() for one in ids}
