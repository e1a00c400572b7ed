"""The PersonaFeedback paper's takeaways as contrasts: what a stored run says of each, and what the published figures say.

Reasoning, size, reward models and retrieved memory. On a run a contrast is paired by item and has a clustered interval; on
published figures it is arithmetic on a table over which nothing was sampled by us, and is marked "no interval".
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import orjson
import polars as pl

from personafit._hashing import content_hash
from personafit.benchmarks.personafeedback import PUBLISHED
from personafit.contexts import is_remembered
from personafit.reporting.asked import stored_settings
from personafit.reporting.claims import Pair, difference_claim, no_claim
from personafit.reporting.results import RunScores
from personafit.reporting.tables import columns_of
from personafit.statistics import Estimate, paired_difference
from personafit.statistics.decisions import Hypothesis, decide_together
from personafit.store import Store

NO_INTERVAL = "published figures, no interval"
PAPER = "PersonaFeedback, arXiv 2506.12915"
HALVES = (("specific", "specific"), ("general", "general"), ("all", ""))
# Models of one base that the paper reports with and without training to reason.
SAME_BASE = (
    ("R1-Distill-Qwen-32B", "Qwen2.5-32B-Instruct"),
    ("R1-Distill-Qwen-14B", "Qwen2.5-14B-Instruct"),
    ("Deepseek-R1", "Deepseek-V3"),
)


@dataclass(frozen=True)
class Contrast:
    """One difference or trend; in points of accuracy as fractions, unless the measure says otherwise."""

    takeaway: str
    measure: str
    slice: dict[str, str]
    value: float | None
    low: float | None
    high: float | None
    n: int
    people: int
    source: str
    published: bool
    sentence: str

    def as_dict(self) -> dict[str, Any]:
        """The record as a plain object."""
        return asdict(self)


def contrasts(store: Store, scores: RunScores) -> list[Contrast]:
    """Everything that can be said of the takeaways: from the run first, then from the published figures."""
    return [*reasoning_contrasts(store, scores), *memory_contrasts(scores), *published_contrasts()]


@dataclass(frozen=True)
class RunDifference:
    """A difference within a run, to be tested together with the others of its takeaway."""

    subject: str
    """The rater they are of."""
    first: str
    second: str
    heading: tuple[str, dict[str, str]]
    gap: Estimate
    met_people: tuple[str, ...] = ()
    """Raters fitted on people of the run, of whom nothing is claimed."""
    also: str = ""
    """What is said after the claim."""


# -- on a run --------------------------------------------------------------------------------------------------------


def reasoning_contrasts(store: Store, scores: RunScores) -> list[Contrast]:
    """Raters that differ in nothing but their effort, paired by item: accuracy and thinking tokens, by slice.

    The base is whoever thought least, by tokens and not by name: a model without an effort set may well think.
    """
    view = scores.headline_view
    planned = []
    for group in _same_but_effort(store, scores):
        effort = {rater["fingerprint"]: setting or "unset" for rater, setting in group}
        ranked = sorted(group, key=lambda pair: _thinking(scores, pair[0], view, None) or 0.0)
        base = ranked[0][0]
        for more, _ in ranked[1:]:
            for heading, items in _slices(scores):
                gap = _gap(scores, (more, view), (base, view), items)
                tokens = [_thinking(scores, rater, view, items) for rater in (more, base)]
                names = [f"effort {effort[rater['fingerprint']]}" for rater in (more, base)]
                thought = " against ".join("unknown" if n is None else f"{n:,.0f}" for n in tokens)
                planned.append(
                    RunDifference(
                        more["name"],
                        names[0],
                        names[1],
                        heading,
                        gap,
                        _met(scores, more, base),
                        f" Thinking tokens an ask: {thought}.",
                    )
                )
    return _of_run(scores, "reasoning", planned)


def memory_contrasts(scores: RunScores) -> list[Contrast]:
    """Views of one rater against each other, paired by item: memories against nothing, the profile against both.

    What a model made of the memories stands against the memories themselves too, and each against somebody else's.
    """
    memories = [view for view in scores.views if is_remembered(view)]
    plain = [view for view in memories if view.startswith("memory") and "+" not in view]
    pairs = [(memory, "none") for memory in memories]
    pairs += [(memory, bare) for memory in memories if memory not in plain for bare in plain]
    pairs += [(memory, f"wrong:{memory}") for memory in memories]
    pairs += [("profile", other) for other in (*memories, "none")]
    asked = [rater for rater in scores.raters if not rater["control"]] or scores.raters
    planned = [
        RunDifference(
            rater["name"],
            f"shown {first}",
            f"shown {second}",
            heading,
            _gap(scores, (rater, first), (rater, second), items),
            _met(scores, rater),
        )
        for rater in asked
        for first, second in pairs
        if first in scores.views and second in scores.views
        for heading, items in _slices(scores)
    ]
    return _of_run(scores, "memory", planned)


def _met(scores: RunScores, *raters: dict[str, Any]) -> tuple[str, ...]:
    met = scores.run.met_people
    return tuple(dict.fromkeys(rater["name"] for rater in raters if rater["fingerprint"] in met))


def _gap(
    scores: RunScores,
    first: tuple[dict[str, Any], str],
    second: tuple[dict[str, Any], str],
    items: pl.DataFrame,
) -> Estimate:
    """The paired difference between two raters under a view each, on some items."""
    frames = [scores.scores[rater["fingerprint"], view] for rater, view in (first, second)]
    one, two = (frame.join(items, on="item", how="semi") for frame in frames)
    return paired_difference(one, two, "accuracy")


def _same_but_effort(store: Store, scores: RunScores) -> list[list[tuple[dict[str, Any], str | None]]]:
    settings = stored_settings(store)
    groups: dict[str, list[tuple[dict[str, Any], str | None]]] = {}
    for rater in scores.raters:
        known = settings.get(rater["fingerprint"], {})
        if "effort" in known:
            rest = {name: value for name, value in known.items() if name != "effort"}
            groups.setdefault(content_hash([rater["kind"], rest]), []).append((rater, known["effort"]))
    return [group for group in groups.values() if len(group) > 1]


def _thinking(
    scores: RunScores, rater: dict[str, Any], view: str, items: pl.DataFrame | None
) -> float | None:
    if scores.answers.is_empty():
        return None
    asks = scores.answers.filter(
        (pl.col("rater") == rater["fingerprint"])
        & (pl.col("view") == view)
        & (pl.col("target") == "")
        & (pl.col("status") == "ok")
    )
    tokens = (asks if items is None else asks.join(items, on="item", how="semi"))["tokens_reasoning"]
    return float(tokens.to_numpy().mean()) if len(tokens) else None


def _slices(scores: RunScores) -> Iterator[tuple[tuple[str, dict[str, str]], pl.DataFrame]]:
    for heading, where in columns_of(scores):
        items = scores.items.filter(*(pl.col(name) == value for name, value in where.items()))
        if len(items):
            yield (heading, where), items.select("item")


def _of_run(scores: RunScores, takeaway: str, planned: Sequence[RunDifference]) -> list[Contrast]:
    """The contrasts of one takeaway, over all raters and slices, tested together."""
    found = []
    for one, tested in zip(planned, decide_together([Hypothesis(one.gap) for one in planned]), strict=True):
        name, where = one.heading
        place = f" on {name}" if where else ""
        pair = Pair(one.first, one.second, place=place, subject=f"{one.subject}: ")
        said = no_claim(pair, tested, one.met_people) if one.met_people else difference_claim(pair, tested)
        gap = one.gap
        found.append(
            Contrast(
                takeaway,
                "difference in accuracy",
                where,
                gap.value,
                gap.low,
                gap.high,
                gap.n,
                gap.people,
                f"run {scores.run.name}",
                False,
                said + one.also,
            )
        )
    return found


# -- on the published figures ----------------------------------------------------------------------------------------


def published_contrasts() -> list[Contrast]:
    """The same questions put to the paper's own tables."""
    rows: list[dict[str, Any]] = orjson.loads(PUBLISHED.read_bytes())["scores"]
    main = [row for row in rows if row["source"] == f"{PAPER}, Table 3"]
    settings = [row for row in rows if row["source"] == f"{PAPER}, Table 7"]
    return [*_reasoning(main), *_size(main), *_reward(main), *_memory(settings)]


