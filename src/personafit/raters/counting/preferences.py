"""What a person prefers, and where a text names a value of it.

Per attribute its values, those of other people, and every way to say one of them. In a text the longest wording wins, common words
need company, negation is seen; values that are ranges, such as `3-7 days` or `under $50`, are named by the amounts that fall into them.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

from personafit.items.reading import expression
from personafit.people import FacetValue
from personafit.raters.text import Token, clause_before, clock_hour, runs, stems, tokens

LEXICON: dict[str, Any] = tomllib.loads((files(__package__) / "meanings.toml").read_text(encoding="utf-8"))
"""Other ways to say a value, values that need company to be meant, and what people call attributes and domains.

These lists are ours and finite: what they do not know is not found, which the validation shows as recall.
"""
SIGNS = {name: expression(lines) for name, lines in LEXICON["signs"].items()}
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

    path: str  # facet path, such as `Books.Preferred Genres`
    values: tuple[str, ...]  # what the person has there
    others: tuple[str, ...] = ()  # the further values of the list it comes from; empty where there is no list
    several: bool = False  # whether the person may have several, so that one of them is enough

    @property
    def domain(self) -> str:
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
        """Pattern of words with which one asks about it."""
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


# -- amounts and ranges -------------------------------------------------------------------------------------------------

_UNIT_DAYS = {"day": 1.0, "night": 1.0, "week": 7.0, "month": 30.0, "year": 365.0}
_NUMBER_WORDS: dict[str, int] = LEXICON["numbers"]
_NUMBER = rf"(?:\d+(?:\.\d+)?|{'|'.join(_NUMBER_WORDS)})"
_UNIT = rf"(?P<unit>{'|'.join(_UNIT_DAYS)})s?"
_RANGE = re.compile(rf"(?P<low>{_NUMBER})\s*(?:-|–|to)\s*(?P<high>{_NUMBER})\s*{_UNIT}", re.IGNORECASE)
_OPEN = re.compile(rf"(?P<low>{_NUMBER})\s*{_UNIT}\s*(?:\+|or more)", re.IGNORECASE)
_SUM = r"(\d{1,3}(?:,\d{3})+|\d+)"
_MONEY = re.compile(rf"[$€£]{_SUM}\s*(?:-|–|to)\s*[$€£]?{_SUM}")
_MONEY_UNDER = re.compile(rf"(?:under|below|up to) [$€£]{_SUM}", re.IGNORECASE)
_MONEY_OVER = re.compile(rf"(?:over|above) [$€£]{_SUM}|[$€£]{_SUM}\+", re.IGNORECASE)
_AMOUNT_MONEY = re.compile(rf"[$€£]\s?({_SUM}(?:\.\d+)?)(k\b)?", re.IGNORECASE)
_AMOUNT_DAYS = re.compile(rf"(?<![-–\w])(?P<low>{_NUMBER})[\s-]+{_UNIT}\b(?![\s-]old)", re.IGNORECASE)
_BELOW = re.compile(r"\b(?:under|below|up to|less than)\s*$", re.IGNORECASE)


class Range(NamedTuple):
    """The amounts that a value covers."""

    kind: str
    low: float
    high: float


class Amount(NamedTuple):
    """An amount in a text."""

    kind: str
    size: float
    start: int
    end: int


@lru_cache(maxsize=4096)
def range_of(value: str) -> Range | None:
    """The range a value names, if it names one."""
    if match := _MONEY.fullmatch(value):
        return Range("money", _number(match[1]), _number(match[2]))
    if match := _MONEY_UNDER.fullmatch(value):
        return Range("money", 0.0, _number(match[1]) - 0.01)
    if match := _MONEY_OVER.fullmatch(value):
        return Range("money", _number(match[1] or match[2]) + 0.01, float("inf"))
    if match := _RANGE.fullmatch(value):
        unit = _UNIT_DAYS[match["unit"].lower()]
        return Range("days", _number(match["low"]) * unit, _number(match["high"]) * unit)
    if match := _OPEN.fullmatch(value):
        return Range("days", _number(match["low"]) * _UNIT_DAYS[match["unit"].lower()], float("inf"))
    return None


def amounts(text: str) -> Iterator[Amount]:
    """Sums of money and lengths of time in a text."""
    for match in _AMOUNT_MONEY.finditer(text):
        less = 0.01 if _BELOW.search(text, 0, match.start()) else 0.0
        yield Amount("money", _number(match[1]) * (1000 if match[3] else 1) - less, *match.span())
    for match in _AMOUNT_DAYS.finditer(text):
        yield Amount("days", _number(match["low"]) * _UNIT_DAYS[match["unit"].lower()], *match.span())


def value_for(amount: Amount, values: Sequence[str]) -> str | None:
    """The value whose range the amount falls into; None where no or several fit."""
    ranges = [(value, found) for value in values if (found := range_of(value)) and found.kind == amount.kind]
    fitting = [value for value, found in ranges if found.low <= amount.size <= found.high]
    return fitting[0] if len(fitting) == 1 else None


def _number(text: str) -> float:
    return float(_NUMBER_WORDS.get(text.lower(), 0) or text.replace(",", ""))


# -- mentions -----------------------------------------------------------------------------------------------------------

NEAR = 4  # tokens either side in which a common word finds its company
_FREE_OF = re.compile(r"^-free\b", re.IGNORECASE)
_BETWEEN = frozenset({"or", "and"})
_OTHERWISE = {"budget": SIGNS["other_budget"]}  # uses of a word in which it is not the value of that name
_PARTS = {"morning": (5, 12), "afternoon": (12, 17), "evening": (17, 21), "night": (21, 29)}
_WEEK = {"weekday": "monday tuesday wednesday thursday friday", "weekend": "saturday sunday"}


@dataclass(frozen=True, slots=True)
class Mention:
    """A value named in a text."""

    preference: Preference
    value: str
    own: bool  # whether the person has it
    negated: bool
    start: int
    end: int
    implied: bool = False  # whether it follows from a time, a day or an amount and is not said in words


def find_mentions(text: str, preferences: Sequence[Preference]) -> list[Mention]:
    """Every mention of a value of these preferences, in the order of the text."""
    words = tokens(text)
    found = [mention for preference in preferences for mention in _of(text, words, preference)]
    found = [one for one in found if not any(_inside(one, other) for other in found)]
    return sorted(found, key=lambda one: (one.start, one.preference.path))


def says(text: str, value: str) -> bool:
    """Whether a text names a value in any way, for contexts, in which nothing is asked or proposed."""
    words = tuple(token.stem for token in tokens(text))
    return any(True for form in ways_to_say(value) for _ in runs(words, form))


def _of(text: str, words: tuple[Token, ...], preference: Preference) -> Iterator[Mention]:
    plain = tuple(token.stem for token in words)
    taken: list[tuple[int, int]] = []
    present = set(plain)
    for form, value, own in preference.forms:
        if form[0] not in present:
            continue
        for place, size in [*((place, len(form)) for place in runs(plain, form)), *_elided(plain, form)]:
            if any(start < place + size and place < end for start, end in taken):
                continue
            if size == len(form) and not _in_company(plain, place, form, preference):
                continue
            if _meant_otherwise(text, words[place], form, value):
                continue
            taken.append((place, place + size))
            yield _mention(text, words[place], words[place + size - 1], preference, value, own)
    if not taken:  # what is said in so many words need not be inferred
        yield from _implied(text, words, preference)


def _mention(text: str, first: Token, last: Token, preference: Preference, value: str, own: bool) -> Mention:
    before = clause_before(text, first.start)
    negated = bool(SIGNS["negation"].search(before) and not SIGNS["not_negation"].search(before))
    negated = negated or bool(_FREE_OF.match(text[last.end :]))
    return Mention(preference, value, own, negated, first.start, last.end)


def _in_company(words: tuple[str, ...], place: int, form: tuple[str, ...], preference: Preference) -> bool:
    company = company_of(form)
    if company is None:
        return True
    around = {*words[max(0, place - NEAR) : place], *words[place + len(form) : place + len(form) + NEAR]}
    return bool(around & (company | preference.name_words))


def _elided(words: tuple[str, ...], form: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """`standard or first class`: the first of two words, whose second one comes after the other value."""
    if len(form) != 2:
        return
    for place in range(len(words) - 3):
        if words[place] == form[0] and words[place + 1] in _BETWEEN and words[place + 3] == form[1]:
            yield place, 1


def _meant_otherwise(text: str, token: Token, form: tuple[str, ...], value: str) -> bool:
    if value[:1].isupper() and value.lower() in NAMES and not text[token.start].isupper():
        return True
    pattern = _OTHERWISE.get(form[0]) if len(form) == 1 else None
    return pattern is not None and any(m.start() <= token.start < m.end() for m in pattern.finditer(text))


def _implied(text: str, words: tuple[Token, ...], preference: Preference) -> Iterator[Mention]:
    """Clock times imply parts of the day, days' names weekday or weekend, amounts a range, where those are the values."""
    values = (*preference.values, *preference.others)
    every = {ways_to_say(value)[0][-1]: value for value in values}
    parts = {name: hours for name, hours in _PARTS.items() if name in every}
    week = {name: names.split() for name, names in _WEEK.items() if name in every}
    found: list[tuple[int, int, str]] = []
    for place, token in enumerate(words):
        hour = clock_hour(token.stem)
        names: list[str] = []
        if hour is not None and len(parts) > 1:
            hour += 24 if hour < 5 else 0
            names = [name for name, (low, high) in parts.items() if low <= hour < high]
        elif len(week) > 1 and not (place and words[place - 1].stem == "last"):
            names = [name for name, days in week.items() if token.stem in days]
        found += [(token.start, token.end, every[name]) for name in names[:1]]
    if sum(range_of(value) is not None for value in values) > 1:
        named = [(amount.start, amount.end, value_for(amount, values)) for amount in amounts(text)]
        found += [(start, end, value) for start, end, value in named if value is not None]
    for start, end, value in found:
        negated = bool(SIGNS["negation"].search(clause_before(text, start)))
        yield Mention(preference, value, value in preference.values, negated, start, end, implied=True)


def _inside(one: Mention, other: Mention) -> bool:
    """Whether a mention is only part of a longer one, as `tennis` is of `table tennis`."""
    longer = other.end - other.start > one.end - one.start
    return longer and other.start <= one.start and one.end <= other.end
