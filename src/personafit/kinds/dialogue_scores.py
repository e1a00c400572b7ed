"""A run of dialogues read back: every dialogue with what was counted in it and every mark a judge gave it, as scored lines.

Counting is done each time a run is read: it needs no model, so it is never stored and never out of date. Means are per dialogue,
clustered by person (and by task where tasks recur); `*_by_person` gives every person the same weight. Coverage is the share of the
dialogues that were planned: one that never ended is missing, not left out.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal

import polars as pl
from sqlalchemy import select

from personafit.items.dialogue import DIALOGUE_QUESTIONS, QUESTIONS_BY_NAME, SCORE, StopReason
from personafit.kinds.lines import Line, Metric, Reference, RunLines, control_of
from personafit.people import Person
from personafit.raters.counting import Counted, MajorityGuess, count_dialogue
from personafit.simulate import dialogues
from personafit.statistics import Estimate
from personafit.statistics.clusters import ClusteredSums
from personafit.store import RunRecord, Status, Store, run_answers, run_items
from personafit.store import tables as t

WHOLE = [question.name for question in DIALOGUE_QUESTIONS if not question.by_turn]
TURNS = "personalization.turns"
CANNED = "canned"

COUNTED = {
    "coverage": "preferences the assistant brought in",
    "coverage_before": "brought in before the user said them",
    "coverage_after": "brought in only after the user said them",
    "value_coverage": "single values brought in",
    "contradictions": "preferences gone against, per dialogue",
    "reasking": "questions for what was already known, per dialogue",
    "invented_memories": "memories in no history, per dialogue",
    "leakage_opening": "preferences the user told unasked in the opening turn",
    "leakage": "preferences the user told unasked anywhere",
    "exchanges": "exchanges per dialogue",
    "exchanges_to_completion": "exchanges where the user ended satisfied",
    "lost_after_switch": "said before, then asked again or gone against in another domain, per dialogue (MD)",
    "carried_wrongly": "another domain's preference applied where it is wrong, per dialogue (MD)",
    "majority_coverage": "preferences that guessing the majority's would hit",
}
SHARES = frozenset(name for name in COUNTED if "coverage" in name or "leakage" in name)

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
HEADLINES = ("completion", "personalization")
COUNTED_EFFECTS = ("coverage_before", "coverage", "contradictions", "reasking", "invented_memories")
BY_KIND: tuple[tuple[str, ...], ...] = ((), ("tasks",))
HOW = "interval clustered by person and task"
NOT_JUDGED = "counted, not judged"
SCORE_RANK = "score_rank"


@dataclass(frozen=True)
class DialogueRun:
    """Everything the report needs of a run."""

    run: RunRecord
    info: dict[str, Any]
    people: Mapping[str, Person]
    counted: dict[str, Counted]
    """Dialogue id to what was counted in it."""
    given: dict[str, str]
    """Context id to its text, for assistants and user agents alike."""
    units: pl.DataFrame
    """One row per dialogue: id, slot (person and task), person, prompt (the task), tasks, domain, system, given, stop, and what was counted."""
    tasks: pl.DataFrame
    """One row per person and task that dialogues were to be held about: task (person/task), person, tasks, domain."""
    marks: pl.DataFrame
    """One row per dialogue, rater, view and question: asked, answered, value (mean over samples)."""
    turn_marks: pl.DataFrame
    """One row per dialogue, rater, view and turn of the assistant."""
    answers: pl.DataFrame
    """Every ask of a judge about these dialogues."""

    @property
    def samples(self) -> int:
        """How often each dialogue was to be held."""
        return int(self.run.config.get("samples", 1))

    @property
    def planned(self) -> int:
        """How many dialogues there were to be."""
        return len(self.tasks) * self.samples * len(self.systems) * len(self.givens)

    @property
    def raters(self) -> list[dict[str, Any]]:
        """The judges."""
        return [rater for rater in self.run.config["raters"] if rater.get("question") != SCORE.name]

    @property
    def scorers(self) -> list[dict[str, Any]]:
        """Raters that score what the assistant says, and give no marks."""
        return [rater for rater in self.run.config["raters"] if rater.get("question") == SCORE.name]

    @property
    def views(self) -> list[str]:
        """What judges were shown of the person; the first is the one all questions were asked under."""
        views: list[str] = self.run.config.get("views") or ["given"]
        return views

    @property
    def systems(self) -> list[dict[str, str]]:
        """The assistants, with fingerprint and name."""
        systems: list[dict[str, str]] = self.run.config["systems"]
        return systems

    @property
    def givens(self) -> list[str]:
        """What assistants were told, by name."""
        givens: list[str] = self.run.config["givens"]
        return givens


def load_dialogues(store: Store, run: RunRecord) -> DialogueRun:
    """Read a run back and count its dialogues."""
    info = store.dataset_info(run.dataset)
    people = store.people(run.dataset)
    closed = closed_values(info)
    majority = MajorityGuess(people)
    held = list(dialogues(store, run.id))
    given = store.texts({one.context for one in held} | {one.brief for one in held})
    counted = {
        one.id: count_dialogue(one, people[one.person], closed, given.get(one.context, ""))
        for one in held
        if one.person in people
    }
    units = pl.DataFrame(
        [
            _unit(one, majority.coverage(people[one.dialogue.person], one.dialogue.task.preferences))
            for one in counted.values()
        ],
        schema=_SCHEMA,
    )
    answers = _answers(store, run, set(counted))
    tasks = run_items(store, run).rename({"item": "task"})
    samples = {rater["fingerprint"]: judge_samples(run, rater) for rater in run.config["raters"]}
    return DialogueRun(
        run=run,
        info=info,
        people=people,
        counted=counted,
        given=given,
        units=units,
        tasks=tasks,
        marks=_marks(answers, samples),
        turn_marks=_turn_marks(answers),
        answers=answers,
    )


def judge_samples(run: RunRecord, rater: Mapping[str, Any]) -> int:
    """How often a judge was asked everything; early runs asked as often as each dialogue was held."""
    return int(rater.get("samples", run.config.get("samples", 1)))


def closed_values(info: Mapping[str, Any]) -> dict[str, Sequence[str]]:
    """Facet path to the list its values come from; none for attributes without one, which nothing can contradict."""
    listed: dict[str, Sequence[str]] = (info.get("metrics") or {}).get("closed_values") or {}
    return dict(listed)


_SCHEMA: dict[str, Any] = {
    "item": pl.String,
    "slot": pl.String,
    "person": pl.String,
    "prompt": pl.String,
    "tasks": pl.String,
    "domain": pl.String,
    "system": pl.String,
    "system_name": pl.String,
    "given": pl.String,
    "sample": pl.Int64,
    "stop": pl.String,
    "whole": pl.Boolean,
    **dict.fromkeys(COUNTED, pl.Float64),
}


def _unit(counted: Counted, majority: float | None) -> dict[str, Any]:
    one = counted.dialogue
    row: dict[str, Any] = {
        "item": one.id,
        "slot": f"{one.person}/{one.task.id}",
        "person": one.person,
        "prompt": one.task.id,
        "tasks": one.task.kind,
        "domain": " + ".join(one.task.domains),
        "system": one.system,
        "system_name": one.system_name,
        "given": one.given,
        "sample": one.sample,
        "stop": one.stop.value,
        "whole": one.stop.whole,
    }
    if not one.stop.whole:  # half a dialogue would count as a bad one
        return row
    several = one.task.kind == "MD"
    return row | {
        "coverage": counted.coverage(),
        "coverage_before": counted.coverage("before"),
        "coverage_after": counted.coverage("after"),
        "value_coverage": counted.value_coverage(),
        "contradictions": float(len(counted.of("contradicts"))),
        "reasking": float(len(counted.of("reasks"))),
        "invented_memories": float(len(counted.of("invents"))),
        "leakage_opening": counted.stated_by_user(opening_only=True),
        "leakage": counted.stated_by_user(),
        "exchanges": float(one.exchanges),
        "exchanges_to_completion": float(one.exchanges) if one.stop == StopReason.SATISFIED else None,
        "lost_after_switch": float(len(counted.lost())) if several else None,
        "carried_wrongly": float(len(counted.carried())) if several else None,
        "majority_coverage": majority,
    }


def _answers(store: Store, run: RunRecord, wanted: set[str]) -> pl.DataFrame:
    known = pl.col("question").is_in([*QUESTIONS_BY_NAME, SCORE.name]) & pl.col("item").is_in(list(wanted))
    return run_answers(store, run.id).filter(known)


def _marks(answers: pl.DataFrame, samples: Mapping[str, int]) -> pl.DataFrame:
    """Per dialogue and question the mean over the rater's samples; what has no answer has no value."""
    ok = pl.col("status") == Status.OK.value
    return (
        answers.filter(pl.col("target") == "", pl.col("question") != TURNS)
        .group_by("item", "rater", "view", "question", maintain_order=True)
        .agg(
            pl.col("value").filter(ok).mean().alias("value"),
            ok.sum().cast(pl.Int64).alias("answered"),
            (pl.col("status") == Status.UNPARSED.value).sum().cast(pl.Int64).alias("unparsed"),
        )
        .with_columns(
            pl.col("rater").replace_strict(samples, default=1, return_dtype=pl.Int64).alias("asked")
        )
    )


