"""From demographics to preferences, evenly: who cares about what, and what they prefer there, by rules and seeded draws.

Drawing costs nothing and depends on the seed and the order of people alone, so it is done anew wherever it is needed
and needs no memory beyond one count per value.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from personafit._errors import UserError
from personafit._hashing import draw
from personafit.factory.tasks.balance import ValueBalancer
from personafit.factory.tasks.definitions import TaskTemplate
from personafit.factory.tasks.demographics import Demographics, tags_of
from personafit.factory.tasks.ontology import MOST_SEVERAL, Domain, Ontology
from personafit.factory.tasks.profile import Profile
from personafit.people import FacetValue, Person

TRIES = 24  # draws for one person and domain before its rules are taken for impossible


class ProfileSampler:
    """Samples profiles one after the other, so that every value keeps to its share."""

    def __init__(
        self,
        ontology: Ontology,
        definitions: Sequence[TaskTemplate],
        seed: int,
        interests: tuple[int, int],
        shares: Mapping[str, Mapping[str, float]],
    ) -> None:
        self.ontology, self._seed, self._interests = ontology, seed, interests
        self._several = [one for one in definitions if len(one.domains) > 1]
        self._domains = ValueBalancer("domains", list(ontology.domains), seed)
        self._scenarios = ValueBalancer("scenarios", [one.id for one in self._several], seed)
        self.balances = {
            path: ValueBalancer(path, list(ontology.attribute(path).values), seed, shares.get(path))
            for path in ontology.paths()
        }

    def profile(self, who: str, language: str, facets: dict[str, FacetValue]) -> Profile:
        """One person's interests and preferences."""
        tags = tags_of(facets)
        cares = self._cares(who, tags)
        preferences: dict[str, list[str]] = {}
        for name in cares:
            for attribute, values in self._prefers(who, name, tags).items():
                preferences[f"{name}.{attribute}"] = values
        return Profile(
            id=who,
            language=language,
            facets=facets,
            tags=sorted(tags),
            interests={name: name in cares for name in self.ontology.domains},
            preferences=preferences,
        )

    def _cares(self, who: str, tags: frozenset[str]) -> list[str]:
        """The domains somebody cares about: those of one task over several domains, and others up to a number."""
        open_to = [name for name, domain in self.ontology.domains.items() if domain.is_open_to(tags)]
        low, high = self._interests
        number = low + draw(self._seed, "interests", who, among=high - low + 1)
        fitting = [
            one for one in self._several if set(one.domains) <= set(open_to) and len(one.domains) <= number
        ]
        scenario = self._scenarios.choose(who, [one.id for one in fitting])
        chosen: list[str] = []
        if scenario is not None:
            self._scenarios.take(scenario)
            chosen = next(one.domains for one in fitting if one.id == scenario)
        while len(chosen) < number:
            name = self._domains.choose(who, [name for name in open_to if name not in chosen])
            if name is None:
                raise UserError(
                    f"Impossible quota: {number} domains are wanted for {who}, and only {len(chosen)} are open to them; "
                    "set fewer with `domains`."
                )
            chosen = [*chosen, name]
        for name in chosen:
            self._domains.take(name)
        return [name for name in self.ontology.domains if name in chosen]

    def _prefers(self, who: str, name: str, tags: frozenset[str]) -> dict[str, list[str]]:
        domain = self.ontology.domains[name]
        for attempt in range(TRIES):
            drawn = self._attempt(who, name, domain, tags, attempt)
            if drawn is not None:
                for attribute, values in drawn.items():
                    for value in values:
                        self.balances[f"{name}.{attribute}"].take(value)
                return drawn
        raise UserError(
            f"Impossible rules in the ontology, domain '{name}': nothing is left for {who} ({', '.join(sorted(tags))}); "
            "loosen excludes or barred, or the shares asked for."
        )

    def _attempt(
        self, who: str, name: str, domain: Domain, tags: frozenset[str], attempt: int
    ) -> dict[str, list[str]] | None:
        barred, leaning = domain.barred_for(tags), domain.leant_to(tags)
        order = sorted(
            domain.attributes, key=lambda one: draw(self._seed, name, who, one, attempt, among=2**32)
        )
        taken: list[str] = []
        drawn: dict[str, list[str]] = {}
        for attribute in order:
            one = domain.attributes[attribute]
            balance = self.balances[f"{name}.{attribute}"]
            most = min(MOST_SEVERAL, len(one.values) - 1) if one.take == "several" else 1
            for _ in range(1 + draw(self._seed, name, who, attribute, "how many", among=most)):
                allowed = [
                    value
                    for value in one.values
                    if is_allowed(domain, f"{attribute}: {value}", taken, barred)
                    and f"{attribute}: {value}" not in taken
                ]
                leant = [value for value in allowed if f"{attribute}: {value}" in leaning]
                value = balance.choose(f"{who}/{attempt}" if attempt else who, allowed, leant)
                if value is None:
                    break
                taken.append(f"{attribute}: {value}")
                drawn.setdefault(attribute, []).append(value)
            if attribute not in drawn:
                return None
        return {attribute: drawn[attribute] for attribute in domain.attributes}


def is_allowed(domain: Domain, name: str, taken: Iterable[str], barred: frozenset[str]) -> bool:
    """Whether somebody who has some values can have another one, all written 'Attribute: value'."""
    return name not in barred and domain.rivals.get(name, frozenset()).isdisjoint(taken)


def drawn_people(
    count: int, seed: int, languages: list[str], people: Iterable[Person] | None
) -> Iterator[tuple[str, str, dict[str, FacetValue]]]:
    """Who is to have a profile: id, language and facets of people made before, or of so many drawn here."""
    if people is not None:
        for person in people:
            yield person.id, person.language, dict(person.facets)
        return
    demographics = Demographics(seed, languages)
    for number in range(count):
        language, facets = demographics.next(number)
        yield f"t{number + 1:06}", language, facets
