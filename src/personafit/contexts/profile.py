"""Contexts from the explicit profile: nothing, all of it, or some fields of it."""

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
