"""`D`, `I`, `S` and sums such as `D+I+S`: who the person is, what their earlier conversations were about, and the
situation they are in. `I` may be made worse on purpose: `I~sparse:0.3`, `I~noise:0.3`, `I~contradict:2`.
"""

import re
from dataclasses import dataclass

from personafit._errors import UserError
from personafit.contexts.context import Context, ContextBuilder, People
from personafit.contexts.history import QUALITIES, Quality, Whose, worsened
from personafit.contexts.plain import SUM
from personafit.contexts.task import TaskItem
from personafit.people import FacetValue, Person, facet_values, render_person, select_facets
from personafit.store import Item

DEMOGRAPHICS = "Demographics"
PARTS = "DIS"


@dataclass
class DisContext:
    """A sum of D, I and S."""

    name: str
    parts: frozenset[str]
    qualities: tuple[Quality, ...]
    people: People
    seed: int

    def build(self, person: Person, item: Item) -> Context:
        """The parts that were asked for, in the order D, I, S, each under a heading of its own."""
        sections: list[str] = []
        facets: dict[str, FacetValue] = {}
        values: list[str] = []
        if "D" in self.parts:
            facets = select_facets(person.facets, [DEMOGRAPHICS])
            values += facet_values(facets)
            if facets:
                sections.append(render_person(person, facets))
        if "I" in self.parts:
            history = self._history(person, item)
            if history:
                told = "\n".join(f"  {domain}: {text}" for domain, text in history.items())
                sections.append(f"Earlier conversations with the person, summed up by topic:\n{told}")
        if "S" in self.parts:
            situation = _task(item, self.name).task.situation
            values += situation.values()
            if situation:
                told = "\n".join(f"  {name}: {value}" for name, value in situation.items())
                sections.append(f"Situation:\n{told}")
        return Context(self.name, "\n\n".join(sections), tuple(values), person.id, facets)

    def covers(self, person: Person, item: Item) -> bool:
        """Whether the person has a history in every domain of the task, so that they can stand in for somebody."""
        if "I" not in self.parts or not isinstance(item, TaskItem):
            return True
        return all(domain in person.summaries for domain in item.task.domains)

    def _history(self, person: Person, item: Item) -> dict[str, str]:
        domains = item.task.domains if isinstance(item, TaskItem) else list(person.summaries)
        history = {domain: person.summaries[domain] for domain in domains if domain in person.summaries}
        matters = tuple(item.task.preferences) if isinstance(item, TaskItem) else ()
        for quality in self.qualities:
            history = worsened(history, quality, Whose(person, self.people, self.seed, matters))
        return history


def dis_context(name: str, people: People, seed: int) -> ContextBuilder:
    """Make a sum of D, I and S; the order in which it is written makes no difference."""
    if not re.fullmatch(SUM, name):
        raise UserError(
            f"'{name}' is no sum of D, I and S; write D+I+S, or for a worse history I~KIND:AMOUNT with a kind of "
            f"{', '.join(QUALITIES)}."
        )
    named: dict[str, str] = {}
    for part in name.split("+"):
        if part[0] in named:
            raise UserError(f"'{name}' names {part[0]} twice.")
        named[part[0]] = part
    qualities = tuple(_quality(text, name) for text in named.get("I", "I").split("~")[1:])
    if "D" in named and not any(select_facets(p.facets, [DEMOGRAPHICS]) for p in people.values()):
        raise UserError(f"{name}: nobody here has demographics, which D would tell.")
    if "I" in named and not any(person.summaries for person in people.values()):
        raise UserError(f"{name}: nobody here has summaries of earlier conversations, which I would tell.")
    ordered = "+".join(named[part] for part in PARTS if part in named)
    return DisContext(ordered, frozenset(named), qualities, people, seed)


def _quality(text: str, name: str) -> Quality:
    kind, _, amount = text.partition(":")
    if kind not in QUALITIES:
        raise UserError(f"'{name}': unknown kind '{kind}'; there are {', '.join(QUALITIES)}.")
    try:
        value = float(amount)
    except ValueError:
        value = -1.0
    if kind == "contradict" and not (value >= 1 and value == int(value)):
        raise UserError(f"'{name}': contradict takes a number of preferences, as in I~contradict:2.")
    if kind != "contradict" and not 0 <= value <= 1:
        raise UserError(f"'{name}': {kind} takes a share from 0 to 1, as in I~{kind}:0.3.")
    return Quality(kind, value)


def _task(item: Item, name: str) -> TaskItem:
    if not isinstance(item, TaskItem):
        raise UserError(
            f"{name}: S tells the situation of a dialogue task, and this benchmark has no such tasks."
        )
    return item
