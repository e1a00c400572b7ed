"""The rooms of the factory: one line for each section of the file, with the steps that run when the section is there.

Steps run in this order, each after those it names; names are looked up only when they are needed.
"""

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from personafit._errors import UserError
from personafit.factory.config import ConfigSection
from personafit.factory.step import BuildStep

# section: (its class, its steps)
ROOMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "people": ("people.config:PeopleSection", ("people.step:PeopleStep",)),
    "memories": (
        "memories.config:MemoriesSection",
        ("memories.step:MemoriesStep", "memories.profiler:FeaturesStep"),
    ),
    "questions": ("questions.config:QuestionsSection", ("questions.step:QuestionsStep",)),
    "answers": ("answers.config:AnswersSection", ("answers.step:AnswersStep",)),
    "studies": (
        "studies.config:StudiesSection",
        ("studies.truth_step:TruthStep", "studies.tiers_step:TiersStep"),
    ),
    "pairs": ("pairs.config:PairsSection", ("pairs.step:PairsStep",)),
    "tasks": (
        "tasks.config:TasksSection",
        (
            "tasks.profiles_step:ProfilesStep",
            "tasks.histories_step:HistoriesStep",
            "tasks.tasks_step:TasksStep",
        ),
    ),
}


def section_kinds() -> dict[str, type[ConfigSection]]:
    """The class of every section a room reads."""
    return {name: _load(kind) for name, (kind, _) in ROOMS.items()}


def steps_of(sections: Iterable[str]) -> list[BuildStep]:
    """The steps of some sections, each after those it reads from."""
    present = set(sections)
    waiting: list[BuildStep] = [
        _load(step)() for name, (_, steps) in ROOMS.items() if name in present for step in steps
    ]
    names = {step.name for step in waiting}
    owners = {_load(step).name: name for name, (_, steps) in ROOMS.items() for step in steps}
    for step in waiting:
        for needed in step.after:
            if needed not in names:
                section = owners.get(needed, needed)
                raise UserError(
                    f"The step '{step.name}' needs what '{needed}' makes: add a section [{section}] to the config."
                )
    ordered: list[BuildStep] = []
    while waiting:
        done = {step.name for step in ordered}
        ready = next(
            (s for s in waiting if set(s.after) <= done and not set(s.uses) & names - done - {s.name}), None
        )
        if ready is None:
            raise RuntimeError(f"steps wait for each other: {[step.name for step in waiting]}")
        waiting.remove(ready)
        ordered.append(ready)
    return ordered


def _load(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(f"personafit.factory.{module}"), name)
