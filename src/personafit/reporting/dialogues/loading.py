"""A run of dialogues opened up: every dialogue with what was counted in it, and every mark a judge gave it.

Counting is done anew each time: it costs nothing, so it is never stored and never out of date.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from personafit.items.dialogue import StopReason
from personafit.items.dialogue_questions import DIALOGUE_QUESTIONS, QUESTIONS_BY_NAME, SCORE
from personafit.people import Person
from personafit.raters.dialogues.counting import Counted, MajorityGuess, count_dialogue
from personafit.simulate import dialogues
from personafit.store import RunRecord, Status, Store, item_rows, run_answers

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
    tasks = _tasks(store, run)
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


def _tasks(store: Store, run: RunRecord) -> pl.DataFrame:
    rows = item_rows(store, run.dataset)
    if run.config.get("selected") is not None:
        rows = rows.filter(pl.col("item").is_in(run.config["selected"]))
    return rows.rename({"item": "task"})


def _answers(store: Store, run: RunRecord, wanted: set[str]) -> pl.DataFrame:
    frame = run_answers(store, run.id)
    if frame.is_empty():
        return pl.DataFrame(schema=_ANSWERS)
    known = pl.col("question").is_in([*QUESTIONS_BY_NAME, SCORE.name]) & pl.col("item").is_in(list(wanted))
    return frame.filter(known).select(list(_ANSWERS)).cast({"value": pl.Float64, "detail": pl.String})


_ANSWERS: dict[str, Any] = {
    "item": pl.String,
    "question": pl.String,
    "rater": pl.String,
    "view": pl.String,
    "sample": pl.Int64,
    "target": pl.String,
    "status": pl.String,
    "value": pl.Float64,
    "detail": pl.String,
    "ask": pl.String,
}


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
