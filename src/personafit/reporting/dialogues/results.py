"""From judged and counted dialogues to flat records: per assistant, context and judge, by kind of task, domain and turn.

Means are per dialogue, clustered by person (and by task where tasks recur); `*_by_person` gives every person the same
weight. Coverage counts against the dialogues that were planned: one that never ended is missing, not left out.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import polars as pl

from personafit.items.dialogue_questions import SCORE
from personafit.kinds.lines import Line, Metric, RunLines, control_of
from personafit.reporting.dialogues.loading import (
    CANNED,
    COUNTED,
    SHARES,
    WHOLE,
    DialogueRun,
    judge_samples,
    load_dialogues,
)
from personafit.reporting.line_results import line_coverage, record, results_of, worst_coverage
from personafit.reporting.result import Result
from personafit.statistics import Estimate
from personafit.statistics.clusters import ClusteredSums
from personafit.store import RunRecord, Store

METRICS = {
    "completion": "completion",
    "personalization": "personalization",
    "naturalness.assistant": "naturalness",
    "naturalness.user": "naturalness_user",
    "coherence.assistant": "coherence",
    "coherence.user": "coherence_user",
}
"""Question to metric; without a side the assistant's is meant."""
BOUNDS = {"completion": (0.0, 1.0), "personalization": (1.0, 4.0)}
MARK = (1.0, 5.0)
LAST_TURN = 10
HEADLINES = ("completion", "personalization")
COUNTED_EFFECTS = ("coverage_before", "coverage", "contradictions", "reasking", "invented_memories")
BY_KIND: tuple[tuple[str, ...], ...] = ((), ("tasks",))
HOW = "interval clustered by person and task"
NOT_JUDGED = "counted, not judged"
SCORE_RANK = "score_rank"


def _metrics() -> Iterator[Metric]:
    for name in METRICS.values():
        bounds, answered = BOUNDS.get(name, MARK), f"{name}.answered"
        yield Metric(name, bounds=bounds, answered=answered, compared=True, how=HOW)
        held = (f"{name}.unparsed", "asked", "held")
        for kind, estimate, holds in (
            ("by_person", _by_person(name, bounds), (name,)),
            ("unparsed", _unparsed(held[0]), held),
        ):
            yield Metric(
                f"{name}_{kind}", name, estimate=estimate, holds=holds, by=BY_KIND, answered=answered, how=""
            )
    beats = "share of the other dialogues on the same task that it outscores"
    yield Metric(SCORE_RANK, label=beats, compared=True, note="by rank; a score is no mark", how=HOW)
    for name, label in COUNTED.items():
        share = name in SHARES
        yield Metric(
            name,
            bounds=(0.0, 1.0) if share else None,
            label=label,
            from_sums=None if share else _count,
            optional=True,
            compared=name in COUNTED_EFFECTS,
            note=NOT_JUDGED,
            how="",
        )


def _count(sums: ClusteredSums) -> Estimate:
    """A mean of counts: its interval does not fall below 0."""
    found = sums.estimate(None)
    return found if found.low is None else replace(found, low=max(0.0, found.low))


def _by_person(name: str, bounds: tuple[float, float]) -> Callable[[pl.DataFrame], Estimate]:
    """The mean of people's means: everybody counts the same, however many tasks they have."""

    def estimate(rows: pl.DataFrame) -> Estimate:
        means = rows.group_by("person", maintain_order=True).agg(pl.col(name).mean())
        one_each = means.with_columns(pl.col("person").alias("prompt"))  # nothing recurs here
        return Metric(name, bounds=bounds).of(one_each)

    return estimate


def _unparsed(name: str) -> Callable[[pl.DataFrame], Estimate]:
    """The share of asks whose reply could not be read."""

    def estimate(rows: pl.DataFrame) -> Estimate:
        asked = int(rows["asked"].sum())
        people = rows.filter("held")["person"].n_unique()
        return Estimate(int(rows[name].sum()) / asked if asked else None, None, None, asked, people)

    return estimate


DIALOGUE_METRICS = list(_metrics())


