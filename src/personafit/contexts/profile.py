"""Contexts from the person's record alone: nothing, the profile or some fields of it, and statements about the person."""

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache

from personafit._errors import UserError
from personafit.contexts.context import Context, ContextBuilder, People
from personafit.people import FacetValue, Person, facet_values, render_person, select_facets
from personafit.store import Item

REMEMBERED = 512  # rendered people kept at hand; work is ordered by person, so few are needed


class NoContext:
    """`none`: nothing is known of the person."""

    name = "none"

    def build(self, person: Person, item: Item) -> Context:
        """Always the same empty context."""
        return Context(self.name, "", (), None)


class ProfileContext:
    """`profile`, or `profile:FIELD,FIELD` for the facets at or below those paths."""

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
        """The person's facets, rendered."""
        return self._of(person.id)

    def covers(self, person: Person, item: Item) -> bool:
        """Whether there is anything to tell of the person, so that they can stand in for somebody."""
        return bool(self._facets(person)) or not self._anybody

    @cached_property
    def _anybody(self) -> bool:
        """Whether there is anything to tell of anybody: if not, one stands in as well as another."""
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
    """`attributes:all|human|matched`, a list of statements about the person; `chosen` says which ones for each item, None tells all that are on the person's record."""

    def __init__(self, name: str, chosen: Mapping[str, Sequence[str]] | None = None) -> None:
        self.name = name
        self._chosen = chosen

    def build(self, person: Person, item: Item) -> Context:
        """The attributes as a list; nothing where none was chosen."""
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
        """Whether there is anything to tell of the person, so that they can stand in for somebody."""
        return self._chosen is not None or bool(person.attributes)


def attributes_context(argument: str, people: People, seed: int) -> ContextBuilder:
    """Make `attributes:all`; the others need to know what was found to matter."""
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
