"""The people of a world: the facts about each, where each fact is known, and how it is worded.

Everything about a person is a `Fact`: a preference with its weight, a hard need or a budget. About 55 % of a person's facts are in
the profile, 25 % only in memories, and 20 % nowhere: the person tells them when asked.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Any, Literal

from personafit._errors import UserError
from personafit._hashing import draw
from personafit.people import FacetValue, Memory, Person
from personafit.worlds.ontology import BUDGET, NEEDS, WorldDomain, texts

Place = Literal["profile", "memory", "user"]
PLACES: tuple[Place, ...] = ("profile", "memory", "user")
SHARES = (0.55, 0.25, 0.2)  # of a person's facts: in the profile, only in memories, only with the user
MOST_LIKE_THE_MAJORITY = 0.5  # share of people who have the most common value of an attribute
LIGHT, HEAVY = 1, 3  # weights of a preference
NEED_SHARE, BUDGET_SHARE = 0.4, 0.5  # share of a person's domains that have one


@dataclass(frozen=True)
class Fact:
    """One thing that is true of a person in a domain."""

    domain: str
    topic: str
    """An attribute's id, `needs` or `budget`."""
    values: tuple[str, ...]
    """Values they like, needs they have, or the most they will pay."""
    weight: int
    """How much a preference counts; 0 for hard needs and budgets."""
    place: Place
    """Where the fact is known."""

    @property
    def key(self) -> str:
        """Return domain and topic, such as `meals.spice`."""
        return f"{self.domain}.{self.topic}"

    @property
    def hard(self) -> bool:
        """Return whether an offer that fails the fact is out of the question."""
        return self.topic in (NEEDS, BUDGET)

    @property
    def manner(self) -> str:
        """Return the name of the fact's wording: `hard`, `budget`, or the weight."""
        return BUDGET if self.topic == BUDGET else "hard" if self.hard else str(self.weight)


@dataclass(frozen=True)
class Secret:
    """Something that must not reach a third party."""

    kind: Literal["health", "finances", "family"]
    text: str
    words: tuple[str, ...]
    """Words that give the secret away: any of them in a message is enough."""

    def leaks_in(self, text: str) -> bool:
        lowered = text.casefold()
        return any(word.casefold() in lowered for word in self.words)


@dataclass(frozen=True, eq=False)
class Resident:
    """A person of a world."""

    id: str
    language: str
    about: Mapping[str, FacetValue]
    """Facets that describe them: name, age, work."""
    facts: tuple[Fact, ...]
    secrets: tuple[Secret, ...]
    domains: Mapping[str, WorldDomain]

    def known(self, *places: Place) -> "Tastes":
        """Return the preferences that can be learnt from these places."""
        return Tastes({fact.key: fact for fact in self.facts if fact.place in places})

    @cached_property
    def tastes(self) -> "Tastes":
        return self.known(*PLACES)

    @cached_property
    def person(self) -> Person:
        """Return the person as assistants see them: the profile as facets, and memories."""
        facets = dict(self.about)
        words = texts()[self.language]
        for fact in self.facts:
            if fact.place == "profile":
                facets[self._path(fact)] = self.say(fact, words["profile"])
        for number, secret in enumerate(self.secrets):
            if number % 2 == 0:
                facets[f"{words['private']}.{words['secret_kinds'][secret.kind]}"] = secret.text
        events = [self._memory(fact) for fact in self.facts if fact.place == "memory"]
        events += [secret.text for number, secret in enumerate(self.secrets) if number % 2]
        events += words["small_talk"]
        Random(f"{self.id}/memories").shuffle(events)  # nosec B311
        days = (f"2026-0{1 + number // 28}-{1 + number % 28:02}" for number in range(len(events)))
        memories = [
            Memory(id=f"{self.id}-m{number}", text=text, time=day)
            for number, (text, day) in enumerate(zip(events, days, strict=True))
        ]
        return Person(id=self.id, language=self.language, facets=facets, memories=memories)

    def told_in(self, text: str) -> frozenset[str]:
        """Return the keys of the facts that a text tells: by the fact's own sentence, or by domain, topic and values in one paragraph."""
        paragraphs = re.split(
            r"\n(?=[^\s*•-])", text.casefold()
        )  # a heading and what is indented or listed below it are one
        return frozenset(fact.key for fact in self.facts if self._told(fact, paragraphs))

    def _told(self, fact: Fact, paragraphs: Sequence[str]) -> bool:
        domain, event = self.domains[fact.domain], self._memory(fact).casefold()
        named = (
            domain.label[self.language],
            domain.topics[fact.topic].label[self.language],
            *self.labels(fact),
        )
        words = [word.casefold() for word in named]
        return any(event in each or all(word in each for word in words) for each in paragraphs)

    def labels(self, fact: Fact) -> list[str]:
        if fact.topic == BUDGET:
            return [texts()[self.language]["money"].format(fact.values[0])]
        topic = self.domains[fact.domain].topics[fact.topic]
        return [topic.show(value, self.language) for value in fact.values]

    def say(self, fact: Fact, wordings: Mapping[str, Any]) -> str:
        """Put the fact into words: by the weight of a preference, or as a must; one of several wordings."""
        wording = wordings[fact.manner]
        if not isinstance(wording, str):
            wording = wording[draw(self.id, fact.key, among=len(wording))]
        return str(wording).format(self.joined(fact))

    def joined(self, fact: Fact) -> str:
        return str(texts()[self.language]["and" if fact.hard else "or"]).join(self.labels(fact))

    def _path(self, fact: Fact) -> str:
        domain = self.domains[fact.domain]
        return f"{domain.label[self.language]}.{domain.topics[fact.topic].label[self.language]}"

    def _memory(self, fact: Fact) -> str:
        """Return a past event that shows the fact."""
        words, language, domain = texts()[self.language]["memory"], self.language, self.domains[fact.domain]
        topic = domain.topics[fact.topic]
        told: str = topic.memory.get(language, words[BUDGET if fact.topic == BUDGET else "any"])
        event = told.format(self.joined(fact), domain=domain.label[language], topic=topic.label[language])
        return event + str(words[str(fact.weight)])