def _turn_marks(answers: pl.DataFrame) -> pl.DataFrame:
    ok = pl.col("status") == Status.OK.value
    return (
        answers.filter(pl.col("question") == TURNS, ok, pl.col("target") != "")
        .with_columns((pl.col("target").str.extract(r"(\d+)").cast(pl.Int64) // 2).alias("exchange"))
        .group_by("item", "rater", "view", "exchange", maintain_order=True)
        .agg(pl.col("value").mean())
    )


# -- metrics -----------------------------------------------------------------------------------------------------------


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


def _good_end(name: str) -> Literal["higher", "lower"] | None:
    """Which end of a metric is the good one: the high one of marks and of preferences brought in, the low one of faults."""
    neither = ("exchanges", "exchanges_to_completion", "majority_coverage", "coverage_after")
    if name in neither or "leakage" in name:
        return None
    faults = ("contradictions", "reasking", "invented_memories", "lost_after_switch", "carried_wrongly")
    return "lower" if name in faults or name.endswith("_unparsed") else "higher"


DIALOGUE_METRICS = [replace(metric, about="product", better=_good_end(metric.name)) for metric in _metrics()]


# -- lines -------------------------------------------------------------------------------------------------------------


def dialogue_lines(store: Store, held: DialogueRun) -> RunLines:
    """A line per assistant, its context, judge and what the judge was shown, and one per assistant and context of what was counted.

    A judge's line also has the median of what people said of each dialogue.
    """
    votes = human_votes(store, sorted(held.counted))
    lines = [_with_votes(line, votes) for line in _lines(held)]
    references = [
        Reference(question, name, name, f"{name}.people", "human", BOUNDS.get(name, MARK))
        for question, name in METRICS.items()
    ]
    slices = [("tasks",), ("tasks", "domain")]
    return RunLines(
        held.run,
        held.info,
        "dialogue",
        lines,
        DIALOGUE_METRICS,
        slices,
        references=references,
        summed=HEADLINES,
    )


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


def views_of(run: DialogueRun, question: str) -> list[str]:
    """The views a question was asked under: those that show the person, all; the others, once."""
    return run.views if question == "personalization" else run.views[:1]


def human_votes(store: Store, items: list[str]) -> pl.DataFrame:
    """The median of what people said about each dialogue and question, and how many they were."""
    query = (
        select(t.judgments.c.item, t.judgments.c.question, t.judgments.c.value)
        .select_from(t.judgments.join(t.raters, t.raters.c.fingerprint == t.judgments.c.rater))
        .where(
            t.raters.c.kind == "human",
            t.judgments.c.status == Status.OK.value,
            t.judgments.c.target == "",
        )
    )
    schema = {"item": pl.String, "question": pl.String, "value": pl.Float64}
    rows = store.rows_among(query, t.judgments.c.item, items)
    frame = pl.DataFrame([tuple(row) for row in rows], schema, orient="row")
    return frame.group_by("item", "question", maintain_order=True).agg(
        pl.col("value").median().alias("vote"), pl.len().alias("voters")
    )


def _with_votes(line: Line, votes: pl.DataFrame) -> Line:
    frame = line.frame
    for question, name in METRICS.items():
        if name in frame.columns:
            people = votes.filter(question=question).select("item", pl.col("vote").alias(f"{name}.people"))
            frame = frame.join(people, on="item", how="left", maintain_order="left")
    return replace(line, frame=frame)
