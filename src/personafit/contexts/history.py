"""Histories made worse on purpose, to see what an assistant's memory is worth: thinned out, mixed up, contradicted.

All draws are by hash of the seed, the person and the sentence or preference concerned, so one person's history never
depends on another's; what came out is stored with the context like any other.
"""

import re
from dataclasses import dataclass

from personafit._hashing import draw, hash_text
from personafit.contexts.context import People
from personafit.people import FacetValue, Person

_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*")
_WIDE = re.compile(r"[\u3400-\u9fff]")
_LATELY = {
    "en": " Lately, asked for their {name}, the person said: {instead}.",
    "zh": "最近被问到 {name} 时，这个人说：{instead}。",
}


@dataclass(frozen=True)
class Quality:
    """One way of making a history worse, and how much."""

    kind: str
    amount: float


@dataclass(frozen=True)
class Whose:
    """Whose history it is, and among whom they live."""

    person: Person
    people: People
    seed: int
    matters: tuple[str, ...] = ()
    """Facets that bear on the task at hand."""


def worsened(history: dict[str, str], quality: Quality, whose: Whose) -> dict[str, str]:
    """The summaries by domain, made worse."""
    return QUALITIES[quality.kind](history, quality.amount, whose)


def sentences(text: str) -> list[str]:
    """A summary's sentences."""
    return [part for part in _SENTENCE.split(text.strip()) if part]


def sparse(history: dict[str, str], share: float, whose: Whose) -> dict[str, str]:
    """Without this share of the sentences of each summary; the rest stay in order."""
    thinned = {}
    for domain, text in history.items():
        said = sentences(text)
        keys = [
            hash_text("sparse", str(whose.seed), whose.person.id, domain, str(n)) for n in range(len(said))
        ]
        ranked = sorted(range(len(said)), key=keys.__getitem__)
        dropped = set(ranked[: round(share * len(said))])
        thinned[domain] = _joined([each for number, each in enumerate(said) if number not in dropped])
    return {domain: text for domain, text in thinned.items() if text}


def noise(history: dict[str, str], share: float, whose: Whose) -> dict[str, str]:
    """With sentences from other people's summaries of the same domain mixed in, this share of the own number."""
    mixed = {}
    people, person = whose.people, whose.person
    pool = [other for other in people.of_language(person.language) if other != person.id]
    for domain, text in history.items():
        said = sentences(text)
        others = [other for other in pool if domain in people[other].summaries]
        for number in range(round(share * len(said)) if others else 0):
            parts = ("noise", whose.seed, person.id, domain, number)
            first = draw(*parts, "who", among=len(others))
            for other in (*others[first:], *others[:first]):
                foreign = [each for each in sentences(people[other].summaries[domain]) if each not in said]
                if foreign:
                    place = draw(*parts, "where", among=len(said) + 1)
                    said.insert(place, foreign[draw(*parts, "what", among=len(foreign))])
                    break
        mixed[domain] = _joined(said)
    return mixed


def contradict(history: dict[str, str], count: float, whose: Whose) -> dict[str, str]:
    """With so many preferences turned into somebody else's: where they are mentioned, and else in a sentence more.

    Preferences that bear on the task come first.
    """
    changed, person = dict(history), whose.person
    paths = [
        path
        for path in person.facets
        if path.partition(".")[0] in history and _other_value(path, whose) is not None
    ]
    paths.sort(
        key=lambda path: (
            path not in whose.matters,
            hash_text("contradict", str(whose.seed), person.id, path),
        )
    )
    for path in paths[: int(count)]:
        domain, _, name = path.partition(".")
        instead = str(_other_value(path, whose))
        text = changed[domain]
        for value in _values(person.facets[path]):
            text = _replaced(text, value, instead)
        if text == changed[domain]:
            lately = _LATELY["zh" if person.language.startswith("zh") else "en"]
            text += lately.format(name=name.lower(), instead=instead)
        changed[domain] = text
    return changed


def _joined(said: list[str]) -> str:
    """Sentences as a text; a sentence that ends as Chinese ones do needs no space after it."""
    return re.sub(r"(?<=[。！？]) ", "", " ".join(said))


def _replaced(text: str, value: str, instead: str) -> str:
    """The text with one value for another where it stands as a word; Chinese has no spaces to tell words by."""
    pattern = re.escape(value) if _WIDE.search(value) else rf"(?<!\w){re.escape(value)}(?!\w)"
    return re.sub(pattern, lambda _: instead, text, flags=re.IGNORECASE)


def _other_value(path: str, whose: Whose) -> str | None:
    """What somebody else prefers there, and this person does not."""
    own = {value.casefold() for value in _values(whose.person.facets[path])}
    pool = whose.people.of_language(whose.person.language)
    start = draw("other", whose.seed, whose.person.id, path, among=len(pool))
    for step in range(len(pool)):
        facets = whose.people[pool[(start + step) % len(pool)]].facets
        for value in _values(facets[path]) if path in facets else []:
            if value.casefold() not in own:
                return value
    return None


def _values(value: FacetValue) -> list[str]:
    return list(value) if isinstance(value, list) else [str(value)]


QUALITIES = {"sparse": sparse, "noise": noise, "contradict": contradict}