def dialogue_lines(store: Store, run: RunRecord) -> RunLines:
    """A line per assistant, its context, judge and what the judge was shown, and one per assistant and context of what was counted."""
    return opened_dialogues(load_dialogues(store, run))


def opened_dialogues(held: DialogueRun) -> RunLines:
    """The lines of a run of dialogues with their metrics."""
    slices = [("tasks",), ("tasks", "domain")]
    return RunLines(held.run, held.info, "dialogue", list(_lines(held)), DIALOGUE_METRICS, slices)


def _lines(held: DialogueRun) -> Iterator[Line]:
    marks = held.marks.partition_by("rater", "view", "question", as_dict=True)
    for system, given in product(held.systems, held.givens):
        planned = _planned(held, system["fingerprint"], given)
        for rater, view in product(held.raters, held.views):
            frame = planned.drop(COUNTED).with_columns(asked=pl.lit(judge_samples(held.run, rater)))
            names = []
            for question in WHOLE:
                if view in views_of(held, question):
                    found = marks.get((rater["fingerprint"], view, question), held.marks.clear())
                    names.append(METRICS[question])
                    frame = _marked(frame, found, names[-1])
            answered = pl.min_horizontal(f"{name}.answered" for name in names)
            yield _line(held, system, given, frame.with_columns(answered=answered), rater, view)
        for rater in held.scorers:
            yield _line(held, system, given, _ranked(held, planned, rater), rater, held.views[0])
        counted = planned.with_columns(
            asked=pl.lit(1), answered=pl.col("whole").fill_null(False).cast(pl.Int64)
        )
        yield _line(held, system, given, counted)


def _ranked(held: DialogueRun, planned: pl.DataFrame, rater: Mapping[str, Any]) -> pl.DataFrame:
    """The dialogues with their rank by a score among all that were held on the same task: the share of the others that it beats.

    Scores have no scale in common with marks, nor one task's with another's.
    """
    mine = pl.col("rater") == rater["fingerprint"], pl.col("question") == SCORE.name
    scores = held.marks.filter(*mine).select("item", "value", "answered")
    task = ("person", "prompt", "sample")
    others = (pl.col("value").count() - 1).over(task)
    beaten = pl.col("value").rank("average").over(task) - 1
    ranked = held.units.join(scores, on="item").select(
        "item", "answered", pl.when(others > 0).then(beaten / others).alias(SCORE_RANK)
    )
    frame = planned.drop(COUNTED).join(ranked, on="item", how="left", maintain_order="left")
    return frame.with_columns(pl.col("answered").fill_null(0), asked=pl.lit(1))


def _planned(held: DialogueRun, system: str, given: str) -> pl.DataFrame:
    """A row per dialogue that an assistant was to hold, with what was counted in it; nulls where it was never held.

    Dialogues over several domains have none of their own.
    """
    samples = pl.DataFrame({"sample": range(held.samples)}, schema={"sample": pl.Int64})
    own = held.units.filter(system=system, given=given).drop(
        "tasks", "domain", "system", "system_name", "given", "prompt"
    )
    single = pl.when(pl.col("tasks") == "SD").then("domain")
    return (
        held.tasks.select("task", "person", "tasks", single.alias("domain"))
        .with_columns(prompt=pl.col("task").str.strip_prefix(pl.col("person") + "/"))
        .join(samples, how="cross")
        .join(
            own.rename({"slot": "task"}), on=["person", "task", "sample"], how="left", maintain_order="left"
        )
        .with_columns(unit=pl.concat_str("task", "sample", separator="#"), held=pl.col("item").is_not_null())
    )


def _marked(frame: pl.DataFrame, marks: pl.DataFrame, name: str) -> pl.DataFrame:
    """The dialogues with a judge's marks for a question."""
    counts = ("answered", "unparsed")
    mine = marks.select(
        "item", pl.col("value").alias(name), *(pl.col(c).alias(f"{name}.{c}") for c in counts)
    )
    joined = frame.join(mine, on="item", how="left", maintain_order="left")
    return joined.with_columns(pl.col([f"{name}.{c}" for c in counts]).fill_null(0))