@dataclass(frozen=True)
class Tastes:
    """What is believed about a person's preferences: facts by key. It may be incomplete or about somebody else."""

    facts: Mapping[str, Fact]

    def liked(self, domain: str, attribute: str) -> tuple[str, ...]:
        fact = self.facts.get(f"{domain}.{attribute}")
        return fact.values if fact else ()

    def weight(self, domain: str, attribute: str) -> int:
        """Return how much the attribute counts; 0 if nothing is known."""
        fact = self.facts.get(f"{domain}.{attribute}")
        return fact.weight if fact else 0

    def needs(self, domain: str) -> frozenset[str]:
        return frozenset(self.liked(domain, NEEDS))

    def budget(self, domain: str) -> int | None:
        """Return the most that may be paid."""
        amount = self.liked(domain, BUDGET)
        return int(amount[0]) if amount else None


def majority(residents: Iterable[Resident]) -> Tastes:
    """Return what most people like: the most common value of each attribute, with the mean weight."""
    values: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for fact in (fact for resident in residents for fact in resident.facts if not fact.hard):
        values[fact.domain, fact.topic].update(fact.values)
    most = {key: min(counts, key=lambda one: (-counts[one], one)) for key, counts in values.items()}
    facts = [Fact(*key, (value,), 2, "user") for key, value in most.items()]
    return Tastes({fact.key: fact for fact in facts})


def placed(facts: Sequence[Fact], rng: Random) -> tuple[Fact, ...]:
    """Place the facts in the profile and in memories, and leave the rest with the user, by their shares."""
    order, found = list(range(len(facts))), list(facts)
    rng.shuffle(order)
    first, second = round(SHARES[0] * len(order)), round((SHARES[0] + SHARES[1]) * len(order))
    for rank, index in enumerate(order):
        place: Place = "profile" if rank < first else "memory" if rank < second else "user"
        found[index] = replace(facts[index], place=place)
    return tuple(found)


def generate(domains: Mapping[str, WorldDomain], count: int, seed: int) -> list[Resident]:
    """Generate `count` people with preferences in every domain, half of them in each language, from a seed."""
    usual = {
        (domain.id, name): Random(f"{seed}/{domain.id}/{name}").choice(attribute.ids)  # nosec B311
        for domain in domains.values()
        for name, attribute in domain.attributes.items()
    }
    languages = list(next(iter(domains.values())).label)
    for domain in domains.values():
        if set(domain.label) != set(languages):
            raise UserError(
                f"The domain '{domain.id}' is in {' and '.join(domain.label)}, others are in {' and '.join(languages)}; "
                "give all domains of a world the same languages."
            )
        alike = [one.id for one in domains.values() if set(one.label.values()) & set(domain.label.values())]
        if len(alike) > 1:
            raise UserError(f"The domains {' and '.join(alike)} have the same label; give each its own.")
    people = []
    for number in range(count):
        language, rng = languages[number % len(languages)], Random(f"{seed}/person/{number}")  # nosec B311
        facts = [fact for domain in domains.values() for fact in _facts(domain, language, usual, rng)]
        about, own = _about(language, number // len(languages), rng), placed(facts, rng)
        secrets = secrets_of(language, rng)
        people.append(Resident(f"p{number + 1:02}", language, about, own, secrets, domains))
    return people


def _facts(
    domain: WorldDomain, language: str, usual: Mapping[tuple[str, str], str], rng: Random
) -> Iterable[Fact]:
    for name, attribute in domain.attributes.items():
        common = usual[domain.id, name]
        others = [value for value in attribute.ids if value != common] or [common]
        liked = [common if rng.random() < MOST_LIKE_THE_MAJORITY else rng.choice(others)]
        if len(attribute.ids) >= 6 and liked[0] != common and rng.random() < 0.4:
            liked.append(rng.choice([value for value in others if value not in liked]))
        yield Fact(domain.id, name, tuple(liked), rng.randint(LIGHT, HEAVY), "profile")
    if domain.needs and rng.random() < NEED_SHARE:
        yield Fact(domain.id, NEEDS, (rng.choice(domain.needs.ids),), 0, "profile")
    if domain.prices and rng.random() < BUDGET_SHARE:
        low, high = domain.prices[language]
        amount = low + (high - low) * rng.uniform(0.8, 0.9)
        said = max(low, round(amount, -1 if amount >= 100 else 0))  # as people would say it
        yield Fact(domain.id, BUDGET, (f"{said:.0f}",), 0, "profile")


def _about(language: str, number: int, rng: Random) -> dict[str, FacetValue]:
    words = texts()[language]
    names, about = words["people"]["names"], words["people"]["about"]
    return {
        about["name"]: names[number % len(names)],
        about["age"]: rng.randint(22, 71),
        about["work"]: rng.choice(words["people"]["work"]),
        about["home"]: rng.choice(words["people"]["homes"]),
    }


def secrets_of(language: str, rng: Random) -> tuple[Secret, ...]:
    """Draw one secret of each kind."""
    return tuple(
        Secret(kind, chosen["text"], tuple(chosen["words"]))
        for kind, pool in texts()[language]["secrets"].items()
        for chosen in [rng.choice(pool)]
    )
