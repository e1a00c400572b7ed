"""`wrong:CONTEXT`: the same kind of context about somebody else, the control that shows whether the person matters.

The other person is drawn once per person, seeded, among those of the same language and script, and recorded with the context.
Somebody whose language nobody shares has no such context, which leaves their items without this control. Where a
benchmark keeps altered copies of people, none of somebody's own copies stands in for them.
"""

from bisect import bisect_left
from dataclasses import replace

from personafit._errors import UserError
from personafit._hashing import draw
from personafit.contexts.context import Choosy, Context, ContextBuilder, People, Unmade
from personafit.people import Person
from personafit.store import Item
from personafit.store.forgetting import COPY


class WrongContext:
    """Any context, about another person."""

    def __init__(self, inner: ContextBuilder, people: People, seed: int) -> None:
        self.name = f"wrong:{inner.name}"
        self.inner = inner
        self._people = people
        self._seed = seed

    def build(self, person: Person, item: Item) -> Context:
        """What would be told about the other person."""
        told = self.inner.build(self.stand_in(person, item), item)
        return replace(told, name=self.name, maker=told.maker and f"wrong:{told.maker}")

    def stand_in(self, person: Person, item: Item) -> Person:
        """Who is told about in place of the person."""
        return self._people[self._stand_in(person, item)]

    def _stand_in(self, person: Person, item: Item) -> str:
        """The other person, or the next one about whom there is as much to tell where the context depends on that."""
        other = self.other(person)
        pool = self._people.mates(person)
        start, original = bisect_left(pool, other), item.slices.get(COPY)
        around = (pool[(start + step) % len(pool)] for step in range(len(pool)))
        others = (id for id in around if id != person.id and not _is_of(id, original))
        if isinstance(self.inner, Choosy):
            return next((id for id in others if self.inner.covers(self._people[id], item)), other)
        return next(others, other)

    def other(self, person: Person) -> str:
        """Who is mistaken for this person."""
        pool = self._people.mates(person)
        if len(pool) < 2:
            everyone = len(self._people.alone) == len(
                self._people
            )  # then it is the run that has no such control
            raise (UserError if everyone else Unmade)(
                f"{self.name}: there is nobody but {person.id} in language '{person.language}' to be "
                "mistaken for; name the contexts you want without it, as in --context profile --context none."
            )
        place = bisect_left(pool, person.id)  # the pool is sorted, and may be long
        return pool[(place + 1 + draw("wrong", person.id, self._seed, among=len(pool) - 1)) % len(pool)]


def _is_of(person: str, original: str | None) -> bool:
    """Whether it is the original of somebody's altered profile, or another copy of it."""
    return original is not None and (person == original or person.startswith(f"{original}+"))