def _reasoning(rows: Sequence[dict[str, Any]]) -> Iterator[Contrast]:
    by_kind = {kind: [row for row in rows if row["kind"] == kind] for kind in ("reasoning", "chat")}
    by_model = {row["model"]: [row] for row in rows}
    pairs = [("reasoning models", by_kind["reasoning"], "chat models", by_kind["chat"])]
    pairs += [(one, by_model[one], two, by_model[two]) for one, two in SAME_BASE]
    for one, first, two, second in pairs:
        for heading, key in HALVES:
            means = [_mean(group, key) for group in (first, second)]
            said = f"On {heading} questions: {one} {means[0]:.1f}, {two} {means[1]:.1f}"
            yield _published(
                "reasoning",
                "difference in accuracy",
                key,
                (means[0] - means[1]) / 100,
                len(first) + len(second),
                "Table 3",
                said,
            )


def _size(rows: Sequence[dict[str, Any]]) -> Iterator[Contrast]:
    from scipy.stats import spearmanr

    sized = [row for row in rows if row["kind"] == "open-source" and row["size"]]
    families = {
        "open-source models": sized,
        "Qwen2.5 models": [row for row in sized if row["family"] == "Qwen2.5"],
    }
    for name, group in families.items():
        for heading, key in HALVES:
            size = np.log2([row["size"] for row in group])
            score = np.array([row["scores"][key] for row in group])
            rank = float(spearmanr(size, score).statistic)
            slope = float(np.polyfit(size, score, 1)[0])
            models = f"{len(group)} {name}, {heading} questions"
            said = f"Over {models}, size and accuracy rank together with Spearman {rank:.2f}"
            yield _published("size", "Spearman correlation with size", key, rank, len(group), "Table 3", said)
            said = f"Over {models}, a doubling of size goes with {slope:+.1f} points"
            yield _published(
                "size", "slope per doubling of size", key, slope / 100, len(group), "Table 3", said
            )


