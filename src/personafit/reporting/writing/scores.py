"""A run of writing read back: every text of every system under every context, and the texts that need no writing, measured."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from personafit.benchmarks.lamp.writing import MAKERS
from personafit.reporting.results import Result
from personafit.statistics import Estimate, mean_by_item, paired_difference
from personafit.statistics.rouge import rouge
from personafit.store import RunRecord, Status, Store, item_rows, run_answers

METRICS = ("rouge_1", "rouge_l")
MEASURE, SEEN = "rouge", "own words"
NOBODY, WRONG = "no view", "wrong person"
COPIES = {MAKERS[1]: "copied entry", MAKERS[2]: "copied text"}
"""Texts that need no writing, and what kind of control each is."""


@dataclass(frozen=True)
class Line:
    """What one system wrote under one context, or what was copied."""

    system: str
    given: str | None
    control: str | None
    fingerprint: str | None
    frame: pl.DataFrame
    """An item a row: item, person, prompt, task, text, rouge_1, rouge_l; null where nothing was written."""


@dataclass(frozen=True)
class WritingScores:
    """A run, opened up."""

    run: RunRecord
    info: dict[str, Any]
    own: Mapping[str, str]
    """Item to what the person wrote."""
    lines: list[Line]
    answers: pl.DataFrame
    """Every text that was asked for: item, rater, view, context, status, detail."""

    @property
    def tasks(self) -> list[str]:
        """The tasks of the run, in their order."""
        return self.lines[0].frame["task"].unique(maintain_order=True).to_list()


def load_writing(store: Store, run: RunRecord) -> WritingScores:
    """Read a run back and measure every text."""
    items = item_rows(store, run.dataset).select("item", "person", "prompt", "task")
    if run.config["selected"] is not None:
        items = items.filter(pl.col("item").is_in(run.config["selected"]))
    kept = set(items["item"])
    texts = _kept_texts(store, run.dataset, kept)
    own = texts.pop(MAKERS[0])
    answers = run_answers(store, run.id)
    if not answers.is_empty():
        answers = answers.filter(pl.col("question") == run.config["question"])
    lines = [
        *_written(store, run, items, own, answers),
        *(
            Line(
                maker,
                None,
                control,
                None,
                _measured(items.filter(pl.col("item").is_in(list(found))), own, found),
            )
            for maker, control in COPIES.items()
            if (found := texts.get(maker, {}))
        ),
    ]
    return WritingScores(run, store.dataset_info(run.dataset), own, lines, answers)


def _kept_texts(store: Store, dataset: str, kept: set[str]) -> dict[str, dict[str, str]]:
    """What was there before anybody wrote: whose text, item to text."""
    products: dict[str, dict[str, str]] = {maker: {} for maker in MAKERS}
    for item in store.items(dataset):
        if item.id in kept:
            for maker, product in zip(MAKERS, item.products, strict=False):
                products[maker][item.id] = product
    texts = store.texts({product for found in products.values() for product in found.values()})
    return {
        maker: {item: texts[product] for item, product in found.items() if product in texts}
        for maker, found in products.items()
    }


def _written(
    store: Store, run: RunRecord, items: pl.DataFrame, own: Mapping[str, str], answers: pl.DataFrame
) -> Iterator[Line]:
    for system in run.config["systems"]:
        for given in run.config["contexts"]:
            control = None if given in run.config["givens"] else NOBODY if given == "none" else WRONG
            found: dict[str, str] = {}
            if not answers.is_empty():
                mine = answers.filter(
                    (pl.col("rater") == system["fingerprint"])
                    & (pl.col("view") == given)
                    & (pl.col("status") == Status.OK.value)
                )
                texts = store.texts(mine["ask"])
                found = {
                    item: texts[ask] for item, ask in mine.select("item", "ask").iter_rows() if ask in texts
                }
            yield Line(system["name"], given, control, system["fingerprint"], _measured(items, own, found))


def _measured(items: pl.DataFrame, own: Mapping[str, str], texts: Mapping[str, str]) -> pl.DataFrame:
    names = items["item"].to_list()
    scores = [rouge(texts[name], own[name]) if name in texts and name in own else None for name in names]
    return items.with_columns(
        pl.Series("text", [texts.get(name) for name in names], dtype=pl.String),
        *(
            pl.Series(
                metric, [None if one is None else getattr(one, metric) for one in scores], dtype=pl.Float64
            )
            for metric in METRICS
        ),
    )


def writing_results(scores: WritingScores) -> list[Result]:
    """Every number of the run: all tasks together, then each."""
    return list(_results(scores))


def _results(scores: WritingScores) -> Iterator[Result]:
    for line in scores.lines:
        for task in (None, *scores.tasks):
            part = _of(line, task)
            if part.is_empty() or (task is None and len(part) < len(scores.own)):
                continue  # what some tasks alone have is no total
            for metric in METRICS:
                yield _result(line, task, metric, mean_by_item(part, metric), part)
            if line.control is None:
                yield _result(line, task, "lift", _lift(scores, line, task), part)


def _of(line: Line, task: str | None) -> pl.DataFrame:
    return line.frame if task is None else line.frame.filter(pl.col("task") == task)


def _result(line: Line, task: str | None, metric: str, estimate: Estimate, part: pl.DataFrame) -> Result:
    return Result.of(
        estimate,
        rater=MEASURE,
        system=line.system,
        given=line.given,
        view=SEEN,
        metric=metric,
        slice={} if task is None else {"task": task},
        coverage=1 - part[METRICS[0]].null_count() / len(part),
        control=line.control,
        fingerprint=line.fingerprint,
    )


def _lift(scores: WritingScores, line: Line, task: str | None) -> Estimate:
    """ROUGE-1 told of the person over the larger of told of nobody and told of somebody else, paired by text."""
    others = [
        one
        for one in scores.lines
        if one.fingerprint == line.fingerprint
        and one.given in ("none", f"wrong:{line.given}")
        and one.control is not None
    ]
    means = {one.given: mean_by_item(_of(one, task), METRICS[0]).value for one in others}
    if len(others) < 2 or any(mean is None for mean in means.values()):
        return Estimate(None, None, None, 0, 0, "lift needs texts written under both control contexts")
    larger = max(others, key=lambda one: means[one.given] or 0.0)
    column = METRICS[0]
    found = paired_difference(
        _of(line, task).filter(pl.col(column).is_not_null()),
        _of(larger, task).filter(pl.col(column).is_not_null()),
        column,
    )
    return Estimate(
        found.value,
        found.low,
        found.high,
        found.n,
        found.people,
        "; ".join(
            filter(None, [f"of ROUGE-1, over {larger.given}, the larger of the two controls", found.note])
        ),
    )


def worst_coverage(scores: WritingScores) -> tuple[str, float] | None:
    """The system and context with the least coverage."""
    found = [
        (f"{line.system} ({line.given})", 1 - line.frame[METRICS[0]].null_count() / len(line.frame))
        for line in scores.lines
        if line.fingerprint is not None and len(line.frame)
    ]
    return min(found, key=lambda one: one[1], default=None)
