"""`D`, `I`, `S` and sums such as `D+I+S`: the person's demographics, summaries of earlier conversations, and the task's situation."""

import re
from dataclasses import dataclass

from personafit._errors import UserError
from personafit.contexts.context import SUM, Context, ContextBuilder, People, TaskItem
from personafit.people import FacetValue, Person, facet_values, render_person, select_facets
from personafit.store import Item

DEMOGRAPHICS = "Demographics"
PARTS = "DIS"


@dataclass
class DisContext:
    """A sum of D, I and S."""

    name: str

    def build(self, person: Person, item: Item) -> Context:
        """The parts that were asked for, in the order D, I, S, each under a heading of its own."""
        sections: list[str] = []
        facets: dict[str, FacetValue] = {}
        values: list[str] = []
        if "D" in self.name:
            facets = select_facets(person.facets, [DEMOGRAPHICS])
            values += facet_values(facets)
            if facets:
                sections.append(render_person(person, facets))
        if "I" in self.name:
            domains = item.task.domains if isinstance(item, TaskItem) else list(person.summaries)
            history = {domain: person.summaries[domain] for domain in domains if domain in person.summaries}
            sections += _section("Earlier conversations with the person, summed up by topic:", history)
        if "S" in self.name:
            if not isinstance(item, TaskItem):
                raise UserError(
                    f"{self.name}: S tells the situation of a dialogue task, and this benchmark has no such tasks."
                )
            values += item.task.situation.values()
            sections += _section("Situation:", item.task.situation)
        return Context(self.name, "\n\n".join(sections), tuple(values), person.id, facets)

    def covers(self, person: Person, item: Item) -> bool:
        """Whether the person has a history in every domain of the task, so that they can stand in for somebody."""
        if "I" not in self.name or not isinstance(item, TaskItem):
            return True
        return all(domain in person.summaries for domain in item.task.domains)


def dis_context(name: str, people: People) -> ContextBuilder:
    """Make a sum of D, I and S; the order in which it is written makes no difference."""
    named = name.split("+")
    if not re.fullmatch(SUM, name) or len(set(named)) < len(named):
        raise UserError(f"'{name}' is no sum of D, I and S; name each at most once, as in D+I+S.")
    if "D" in named and not any(select_facets(person.facets, [DEMOGRAPHICS]) for person in people.values()):
        raise UserError(f"{name}: nobody here has demographics, which D would tell.")
    if "I" in named and not any(person.summaries for person in people.values()):
        raise UserError(f"{name}: nobody here has summaries of earlier conversations, which I would tell.")
    return DisContext("+".join(part for part in PARTS if part in named))


def _section(heading: str, entries: dict[str, str]) -> list[str]:
    """A heading with its entries below it; nothing where there are none."""
    lines = [f"  {name}: {text}" for name, text in entries.items()]
    return ["\n".join([heading, *lines])] if lines else []
