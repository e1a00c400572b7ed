"""Contexts from the person's record alone: none, the profile or some fields of it, attributes, sums of D, I and S
(demographics, summaries of earlier interactions, the task's situation); and `wrong:`, any context about another person.
"""

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from personafit._errors import UserError
from personafit._hashing import draw
from personafit.contexts.context import SUM, Choosy, Context, ContextBuilder, People, TaskItem, Unmade
from personafit.people import FacetValue, Person, facet_values, render_person, select_facets
from personafit.store import Item
from personafit.store.records import COPY

REMEMBERED = 512  # cached renderings; items are ordered by person, so few are needed


class NoContext:
    """`none`: an empty context."""

    name = "none"

    def build(self, person: Person, item: Item) -> Context:
        return Context(self.name, "", (), None)


class ProfileContext:
    """`profile`: all facets; `profile:FIELD,FIELD`: the facets at or below those paths."""

    def __init__(self, name: str, fields: tuple[str, ...], people: People) -> None:
        self.name = name
        self._fields = fields
        if fields and not any(select_facets(person.facets, fields) for person in people.values()):
            known = sorted({path.split(".")[0] for person in people.values() for path in person.facets})
            raise UserError(
                f"{name}: nobody has such a field; the profiles have {', '.join(known) or 'no fields'}."
            )
        self._of = lru_cache(REMEMBERED)(self._render)
        self._people = people

    def build(self, person: Person, item: Item) -> Context:
        return self._of(person.id)

    def covers(self, person: Person, item: Item) -> bool:
        """Return whether the person has such facets, or nobody has, so that they can stand in as the wrong person."""
        return bool(self._facets(person)) or not self._anybody

    @cached_property
    def _anybody(self) -> bool:
        """Whether anybody has such facets; if not, anybody can stand in as the wrong person."""
        return any(self._facets(person) for person in self._people.values())

    def _facets(self, person: Person) -> dict[str, FacetValue]:
        return select_facets(person.facets, self._fields) if self._fields else person.facets

    def _render(self, person_id: str) -> Context:
        person = self._people[person_id]
        facets = self._facets(person)
        return Context(
            self.name, render_person(person, facets), tuple(facet_values(facets)), person.id, facets
        )


def none_context(argument: str, people: People, seed: int) -> ContextBuilder:
    """Make `none`."""
    return NoContext()


def profile_context(argument: str, people: People, seed: int) -> ContextBuilder:
    """Make `profile` or `profile:FIELD,FIELD`."""
    fields = tuple(field.strip() for field in argument.split(",") if field.strip())
    return ProfileContext(f"profile:{argument}" if fields else "profile", fields, people)


ALL, HUMAN, MATCHED = "all", "human", "matched"


class AttributesContext:
    """`attributes:all|human|matched`: statements about the person, those `chosen` by item id, or all on record if it is None."""

    def __init__(self, name: str, chosen: Mapping[str, Sequence[str]] | None = None) -> None:
        self.name = name
        self._chosen = chosen

    def build(self, person: Person, item: Item) -> Context:
        if self._chosen is None:
            texts = tuple(attribute.text for attribute in person.attributes)
        elif person.id != item.person:
            raise UserError(
                f"wrong:{self.name} makes no sense: what matters was found for {item.person}; use wrong:attributes:all."
            )
        else:
            texts = tuple(self._chosen.get(item.id, ()))
        told = "\n".join(f"- {' '.join(text.split())}" for text in texts)
        return Context(self.name, told, texts, person.id if texts else None)

    def covers(self, person: Person, item: Item) -> bool:
        """Return whether the person has attributes to stand in as the wrong person; always true with `chosen`."""
        return self._chosen is not None or bool(person.attributes)


def attributes_context(argument: str, people: People, seed: int) -> ContextBuilder:
    """Make `attributes:all`; the other two need to know which attributes matter for an item."""
    if argument == ALL:
        if not any(person.attributes for person in people.values()):
            raise UserError("attributes:all: nobody here has attributes on record.")
        return AttributesContext(f"attributes:{ALL}")
    if argument == HUMAN or argument.partition(":")[0] == MATCHED:
        raise UserError(
            f"attributes:{argument} is known in `personafit run responses` only, where it is said which attributes matter for "
            "a question; attributes:all works anywhere."
        )
    raise UserError(
        f"attributes:{argument}: there are attributes:all, attributes:human, attributes:matched and attributes:matched:RATER."
    )


