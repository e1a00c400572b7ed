"""Results of a run of dialogues: every dialogue with its counted metrics and every mark a judge gave it, as scored lines.

Counted metrics are computed each time a run is loaded: they need no model, so they are never stored or out of date. Means are per dialogue,
clustered by person (and by task where tasks recur); `*_by_person` gives every person the same weight. Coverage is the share of the
dialogues that were planned, so a dialogue that never ended lowers it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, Literal

import polars as pl
from sqlalchemy import select

from personafit.items.dialogue import DIALOGUE_QUESTIONS, QUESTIONS_BY_NAME, SCORE, StopReason
from personafit.kinds.lines import Line, Metric, Reference, RunLines, at_least_zero, control_of
from personafit.people import Person
from personafit.raters.counting import Counted, MajorityGuess, UserFaults, count_dialogue, user_faults
from personafit.simulate import dialogues
from personafit.statistics import Estimate
from personafit.store import RunRecord, Status, Store, run_answers, run_items
from personafit.store import tables as t

WHOLE = [question.name for question in DIALOGUE_QUESTIONS if not question.by_turn]
TURNS = "personalization.turns"
LAST_TURN = 10
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
FAULTS = {
    "contradicted": "said something against its own profile",
    "leaked": "told preferences unasked in its first turn",
    "early": "was satisfied although the judges say the task was not done",
    "late": "went on although there was nothing left to do",
    "echoed": "repeated the assistant or spoke in its role",
}
"""What the simulated user can do wrong."""
USER = tuple(f"user_{name}" for name in (*FAULTS, "helped", "hurt"))
SPOILING = frozenset({"contradicted", "leaked", "echoed"})
"""Faults for which a dialogue is left out of the metrics `unspoilt`. Leaving out dialogues that judges call undone would in itself raise
them."""

METRICS = {
    "completion": "completion",
    "personalization": "personalization",
    "naturalness.assistant": "naturalness",
    "naturalness.user": "naturalness_user",
    "coherence.assistant": "coherence",
    "coherence.user": "coherence_user",
}
"""Question to metric; if no side is named, the assistant's."""
BOUNDS = {"completion": (0.0, 1.0), "personalization": (1.0, 4.0)}
MARK = (1.0, 5.0)
HEADLINES = ("completion", "personalization")
COUNTED_EFFECTS = ("coverage_before", "coverage", "contradictions", "reasking", "invented_memories")
ALL: tuple[tuple[str, ...], ...] = ((),)
BY_KIND: tuple[tuple[str, ...], ...] = ((), ("tasks",))
HOW = "interval clustered by person and task"
GOAL_ONLY = "none"  # the context under which completion is judged by the goal, without preferences
NOT_JUDGED = "counted, not judged"
SCORE_RANK = "score_rank"
SCORED_HIGHER = "scored_higher"


@dataclass(frozen=True)
class DialogueRun:
    """A run with its dialogues, their counted metrics, and every mark."""

    run: RunRecord
    info: dict[str, Any]
    people: Mapping[str, Person]
    counted: dict[str, Counted]
    """Dialogue id to its counted metrics."""
    faults: dict[str, UserFaults]
    """Dialogue id to its user's faults, for dialogues that ran to an end."""
    told: dict[str, str]
    """Context id to its text, for assistants and user agents alike."""
    units: pl.DataFrame
    """One row per dialogue: item, task (person/task), system, system_context, sample, stop, whole, and the counted metrics."""
    tasks: pl.DataFrame
    """One row per person and task that dialogues were to be held about: task, person, tasks, domain."""
    marks: pl.DataFrame
    """One row per dialogue, rater, context and question: asked, answered, unparsed, value (mean over samples)."""
    turn_marks: pl.DataFrame
    """One row per dialogue, rater, context and turn of the assistant: exchange, value."""
    answers: pl.DataFrame
    """Every ask of a judge about these dialogues."""

    @property
    def planned(self) -> int:
        config = self.run.config
        return len(self.tasks) * self.samples * len(config["systems"]) * len(self.run.system_contexts)

    @property
    def samples(self) -> int:
        """Return the number of dialogues planned per task, system and system context."""
        return int(self.run.config.get("samples", 1))

    @property
    def contexts(self) -> list[str]:
        """Return the contexts judges were shown; all questions were asked under the first."""
        return self.run.contexts or ["given"]

    @property
    def judges(self) -> list[dict[str, Any]]:
        """Return the raters that give marks."""
        return [rater for rater in self.run.config["raters"] if rater.get("question") != SCORE.name]

    @property
    def scorers(self) -> list[dict[str, Any]]:
        """Return the raters that score what the assistant says, and give no marks."""
        return [rater for rater in self.run.config["raters"] if rater.get("question") == SCORE.name]


