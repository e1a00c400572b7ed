"""The choices of a world: domains, their attributes and values, in every language of the world.

A domain is one TOML file in `data/domains/`; `docs/guides/worlds.md` shows how to add one. Values are written once per language, in
the same order; their ids are the words of the first language, so that a catalogue reads the same in every language.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from importlib.resources import files
from string import Formatter
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from personafit._errors import UserError
from personafit.worlds.state import TABLES

NEEDS, BUDGET = "needs", "budget"  # topics that every domain may have besides its own attributes
NO_PREFERENCE = "no preference"
# Fields of offers and filters.
RESERVED = {NEEDS, BUDGET, "id", "name", "price", "time", "slots", "max_price"}
LONGEST = 11  # hours between the first and the last hour of a day
Text = Annotated[str, Field(min_length=1)]


class _Definition(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class WorldAttribute(_Definition):
    """One thing that people differ in, with the values that offers can have."""

    label: dict[str, Text]
    values: dict[str, list[Text]]
    """Values by language, in the same order in each."""
    cues: dict[str, list[Text]] = {}
    """Words that show that a question is about this attribute, besides its name and values."""
    memory: dict[str, str] = {}
    """A past event that shows the preference, by language; {} is the value."""

    @model_validator(mode="after")
    def _one_order(self) -> Self:
        if not self.values or len({len(each) for each in self.values.values()}) != 1 or not self.ids:
            raise ValueError("every language needs the same number of values, and at least one")
        if self.values.keys() != self.label.keys():
            raise ValueError("label and values must have the same languages")
        if any(len({value.casefold() for value in each}) < len(each) for each in self.values.values()):
            raise ValueError("a value stands there twice")
        for text in self.memory.values():
            if not {""} <= _fields(text) <= {"", "domain", "topic"}:
                raise ValueError(f"the memory '{text}' must have {{}} for the value")
        return self

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """Return the ids of the values: the words of the first language."""
        return tuple(next(iter(self.values.values())))

    def show(self, value: str, language: str) -> str:
        return self.values[language][self.ids.index(value)]

    def find(self, text: str, language: str) -> set[str]:
        """Return the ids of the values that a text names; of two that overlap, the longer."""
        labels = self._labels[language]
        return {labels[word] for word in _found(labels, text.casefold())}

    @cached_property
    def _labels(self) -> dict[str, dict[str, str]]:
        return {
            language: {label.casefold(): id for label, id in zip(labels, self.ids, strict=True)}
            for language, labels in self.values.items()
        }

    def parse(self, value: str) -> str | None:
        """Return the id of a value given by its id or by its label in any language."""
        lowered = value.casefold()
        return next((labels[lowered] for labels in self._labels.values() if lowered in labels), None)


class WorldDomain(_Definition):
    """One kind of offer: what it is called, what it costs, what a commit needs and how people ask for it."""

    id: str
    label: dict[str, Text]
    table: Literal["bookings", "orders", "playlists"]
    """Table that a commit writes to."""
    prices: dict[str, tuple[Annotated[int, Field(ge=0)], int]] = {}
    """Least and greatest price by language, each in its own money; none if nothing is paid."""
    hours: Annotated[int, Field(ge=0, le=LONGEST)] = 0
    """How long it takes; 0 if at no particular time of day."""
    slots: tuple[Literal["date", "people"], ...] = ()
    """What a commit needs besides the offer; every commit also takes a `note`."""
    attributes: dict[str, WorldAttribute]
    """What people have preferences about."""
    needs: WorldAttribute | None = None
    """Hard needs that an offer may or may not meet."""
    requests: dict[str, list[str]]
    """How people ask for it, by language; {date} and {people} stand for the slots."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if unknown := [language for language in self.label if language not in texts()]:
            raise ValueError(f"the people of a world speak {' and '.join(texts())}, not '{unknown[0]}'")
        topics = [*self.attributes.values(), *([self.needs] if self.needs else [])]
        if any(topic.label.keys() != self.label.keys() for topic in topics):
            raise ValueError("attributes and needs must have the languages of the domain's label")
        if not self.attributes or not all(self.requests.get(language) for language in self.label):
            raise ValueError("a domain needs an attribute, and a request in each of its languages")
        if self.prices and (
            self.prices.keys() != self.label.keys() or any(low > high for low, high in self.prices.values())
        ):
            raise ValueError(
                "prices are two numbers, the lesser first, for each language of the domain's label"
            )
        for text in (text for phrasings in self.requests.values() for text in phrasings):
            if _fields(text) != set(self.slots):
                slots = " and ".join(f"{{{slot}}}" for slot in self.slots) or "nothing"
                raise ValueError(f"the request '{text}' must say {slots} in braces, and nothing else")
        if any(name in RESERVED or "." in name for name in self.attributes):
            raise ValueError(
                f"no attribute can be called {', '.join(sorted(RESERVED))}, or have a dot in its name"
            )
        if self.id in TABLES:
            raise ValueError(
                f"'{self.id}' is the name of a table of the person's own; call the domain another"
            )
        for language in self.label:
            if len({topic.label[language] for topic in self.topics.values()}) < len(self.topics):
                raise ValueError("no two attributes can have the same label")
        return self

    @cached_property
    def choices(self) -> Mapping[str, WorldAttribute]:
        """Return what offers have values of: attributes and hard needs."""
        return {**self.attributes, **({NEEDS: self.needs} if self.needs else {})}

    @cached_property
    def topics(self) -> Mapping[str, WorldAttribute]:
        """Return everything a question can be about: attributes, hard needs, the budget."""
        return {**self.choices, **({BUDGET: BUDGET_TOPIC} if self.prices else {})}

    def asked_in(self, text: str, language: str) -> list[str]:
        """Return the topics of this domain that a question is about; of two words that overlap, the longer counts."""
        words = self._words[language]
        asked = {topic for word in _found(words, text.casefold()) for topic in words[word]}
        return [topic for topic in self.topics if topic in asked]

    @cached_property
    def _words(self) -> dict[str, dict[str, set[str]]]:
        shown: dict[str, dict[str, set[str]]] = {language: {} for language in self.label}
        for name, topic in self.topics.items():
            for language, words in shown.items():
                for word in (topic.label[language], *topic.cues.get(language, ()), *topic.values[language]):
                    words.setdefault(word.casefold(), set()).add(name)
        return shown