DEMOGRAPHICS = "Demographics"
PARTS = "DIS"


@dataclass
class DisContext:
    """A sum of D (demographics), I (earlier interactions) and S (situation)."""

    name: str

    def build(self, person: Person, item: Item) -> Context:
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
        """Return whether the person has a summary for every domain of the task, to stand in as the wrong person."""
        if "I" not in self.name or not isinstance(item, TaskItem):
            return True
        return all(domain in person.summaries for domain in item.task.domains)


def dis_context(name: str, people: People) -> ContextBuilder:
    """Make a sum of D, I and S; the order of the parts in `name` does not matter."""
    named = name.split("+")
    if not re.fullmatch(SUM, name) or len(set(named)) < len(named):
        raise UserError(f"'{name}' is not a sum of D, I and S; name each at most once, as in D+I+S.")
    if "D" in named and not any(select_facets(person.facets, [DEMOGRAPHICS]) for person in people.values()):
        raise UserError(f"{name}: nobody here has demographics, which D needs.")
    if "I" in named and not any(person.summaries for person in people.values()):
        raise UserError(f"{name}: nobody here has summaries of earlier conversations, which I needs.")
    return DisContext("+".join(part for part in PARTS if part in named))


def _section(heading: str, entries: dict[str, str]) -> list[str]:
    """Return a heading with its entries below it; an empty list if there are none."""
    lines = [f"  {name}: {text}" for name, text in entries.items()]
    return ["\n".join([heading, *lines])] if lines else []


class WrongContext:
    """`wrong:CONTEXT`: the context of another person, the control that shows whether the person matters.

    The wrong person is drawn once per person, seeded, among people of the same language and script, and recorded with the context.
    A person whose language and script nobody shares has no wrong person, so their items lack this control. In a benchmark with
    altered copies of people, a person's own copies are never the wrong person.
    """

    def __init__(self, inner: ContextBuilder, people: People, seed: int) -> None:
        self.name = f"wrong:{inner.name}"
        self.inner = inner
        self._people = people
        self._seed = seed

    def build(self, person: Person, item: Item) -> Context:
        told = self.inner.build(self.stand_in(person, item), item)
        return replace(told, name=self.name, maker=told.maker and f"wrong:{told.maker}")

    def stand_in(self, person: Person, item: Item) -> Person:
        return self._people[self._stand_in(person, item)]

    def _stand_in(self, person: Person, item: Item) -> str:
        """Return the id of the drawn person, or of the next one in the pool who is eligible for this item."""
        other = self.other(person)
        pool = self._people.mates(person)
        start, original = bisect_left(pool, other), item.slices.get(COPY)
        around = (pool[(start + step) % len(pool)] for step in range(len(pool)))
        others = (id for id in around if id != person.id and not _is_of(id, original))
        if isinstance(self.inner, Choosy):
            return next((id for id in others if self.inner.covers(self._people[id], item)), other)
        return next(others, other)

    def other(self, person: Person) -> str:
        pool = self._people.mates(person)
        if len(pool) < 2:
            # If it is so for everybody, the whole run lacks this control.
            everyone = len(self._people.alone) == len(self._people)
            raise (UserError if everyone else Unmade)(
                f"{self.name}: there is nobody but {person.id} in language '{person.language}' to be "
                "mistaken for; name the contexts you want without it, as in --context profile --context none."
            )
        place = bisect_left(pool, person.id)  # the pool is sorted, and may be long
        return pool[(place + 1 + draw("wrong", person.id, self._seed, among=len(pool) - 1)) % len(pool)]


def _is_of(person: str, original: str | None) -> bool:
    """Return whether a person is `original` or one of its altered copies."""
    return original is not None and (person == original or person.startswith(f"{original}+"))