def _line(
    held: DialogueRun,
    system: Mapping[str, str],
    given: str,
    frame: pl.DataFrame,
    rater: Mapping[str, Any] | None = None,
    view: str | None = None,
) -> Line:
    told = {"wrong": "wrong person", **({"none": "no context"} if len(held.givens) > 1 else {})}
    control = control_of(system["name"], given, {CANNED: "canned assistant"}, told)
    who: Mapping[str, Any] = rater or {"name": None, "fingerprint": None}
    return Line(who["name"], who["fingerprint"], view, system["name"], given, frame, control)


def dialogue_results(held: DialogueRun, opened: RunLines) -> list[Result]:
    """Every number of a run but differences between groups."""
    by_turn = Metric(
        "personalization",
        "value",
        BOUNDS["personalization"],
        by=(("turn",),),
        answered="",
        note="marks of single turns; longer dialogues are other dialogues",
        how="",
    )
    by_domain = Metric("coverage", "share", by=(("tasks", "domain"),), answered="", note=NOT_JUDGED, how="")
    judged = [line for line in opened.lines if "personalization" in line.frame.columns]
    counted = [line for line in opened.lines if line.rater is None]
    turns = replace(opened, lines=[_turns(held, line) for line in judged], metrics=[by_turn], slices=())
    domains = replace(
        opened, lines=[_domains(held, line) for line in counted], metrics=[by_domain], slices=()
    )
    return [
        *results_of(opened),
        *results_of(turns),
        *results_of(domains),
        *(result for line in counted for result in _stops(line)),
    ]


def views_of(run: DialogueRun, question: str) -> list[str]:
    """The views a question was asked under: those that show the person, all; the others, once."""
    return run.views if question == "personalization" else run.views[:1]


def _turns(held: DialogueRun, line: Line) -> Line:
    """Personalization exchange by exchange, as far as there are any without a gap."""
    marks = held.turn_marks.filter(rater=line.fingerprint, view=line.view)
    rows = line.frame.join(marks.drop("rater", "view"), on="item", how="inner", maintain_order="left")
    met = set(rows["exchange"])
    last = next((turn for turn in range(1, LAST_TURN + 1) if turn not in met), LAST_TURN + 1)
    rows = rows.filter(pl.col("exchange").is_between(1, last - 1)).sort("exchange", maintain_order=True)
    turn = pl.col("exchange").cast(pl.String)
    return replace(line, frame=rows.with_columns(turn=turn))


def _domains(held: DialogueRun, line: Line) -> Line:
    """In tasks of several domains, how much of each domain's preferences was brought in."""
    rows = []
    for unit in line.frame.filter(pl.col("whole"), pl.col("tasks") == "MD").iter_rows(named=True):
        counted = held.counted[unit["item"]]
        for domain in counted.dialogue.task.domains:
            share = counted.coverage(domain=domain)
            if share is not None:
                same = {name: unit[name] for name in ("unit", "person", "prompt", "tasks")}
                rows.append(same | {"domain": domain, "share": share, "asked": 1})
    texts = dict.fromkeys(("unit", "person", "prompt", "tasks", "domain"), pl.String)
    schema = {**texts, "share": pl.Float64, "asked": pl.Int64}
    return replace(line, frame=pl.DataFrame(rows, schema=schema))


def _stops(line: Line) -> Iterator[Result]:
    """How dialogues ended, as shares of those planned."""
    planned, held = len(line.frame), line.frame.filter("held")
    for stop, count in sorted(held["stop"].value_counts().iter_rows()):
        share = Estimate(count / planned if planned else None, None, None, planned, held["person"].n_unique())
        note = f"{count} of {planned} planned dialogues"
        yield record(line, Metric("stopped", note=note), (("stop", stop),), share, None, False)


def dialogue_coverage(held: DialogueRun, lines: Sequence[Line]) -> tuple[str, float] | None:
    """The assistant, context and judge with the least coverage."""
    judged = [line for line in lines if line.view == held.views[0] and "completion" in line.frame.columns]
    return worst_coverage(
        (
            f"{line.system} given {line.given}, judged by {line.rater} ({question})",
            line_coverage(line.frame, Metric(question, answered=f"{name}.answered")),
            True,
        )
        for line in judged
        for question, name in METRICS.items()
    )
