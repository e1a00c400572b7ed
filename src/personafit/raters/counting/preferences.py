"""What a person prefers, as something to look for in a dialogue: per attribute its values, those of other people, and every way to
say one of them.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Any

from personafit.people import FacetValue
from personafit.raters.text import stems

LEXICON: dict[str, Any] = tomllib.loads((files(__package__) / "meanings.toml").read_text(encoding="utf-8"))
"""Other ways to say a value, values that need company to be meant, and what people call attributes and domains.

These lists are ours and finite: what they do not know is not found, which the validation shows as recall.
"""
NAMES = frozenset(LEXICON["names"].split())
AVOIDED: tuple[str, ...] = tuple(LEXICON["avoided"])


@lru_cache(maxsize=1)
def _groups() -> dict[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    found: dict[tuple[str, ...], tuple[tuple[str, ...], ...]] = {}
    for group in LEXICON["same"]:
        forms = tuple(dict.fromkeys(stems(way) for way in group))
        for form in forms:
            found[form] = tuple(dict.fromkeys((*found.get(form, ()), *forms)))
    return found


@lru_cache(maxsize=8192)
def ways_to_say(value: str) -> tuple[tuple[str, ...], ...]:
    """The value's own words first, then the other ways to say it."""
    form = stems(value)
    if not form:
        return ()
    bare = stems(re.sub(r"\s*\([^)]*\)", "", value))  # without a remark in brackets
    # "The Great Gatsby" is found without its article; one word that is left would be found everywhere.
    short = (bare[1:],) if len(bare) > 2 and bare[0] in ("the", "a", "an") else ()
    return tuple(dict.fromkeys((form, *filter(None, (bare, *short)), *_groups().get(form, ()))))


@lru_cache(maxsize=1024)
def company_of(form: tuple[str, ...]) -> frozenset[str] | None:
    """The words a common word needs beside it to be meant as a value; None for words that need none."""
    if len(form) != 1:
        return None
    for word, company in LEXICON["company"].items():
        if stems(word) == form:
            return frozenset(stems(company))
    return None


@lru_cache(maxsize=256)
def domain_words(domain: str) -> frozenset[str]:
    """The words that show that a sentence is about a domain."""
    named = stems(domain)
    known = [stems(words) for name, words in LEXICON["domains"].items() if stems(name)[0] in named]
    return frozenset(named).union(*known)


INDIFFERENT = ("no preference", "none", "no limit", "any", "n/a")
# A day that lies in what the person has is no other value.
_DAYS = {
    "everyday": ("weekdays", "weekends"),
    "every day": ("weekdays", "weekends"),
    "weekdays": ("monday", "tuesday", "wednesday", "thursday", "friday"),
    "weekends": ("saturday", "sunday"),
}
_EMPTY_NAMES = frozenset(stems(LEXICON["empty_names"]))


@dataclass(frozen=True)
class Preference:
    """One attribute of a person that bears on a task."""

    path: str
    """Facet path, such as `Books.Preferred Genres`."""
    values: tuple[str, ...]
    """What the person has there."""
    others: tuple[str, ...] = ()
    """The further values of the list it comes from; empty where there is no list."""
    several: bool = False
    """Whether the person may have several, so that one of them is enough."""

    @property
    def domain(self) -> str:
        """The domain it belongs to."""
        return self.path.partition(".")[0]

    @property
    def name(self) -> str:
        """The attribute's name without its domain."""
        return self.path.partition(".")[2] or self.path

    @cached_property
    def avoided(self) -> bool:
        """Whether its values are what the person does not want."""
        return any(word in self.name.lower() for word in AVOIDED)

    @cached_property
    def name_words(self) -> frozenset[str]:
        """The telling words of its name."""
        return frozenset(stems(self.name)) - _EMPTY_NAMES

    @cached_property
    def cue(self) -> re.Pattern[str] | None:
        """What a question about it says."""
        known = {stems(word)[0]: cue for word, cue in LEXICON["cues"].items()}
        words = stems(self.name)
        # The last telling word is what the attribute is a kind of: "Reading Time" is a time, not a reading.
        telling = [word for word in words if word not in _EMPTY_NAMES]
        cues = [known[word] for word in telling if word in known]
        if "time" in telling and len(cues) > 1:
            cues = [known["time"]]
        # A word of the domain's own stands in any question of that domain.
        left = [word for word in telling if word not in known and word not in self.domain_words]
        plain = [re.escape(word) for word in left if len(word) > 3]
        return (
            re.compile(rf"(?<![a-z])(?:{'|'.join([*cues, *plain])})", re.IGNORECASE)
            if cues or plain
            else None
        )

    @cached_property
    def forms(self) -> tuple[tuple[tuple[str, ...], str, bool], ...]:
        """Every way to say one of its values, with the value and whether it is the person's own.

        Longest first; of two that are worded alike the person's own.
        """
        found = [
            (form, value, value in self.values)
            for value in (*self.values, *self.others)
            for form in ways_to_say(value)
        ]
        found.sort(key=lambda one: (-len(one[0]), not one[2], one[0] != ways_to_say(one[1])[0]))
        return tuple(found)

    @cached_property
    def domain_words(self) -> frozenset[str]:
        """The words that show that a sentence is about its domain."""
        return domain_words(self.domain)


def preferences_of(
    facets: Mapping[str, FacetValue], paths: Sequence[str], closed: Mapping[str, Sequence[str]]
) -> tuple[Preference, ...]:
    """The preferences at these paths; attributes on which the person is indifferent are no preference."""
    found = []
    for path in paths:
        if path not in facets:
            continue
        value = facets[path]
        own = tuple(value) if isinstance(value, list) else (str(value),)
        own = tuple(one for one in own if one.strip().lower() not in INDIFFERENT and stems(one))
        if not own:
            continue
        said = {stems(one) for one in own}
        said |= {stems(day) for one in own for day in _DAYS.get(one.strip().lower(), ())}
        others = tuple(
            one
            for one in closed.get(path, ())
            if stems(one) not in said and one.strip().lower() not in INDIFFERENT and stems(one)
        )
        found.append(_preference(path, own, others, isinstance(value, list)))
    return tuple(found)


@lru_cache(maxsize=8192)
def _preference(path: str, values: tuple[str, ...], others: tuple[str, ...], several: bool) -> Preference:
    """One object for equal preferences, so that what is worked out about it is worked out once."""
    return Preference(path, values, others, several)