def load_dialogues(store: Store, run: RunRecord) -> DialogueRun:
    """Load a run and compute the counted metrics of its dialogues."""
    info, people = store.dataset_info(run.dataset), store.people(run.dataset)
    held = [one for one in dialogues(store, run.id) if one.person in people]
    told = store.texts({one.system_context_id for one in held} | {one.brief for one in held})
    closed = (info.get("metrics") or {}).get("closed_values") or {}
    counted = {
        one.id: count_dialogue(one, people[one.person], closed, told.get(one.system_context_id, ""))
        for one in held
    }
    known = pl.col("question").is_in([*QUESTIONS_BY_NAME, SCORE.name]) & pl.col("item").is_in(list(counted))
    answers = run_answers(store, run.id).filter(known)
    marks = _marks(answers, {one["fingerprint"]: _judge_samples(run, one) for one in run.config["raters"]})
    completed = marks.filter(pl.col("context") != GOAL_ONLY, question="completion")
    done = dict(completed.group_by("item").agg(pl.col("value").mean()).iter_rows())
    whole = {item: one for item, one in counted.items() if one.dialogue.stop.whole}
    faults = {item: user_faults(one, done.get(item)) for item, one in whole.items()}
    majority = MajorityGuess(people)
    rows = []
    for item, one in counted.items():
        guess = majority.coverage(people[one.dialogue.person], one.dialogue.task.preferences)
        figures = _figures(one, faults[item]) | {"majority_coverage": guess} if item in whole else {}
        rows.append(_unit(one) | figures)  # an unfinished dialogue would count as a bad one
    texts = ("item", "task", "person", "system", "system_context", "stop")
    schema = dict.fromkeys(texts, pl.String()) | {"sample": pl.Int64(), "whole": pl.Boolean()}
    units = pl.DataFrame(rows, schema | dict.fromkeys((*COUNTED, *USER), pl.Float64()))
    tasks, turns = run_items(store, run).rename({"item": "task"}), _turn_marks(answers)
    return DialogueRun(run, info, people, counted, faults, told, units, tasks, marks, turns, answers)


def _judge_samples(run: RunRecord, rater: Mapping[str, Any]) -> int:
    """Return how often a judge was asked each question; early runs asked as often as each dialogue was held."""
    return int(rater.get("samples", run.config.get("samples", 1)))


def _unit(counted: Counted) -> dict[str, Any]:
    one = counted.dialogue
    return {
        "item": one.id,
        "task": f"{one.person}/{one.task.id}",
        "person": one.person,
        "system": one.system,
        "system_context": one.system_context,
        "sample": one.sample,
        "stop": one.stop.value,
        "whole": one.stop.whole,
    }


def _figures(counted: Counted, faults: UserFaults) -> dict[str, float | None]:
    one = counted.dialogue
    several = one.task.kind == "MD"
    user = {kind: kind in faults.found for kind in FAULTS} | {"helped": faults.helped, "hurt": faults.hurt}
    return {
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
        **{f"user_{name}": float(there) for name, there in user.items()},
    }


def _marks(answers: pl.DataFrame, samples: Mapping[str, int]) -> pl.DataFrame:
    """Return the mean over the rater's samples per dialogue and question; null without an answer."""
    ok = pl.col("status") == Status.OK.value
    asked = pl.col("rater").replace_strict(samples, default=1, return_dtype=pl.Int64)
    return (
        answers.filter(pl.col("target") == "", pl.col("question") != TURNS)
        .group_by("item", "rater", "context", "question", maintain_order=True)
        .agg(
            pl.col("value").filter(ok).mean().alias("value"),
            ok.sum().cast(pl.Int64).alias("answered"),
            (pl.col("status") == Status.UNPARSED.value).sum().cast(pl.Int64).alias("unparsed"),
        )
        .with_columns(asked.alias("asked"))
    )


