"""What a run of dialogues covers: which tasks, which systems, told what, against which user, judged by whom."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from personafit._errors import UserError
from personafit._hashing import content_hash
from personafit.benchmarks.benchmark import ingest
from personafit.benchmarks.config import RunConfig, chosen_people
from personafit.benchmarks.personalens.folder import open_tasks
from personafit.benchmarks.plans import rows_where
from personafit.contexts import (
    ContextBuilder,
    People,
    TaskItem,
    context_fingerprint,
    default_model,
    make_context,
    makers,
)
from personafit.engine import check_budget
from personafit.models.embedded import DEFAULT as DEFAULT_WEIGHTS
from personafit.models.spec import parse_spec
from personafit.raters import select_items
from personafit.raters.dialogues import DialogueJudge
from personafit.simulate import Simulation, make_assistant, make_user, task_items
from personafit.simulate.speakers import Assistant, UserAgent
from personafit.store import Store, item_rows

DEFAULT = "embedded"
GIVENS = ("none", "I", "wrong:I")  # nothing, the history, and as a control somebody else's
KINDS = ("SD", "MD", "all")


@dataclass
class Plan:
    """A run of dialogues that is ready to be carried out."""

    store: Store
    dataset: str
    people: People
    selected: frozenset[str]
    systems: list[Assistant]
    user: UserAgent
    givens: list[ContextBuilder]
    config: RunConfig
    record: dict[str, Any]

    @property
    def dialogues(self) -> int:
        """How many dialogues there are to be."""
        return len(self.selected) * len(self.givens) * len(self.systems) * self.config.samples

    @property
    def name(self) -> str:
        """The run's name: the same configuration and data give the same name, so the same command resumes."""
        parts = {name: value for name, value in self.record.items() if name not in ("notes", "command")}
        return f"{self.record['benchmark']}-{content_hash(parts)[:8]}"

    def tasks(self) -> Iterator[TaskItem]:
        """The tasks, in the order of work."""
        return task_items(self.store, self.dataset, self.selected)

    def simulations(self) -> list[Simulation]:
        """Each system's dialogues."""
        return [
            Simulation(
                store=self.store,
                dataset=self.dataset,
                people=self.people,
                tasks=self.tasks,
                count=len(self.selected),
                system=system,
                user=self.user,
                givens=self.givens,
                seed=self.config.seed,
                samples=self.config.samples,
            )
            for system in self.systems
        ]

    async def close(self) -> None:
        """Release all models."""
        for speaker in (*self.systems, self.user):
            await speaker.model.close()


def make_plan(
    store: Store, config: RunConfig, judges: Sequence[DialogueJudge], views: Sequence[str] = ("given",)
) -> Plan:
    """Decide what a run covers; the data is read into the store on the way."""
    if config.tasks not in KINDS:
        raise UserError(f"--tasks {config.tasks}: there are {', '.join(KINDS)}.")
    if not config.systems:
        raise UserError(
            "run personalens needs --system SPEC, the assistant to be tested; --system canned is one that knows nothing."
        )
    systems = [make_assistant(spec) for spec in dict.fromkeys(config.systems)]
    user = make_user(config.user or DEFAULT)
    priced = [(speaker.model.name, speaker.model) for speaker in (*systems, user)]
    check_budget(config.budget, [*priced, *((judge.record.name, judge) for judge in judges)])
    benchmark = open_tasks(config.data)
    dataset = ingest(store, benchmark)
    people = People(store.people(dataset))
    selected = select_tasks(store, dataset, config)
    makes = default_model(config.systems)
    givens = [make_context(name, people, config.seed, makes) for name in config.givens or GIVENS]
    check_budget(config.budget, [(maker.model.name, maker.model) for maker in makers(givens)])
    record = {
        "kind": "dialogue",
        "benchmark": benchmark.info.name,
        "dataset": dataset,
        "systems": [_who(system) for system in systems],
        "user": _who(user) | {"style": user.style},
        "givens": [given.name for given in givens],
        "views": list(views),
        "tasks": config.tasks,
        "seed": config.seed,
        "samples": config.samples,
        "selected": sorted(selected),
        "raters": [
            {
                "fingerprint": judge.record.fingerprint,
                "name": judge.record.name,
                "kind": judge.record.kind,
                "samples": judge.samples,
            }
            for judge in judges
        ],
        "notes": [*benchmark.notes(), *filter(None, [weak_model_note(config)])],
        "command": config.command,
    }
    if prints := {given.name: print for given in givens if (print := context_fingerprint(given))}:
        record["contexts"] = prints
    return Plan(store, dataset, people, selected, systems, user, givens, config, record)


def weak_model_note(config: RunConfig) -> str | None:
    """A sentence where the small default model plays the user or the judge, because it can do neither."""
    parts = {"user": [config.user or DEFAULT], "judge": config.raters or [DEFAULT]}
    weak = [part for part, specs in parts.items() if any(map(_is_default_model, specs))]
    if not weak:
        return None
    options = " and ".join(f"--{part}" for part in weak)
    return (
        f"The small default model is the {' and the '.join(weak)} here, and it cannot hold a dialogue (it repeats itself): "
        f"scores that mean something need a stronger {options}."
    )


def select_tasks(store: Store, dataset: str, config: RunConfig) -> frozenset[str]:
    """The tasks that --tasks, --users, --where and --limit leave."""
    rows = item_rows(store, dataset)
    if config.tasks != "all":
        rows = rows.filter(pl.col("tasks") == config.tasks)
    if config.users is not None:
        people = chosen_people(sorted(set(rows["person"])), config.users, config.seed)
        rows = rows.filter(pl.col("person").is_in(people))
    if rows.is_empty():
        raise UserError(f"--tasks {config.tasks} and --users {config.users or 'all'} leave no task.")
    rows = rows_where(rows, config)
    if config.limit is None:
        return frozenset(rows["item"])
    return select_items(rows.select("item", "tasks", "domain"), config.limit, config.seed)


def _is_default_model(text: str) -> bool:
    spec = parse_spec(text)
    return spec.kind == "embedded" and spec.name in ("", DEFAULT_WEIGHTS)


def _who(speaker: Assistant | UserAgent) -> dict[str, str]:
    return {"fingerprint": speaker.fingerprint, "name": speaker.model.name}
