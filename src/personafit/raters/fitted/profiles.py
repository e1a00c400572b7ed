"""What an answer can be matched against: a person's facets as character n-grams, by field group.

Character n-grams stand in for words because Chinese is written without spaces; words in Latin letters stay whole.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import add

FacetValue = str | int | float | bool | list[str]
Facets = Mapping[str, FacetValue]

MATCH_LENGTHS = (2, 3)

FIELD_GROUPS = (
    "career",
    "demographics",
    "values",
    "food",
    "entertainment",
    "shopping",
    "outings",
    "business_trips",
    "leisure_travel",
    "social",
    "study_work",
    "fitness",
    "content",
    "other",
)

# The last part of a facet path, spelled as the persona files spell it, the noisy keys included.
_GROUP_OF_KEY = {
    "career_information": "career",
    "values_and_interests": "values",
    "food_drinks": "food",
    "entertainment": "entertainment",
    "entertainment_shopping": "entertainment",
    "shopping": "shopping",
    "traveldaily_outings": "outings",
    "daily_outings": "outings",
    "business_trips": "business_trips",
    "leisure_travel": "leisure_travel",
    "social": "social",
    "study_work": "study_work",
    "fitness": "fitness",
    "content_interests": "content",
}

_RUNS = re.compile(r"[\u4e00-\u9fff]+|[a-z0-9]+")
_LATIN_WORDS = re.compile(r"[a-z0-9]{2,}")
_TYPE_LETTER = re.compile(r"[A-Za-z]")


def field_group(path: str) -> str | None:
    """The field group of a facet path; None for what is no matter of overlap: the name and type letters."""
    parts = path.lower().split(".")
    if parts == ["name"]:
        return None
    if group := _GROUP_OF_KEY.get(parts[-1]):
        return group
    return "demographics" if parts[0] == "demographics" else "other"


def adjacent(text: str, length: int) -> list[str]:
    """All substrings of `length` characters in order, whatever the characters are."""
    grams = list(text)
    for offset in range(1, length):
        grams = list(map(add, grams, text[offset:]))
    return grams


@lru_cache(maxsize=64)
def neighbours(text: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """All pairs of neighbouring characters, in order and distinct; both members of a model ask for them."""
    pairs = tuple(map(add, text, text[1:]))
    return pairs, frozenset(pairs)


def latin_words(text: str) -> set[str]:
    """The words and numbers in Latin letters of a lower-case text."""
    return set(_LATIN_WORDS.findall(text))


def matchable(text: str, length: int) -> set[str]:
    """What can count as a match: n-grams within runs of Chinese characters and, as 2-grams, whole Latin words."""
    found: set[str] = set()
    for run in _RUNS.findall(text.lower()):
        if run[0] >= "\u4e00":
            found.update(adjacent(run, length))
        elif length == 2 and len(run) > 1:
            found.add(run)
    return found


@dataclass(frozen=True)
class PersonProfile:
    """One person, ready to be matched: the 2- and 3-grams of all facets together and of each field group."""

    name: str
    by_length: Mapping[int, frozenset[str]]
    by_group: Mapping[int, Mapping[str, frozenset[str]]]


def person_profile(facets: Facets) -> PersonProfile:
    """Build the profile of `{"Preference.Social": "...", ...}`; a person without facets matches nothing."""
    texts: dict[str, list[str]] = {}
    for path, value in facets.items():
        if not isinstance(path, str) or not isinstance(value, str | int | float | list):
            raise ValueError(
                f"A facet is a path with a text, a number or a list of texts, not {path!r}: {value!r}."
            )
        text = "。".join(map(str, value)) if isinstance(value, list) else str(value)
        if (group := field_group(path)) and not _TYPE_LETTER.fullmatch(text):
            texts.setdefault(group, []).append(text)
    by_group = {
        length: {group: frozenset(matchable("。".join(parts), length)) for group, parts in texts.items()}
        for length in MATCH_LENGTHS
    }
    return PersonProfile(
        name=str(facets.get("Name", "")).strip(),
        by_length={length: frozenset().union(*groups.values()) for length, groups in by_group.items()},
        by_group=by_group,
    )


@lru_cache(maxsize=1024)
def _cached_profile(items: tuple[tuple[str, object], ...]) -> PersonProfile:
    return person_profile({path: list(v) if isinstance(v, tuple) else v for path, v in items})  # type: ignore[misc]


def profile_of(facets: Facets) -> PersonProfile:
    """As `person_profile`, but remembered: a person usually comes with many pairs."""
    try:
        return _cached_profile(tuple((p, tuple(v) if isinstance(v, list) else v) for p, v in facets.items()))
    except (TypeError, AttributeError):  # something unhashable or no mapping at all
        raise ValueError(
            f"Facets map paths to texts, numbers or lists of texts, not {facets!r:.80}."
        ) from None