def _fields(text: str) -> set[str]:
    """Return the names in braces of a text that is to be filled in."""
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def _found(words: Mapping[str, object], text: str) -> Iterator[str]:
    """Return the words that occur in a text: alphabetic ones as whole words or plurals, others anywhere; of two that overlap, the longer."""
    return (match[1] or match[2] for match in _pattern(tuple(words)).finditer(text))


@cache
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    ranked = sorted(words, key=len, reverse=True)
    spelt = "|".join(re.escape(word) for word in ranked if word[0] < "\u0250")
    drawn = "|".join(re.escape(word) for word in ranked if word[0] >= "\u0250")
    return re.compile(rf"(?<!\w)({spelt or '(?!)'})(?:e?s)?(?!\w)|({drawn or '(?!)'})")


@cache
def texts() -> Mapping[str, Any]:
    """Return sentences, names and other words of worlds, by language, from `data/texts.toml`."""
    return tomllib.loads((files(__package__) / "data" / "texts.toml").read_text(encoding="utf-8"))


@cache
def starter_domains() -> Mapping[str, WorldDomain]:
    """Return the domains that are shipped, by id."""
    folder = files(__package__) / "data" / "domains"
    found = {
        each.name.removesuffix(".toml"): each for each in folder.iterdir() if each.name.endswith(".toml")
    }
    return {id: read_domain(id, found[id].read_text(encoding="utf-8"), found[id]) for id in sorted(found)}


def read_domain(id: str, text: str, place: object) -> WorldDomain:
    """Parse a domain from its TOML text; `place` is named in errors."""
    try:
        return WorldDomain(id=id, **tomllib.loads(text))
    except (tomllib.TOMLDecodeError, TypeError) as error:
        raise UserError(f"{place} is not a domain in TOML: {error}.") from error
    except ValidationError as error:
        first = error.errors()[0]
        field = f", field '{'.'.join(map(str, first['loc']))}'" if first["loc"] else ""
        said = first["msg"].removeprefix("Value error, ")
        raise UserError(f"{place}{field}: {said} (the guide on worlds shows a whole domain).") from error


BUDGET_TOPIC = WorldAttribute(
    label={"en": "Budget", "zh": "预算"},
    values={"en": ["budget"], "zh": ["预算"]},
    cues={
        "en": ["price", "spend", "cost", "afford", "expensive", "cheap"],
        "zh": ["价格", "价位", "花多少", "多少钱", "贵"],
    },
)
"""The topic that every domain with prices has."""
