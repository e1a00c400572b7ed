"""What an assistant would cover that knows nobody and always says what most other people prefer."""

from collections import Counter
from collections.abc import Mapping, Sequence

from personafit.people import Person
from personafit.raters.dialogues.counting.preferences import INDIFFERENT


class MajorityGuess:
    """The most usual values per preference, counted over people; a person's own are left out of their own guess."""

    def __init__(self, people: Mapping[str, Person]) -> None:
        self._counts: dict[str, Counter[str]] = {}
        for person in people.values():
            for path in person.facets:
                self._counts.setdefault(path, Counter()).update(_values(person, path))

    def guess(self, person: Person, path: str) -> str | None:
        """What most other people have there; of equals the first in the alphabet; None where nobody has anything."""
        others = self._counts.get(path, Counter()) - Counter(_values(person, path))
        return min(others, key=lambda value: (-others[value], value)) if others else None

    def coverage(self, person: Person, paths: Sequence[str]) -> float | None:
        """The share of a person's preferences that the guess would hit."""
        asked = [path for path in paths if _values(person, path)]
        if not asked:
            return None
        return sum(self.guess(person, path) in _values(person, path) for path in asked) / len(asked)


def _values(person: Person, path: str) -> list[str]:
    value = person.facets.get(path, [])
    values = value if isinstance(value, list) else [str(value)]
    return [one for one in dict.fromkeys(values) if one.strip().lower() not in INDIFFERENT]
