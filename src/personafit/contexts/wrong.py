"""`wrong:CONTEXT`: the same kind of context about somebody else, the control that shows whether the person matters.

The other person is drawn once per person, seeded, among those of the same language, and recorded with the context.
"""

from personafit._errors import UserError
from personafit._hashing import draw
from personafit.contexts.context import Context, ContextBuilder, People
from personafit.people import Person
from personafit.store import Item


class WrongContext:
    """Any context, about another person."""

    def __init__(self, inner: ContextBuilder, people: People, seed: int) -> None:
        self.name = f"wrong:{inner.name}"
        self._inner = inner
        self._people = people
        self._seed = seed

    def build(self, person: Person, item: Item) -> Context:
        """What would be told about the other person."""
        told = self._inner.build(self._people[self.other(person)], item)
        return Context(self.name, told.text, told.values, told.about, told.facets)

    def other(self, person: Person) -> str:
        """Who is mistaken for this person."""
        pool = self._people.of_language(person.language)
        if len(pool) < 2:
            raise UserError(
                f"{self.name}: there is nobody but {person.id} in language '{person.language}' to be "
                "mistaken for; name the views you want without it, as in --view profile --view none."
            )
        place = pool.index(person.id)
        return pool[(place + 1 + draw("wrong", person.id, self._seed, among=len(pool) - 1)) % len(pool)]