def _turn_marks(answers: pl.DataFrame) -> pl.DataFrame:
    ok = pl.col("status") == Status.OK.value
    exchange = pl.col("target").str.extract(r"(\d+)").cast(pl.Int64) // 2
    return (
        answers.filter(pl.col("question") == TURNS, ok, pl.col("target") != "")
        .with_columns(exchange.alias("exchange"))
        .group_by("item", "rater", "context", "exchange", maintain_order=True)
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
    yield Metric(
        SCORED_HIGHER, "score", by=(), by_sign=True, label="share of tasks on which it scores higher"
    )
    counted = partial(Metric, optional=True, note=NOT_JUDGED, how="")
    for name, label in COUNTED.items():
        scale = {"bounds": (0.0, 1.0)} if name in SHARES else {"bounds": None, "from_sums": at_least_zero}
        yield counted(name, label=label, compared=name in COUNTED_EFFECTS, **scale)
    part = partial(Metric, by=ALL, answered="", optional=True, how="")
    for name in USER:
        yield part(name, note=NOT_JUDGED)
    for stop in StopReason:
        yield part("stopped", f"stopped {stop}", under=(("stop", stop.value),), note="of those planned")
    for name in HEADLINES:
        unspoilt, note = (("simulator", "unspoilt"),), "without dialogues the simulated user spoilt"
        yield part(name, f"{name} unspoilt", BOUNDS[name], under=unspoilt, note=note)
    longer = "marks of single turns; longer dialogues are other dialogues"
    for turn in range(1, LAST_TURN + 1):
        under, bounds = (("turn", str(turn)),), BOUNDS["personalization"]
        yield part("personalization", f"turn {turn}", bounds, under=under, note=longer)


def _by_person(name: str, bounds: tuple[float, float]) -> Callable[[pl.DataFrame], Estimate]:
    """Estimate the mean of per-person means, which gives each person equal weight, however many tasks they have."""

    def estimate(rows: pl.DataFrame) -> Estimate:
        means = rows.group_by("person", maintain_order=True).agg(pl.col(name).mean())
        one_each = means.with_columns(pl.col("person").alias("prompt"))  # no prompt recurs
        return Metric(name, bounds=bounds).of(one_each)

    return estimate


def _unparsed(name: str) -> Callable[[pl.DataFrame], Estimate]:
    """Estimate the share of asks whose reply could not be parsed."""

    def estimate(rows: pl.DataFrame) -> Estimate:
        asked = int(rows["asked"].sum())
        people = rows.filter("held")["person"].n_unique()
        return Estimate(int(rows[name].sum()) / asked if asked else None, None, None, asked, people)

    return estimate


def _good_end(name: str) -> Literal["higher", "lower"] | None:
    """Return which direction is better for a metric: up for marks and for preferences used, down for faults."""
    neither = ("exchanges", "exchanges_to_completion", "majority_coverage", "coverage_after", "stopped")
    if name in neither or "leakage" in name:
        return None
    faults = (
        "contradictions",
        "reasking",
        "invented_memories",
        "lost_after_switch",
        "carried_wrongly",
        *USER,
    )
    return "lower" if name in faults or name.endswith("_unparsed") else "higher"


DIALOGUE_METRICS = [replace(metric, about="product", better=_good_end(metric.name)) for metric in _metrics()]


# -- lines -------------------------------------------------------------------------------------------------------------


def dialogue_lines(store: Store, held: DialogueRun) -> RunLines:
    """Return a line per assistant, its context, judge and the judge's context, and one per assistant and context for counts.

    A judge's line also has the median of people's marks of each dialogue.
    """
    references = [
        Reference(question, name, name, f"{name}.people", "human", BOUNDS.get(name, MARK))
        for question, name in METRICS.items()
    ]
    return RunLines(
        held.run,
        held.info,
        "dialogue",
        list(_lines(held, _people_marks(store, sorted(held.counted)))),
        DIALOGUE_METRICS,
        [("tasks",), ("tasks", "domain")],
        references=references,
        summed=HEADLINES if held.judges else (SCORED_HIGHER,),
    )


def _lines(held: DialogueRun, people: pl.DataFrame) -> Iterator[Line]:
    for system, system_context in product(held.run.config["systems"], held.run.system_contexts):
        planned = _planned(held, system["fingerprint"], system_context)
        bare = planned.drop(COUNTED, USER)
        for rater, context in product(held.judges, held.contexts):
            yield _line(
                held, system, system_context, _judged(held, bare, people, rater, context), rater, context
            )
        for rater in held.scorers:
            yield _line(held, system, system_context, _ranked(held, bare, rater), rater, held.contexts[0])
        stops = [
            (pl.col("stop") == stop).fill_null(False).cast(pl.Float64).alias(f"stopped {stop}")
            for stop in planned["stop"].drop_nulls().unique()
        ]
        answered = pl.col("whole").fill_null(False).cast(pl.Int64)
        counted = planned.with_columns(*stops, asked=pl.lit(1), answered=answered)
        yield _line(held, system, system_context, counted)


def _planned(held: DialogueRun, system: str, system_context: str) -> pl.DataFrame:
    """Return a row per planned dialogue of an assistant, with its counted metrics; nulls if it was never held.

    Dialogues over several domains have a null domain.
    """
    samples = pl.DataFrame({"sample": range(held.samples)}, schema={"sample": pl.Int64})
    own = held.units.filter(system=system, system_context=system_context).drop(
        "system", "system_context", "person"
    )
    single = pl.when(pl.col("tasks") == "SD").then("domain")
    return (
        held.tasks.select("task", "person", "tasks", single.alias("domain"))
        .with_columns(prompt=pl.col("task").str.strip_prefix(pl.col("person") + "/"))
        .join(samples, how="cross")
        .join(own, on=["task", "sample"], how="left", maintain_order="left")
        .with_columns(
            unit=pl.concat_str("task", "sample", separator="#"),
            held=pl.col("item").is_not_null(),
            spoilt=pl.any_horizontal(pl.col(f"user_{kind}") > 0 for kind in SPOILING),
        )
    )


def _judged(
    held: DialogueRun, planned: pl.DataFrame, people: pl.DataFrame, rater: Mapping[str, Any], context: str
) -> pl.DataFrame:
    """Return the dialogues with a judge's marks under a context, per turn too, and people's marks.

    Questions that do not show the person's context were asked under the first context only, and completion under `none`.
    """
    mine = held.marks.filter(rater=rater["fingerprint"], context=context)
    frame = planned.with_columns(asked=pl.lit(_judge_samples(held.run, rater)))
    again = "completion" if context == GOAL_ONLY else "personalization"
    names = {q: METRICS[q] for q in WHOLE if context == held.contexts[0] or q == again}
    for question, name in names.items():
        counts = [pl.col(one).alias(f"{name}.{one}") for one in ("answered", "unparsed")]
        marks = mine.filter(question=question).select("item", pl.col("value").alias(name), *counts)
        frame = frame.join(marks, on="item", how="left", maintain_order="left")
    turns = held.turn_marks.filter(
        pl.col("exchange") <= LAST_TURN, rater=rater["fingerprint"], context=context
    )
    by_turn = turns.pivot("exchange", index="item", values="value")
    by_turn = by_turn.rename(lambda name: name if name == "item" else f"turn {name}")
    said = people.select("item", *(f"{name}.people" for name in names.values()))
    for more in (by_turn, said):
        frame = frame.join(more, on="item", how="left", maintain_order="left")
    if context == held.contexts[0]:
        kept = pl.when(~pl.col("spoilt").fill_null(False))
        frame = frame.with_columns(kept.then(name).alias(f"{name} unspoilt") for name in HEADLINES)
    counted = [f"{name}.{one}" for name in names.values() for one in ("answered", "unparsed")]
    answered = pl.min_horizontal(f"{name}.answered" for name in names.values())
    return frame.with_columns(pl.col(counted).fill_null(0)).with_columns(answered=answered)


def _ranked(held: DialogueRun, planned: pl.DataFrame, rater: Mapping[str, Any]) -> pl.DataFrame:
    """Return the dialogues with their rank by a score among all on the same task: the share of the others that each beats.

    Ranks are used since scores are not comparable with marks, nor across tasks.
    """
    mine = held.marks.filter(rater=rater["fingerprint"], question=SCORE.name)
    others = (pl.col("value").count() - 1).over("task", "sample")
    beaten = pl.col("value").rank("average").over("task", "sample") - 1
    ranked = held.units.join(mine.select("item", "value", "answered"), on="item").select(
        "item", "answered", pl.when(others > 0).then(beaten / others).alias(SCORE_RANK), score="value"
    )
    frame = planned.join(ranked, on="item", how="left", maintain_order="left")
    return frame.with_columns(pl.col("answered").fill_null(0), asked=pl.lit(1))


def _line(
    held: DialogueRun,
    system: Mapping[str, str],
    system_context: str,
    frame: pl.DataFrame,
    rater: Mapping[str, Any] | None = None,
    context: str | None = None,
) -> Line:
    several = len(held.run.system_contexts) > 1
    told = {"wrong": "wrong person", **({"none": "no context"} if several else {})}
    control = control_of(system["name"], system_context, {"canned": "canned assistant"}, told)
    who: Mapping[str, Any] = rater or {"name": None, "fingerprint": None}
    return Line(who["name"], who["fingerprint"], context, system["name"], system_context, frame, control)


def _people_marks(store: Store, items: list[str]) -> pl.DataFrame:
    """Return the median of people's marks per dialogue, a column for each question."""
    judgment = t.judgments.c
    query = (
        select(judgment.item, judgment.question, judgment.value)
        .select_from(t.judgments.join(t.raters, t.raters.c.fingerprint == judgment.rater))
        .where(t.raters.c.kind == "human", judgment.status == Status.OK.value, judgment.target == "")
    )
    schema = {"item": pl.String, "question": pl.String, "value": pl.Float64}
    rows = [tuple(row) for row in store.rows_among(query, judgment.item, items)]
    return (
        pl.DataFrame(rows, schema, orient="row")
        .group_by("item", maintain_order=True)
        .agg(
            pl.col("value").filter(pl.col("question") == question).median().alias(f"{name}.people")
            for question, name in METRICS.items()
        )
    )