def _reward(rows: Sequence[dict[str, Any]]) -> Iterator[Contrast]:
    reward = [row for row in rows if row["kind"] == "reward"]
    for name, others in (
        ("chat models", [row for row in rows if row["kind"] == "chat"]),
        ("open-source models", [row for row in rows if row["kind"] == "open-source"]),
    ):
        means = {key: (_mean(reward, key), _mean(others, key)) for key in ("specific", "general")}
        gaps = {key: one - two for key, (one, two) in means.items()}
        said = "; ".join(f"{key} {one:.1f} against {two:.1f}" for key, (one, two) in means.items())
        more = gaps["specific"] - gaps["general"]
        side = "lower" if more < 0 else "higher"
        words = (
            f"Reward models against {name}: {said}; measured by these, they stand {abs(more):.1f} points {side} "
            "on specific questions than on general ones"
        )
        models = len(reward) + len(others)
        yield _published(
            "reward", "difference of differences in accuracy", "", more / 100, models, "Table 3", words
        )


def _memory(rows: Sequence[dict[str, Any]]) -> Iterator[Contrast]:
    by_view: dict[str, dict[str, float]] = {}
    for row in rows:
        by_view.setdefault(row["view"], {})[row["model"]] = row["scores"][""]
    for first, second in (("memory+filter", "none"), ("profile", "memory+filter"), ("profile", "none")):
        gaps = [by_view[first][model] - by_view[second][model] for model in by_view[first]]
        mean, ahead = float(np.mean(gaps)), sum(gap > 0 for gap in gaps)
        said = (
            f"Shown {first} instead of {second}, {ahead} of {len(gaps)} models score higher, "
            f"by {mean:.1f} points on average ({min(gaps):+.1f} to {max(gaps):+.1f})"
        )
        yield _published("memory", "difference in accuracy", "", mean / 100, len(gaps), "Table 7", said)


def _mean(rows: Sequence[dict[str, Any]], key: str) -> float:
    return float(np.mean([row["scores"][key] for row in rows]))


def _published(
    takeaway: str, measure: str, half: str, value: float, models: int, table: str, said: str
) -> Contrast:
    where = {"half": half} if half else {}
    sentence = f"{said} ({NO_INTERVAL})."
    return Contrast(
        takeaway, measure, where, value, None, None, models, 0, f"{PAPER}, {table}", True, sentence
    )
