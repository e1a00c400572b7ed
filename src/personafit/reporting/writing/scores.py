"""A run of writing read back: every text of every system under every context, and the texts that need no writing, measured."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from personafit.benchmarks.lamp.writing import MAKERS
from personafit.kinds.lines import CONTROL_CONTEXTS, Line, Metric, RunLines, control_of
from personafit.reporting.line_results import line_coverage, results_of, worst_coverage
from personafit.reporting.result import Result
from personafit.statistics.rouge import rouge
from personafit.store import RunRecord, Status, Store, item_rows, run_answers

METRICS = ("rouge_1", "rouge_l")
MEASURE, SEEN = "rouge", "own words"
COPIES = {MAKERS[1]: "copied entry", MAKERS[2]: "copied text"}
"""Texts that need no writing, and what kind of control each is."""


@dataclass(frozen=True)
class WritingScores:
    """A run, opened up."""

    run: RunRecord
    info: dict[str, Any]
    own: Mapping[str, str]
    """Item to what the person wrote."""
    lines: list[Line]
    """What each system wrote under each context, and what was copied; frames have task, text, rouge_1 and rouge_l of every item."""
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
            writing_line(
                maker,
                None,
                None,
                _measured(items.filter(pl.col("item").is_in(list(found))), own, found),
                control,
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
            asked_for = given in run.config["givens"]
            control = None if asked_for else control_of(system["name"], given, {}, CONTROL_CONTEXTS)
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
            frame = _measured(items, own, found)
            yield writing_line(system["name"], system["fingerprint"], given, frame, control)


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


def writing_line(
    system: str, fingerprint: str | None, given: str | None, frame: pl.DataFrame, control: str | None
) -> Line:
    """What a system wrote, as a line: nobody is asked but the measure."""
    made = pl.col(METRICS[0]).is_not_null().cast(pl.Int64)
    counted = frame.with_columns(unit=pl.col("item"), asked=pl.lit(1), answered=made)
    return Line(MEASURE, fingerprint, SEEN, system, given, counted, control, fingerprint is not None)


def writing_lines(store: Store, run: RunRecord) -> RunLines:
    """A line per system and context, and one per kind of text that needs no writing."""
    return opened_writing(load_writing(store, run))


def opened_writing(scores: WritingScores) -> RunLines:
    """The lines of a run of writing; what some tasks alone have has no total."""
    by_task = ("task",)

    def whole(line: Line) -> bool:
        return len(line.frame) >= len(scores.own)

    metrics = [
        metric
        for by, only in ((((),), whole), ((by_task,), None))
        for metric in (
            *(Metric(name, by=by, only=only, how="") for name in METRICS),
            Metric("lift", METRICS[0], by=by, only=only, over="given", note="of ROUGE-1", how=""),
        )
    ]
    return RunLines(scores.run, scores.info, "writing", scores.lines, metrics, [by_task])


def writing_results(scores: WritingScores) -> list[Result]:
    """Every number of the run: all tasks together, then each."""
    return results_of(opened_writing(scores))


def writing_coverage(scores: WritingScores) -> tuple[str, float] | None:
    """The system and context with the least coverage."""
    return worst_coverage(
        (f"{line.system} ({line.given})", line_coverage(line.frame), line.asked_for)
        for line in scores.lines
        if line.fingerprint is not None
    )
