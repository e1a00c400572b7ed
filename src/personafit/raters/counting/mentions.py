"""Where a text names a value of a preference: the longest wording wins, common words need company, negation is seen. Values that are
ranges, such as `3-7 days` or `under $50`, are named by the amounts that fall into them.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from personafit.raters.counting.preferences import NAMES, Preference, company_of, ways_to_say
from personafit.raters.text import Token, clause_before, clock_hour, runs, tokens

# -- amounts and ranges -------------------------------------------------------------------------------------------------

_UNIT_DAYS = {"day": 1.0, "night": 1.0, "week": 7.0, "month": 30.0, "year": 365.0}
_NUMBER_WORDS = {
    "one": 1,
    "a": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "ten": 10,
    "fourteen": 14,
}
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


@dataclass(frozen=True, slots=True)
class Range:
    """What amounts a value stands for."""

    kind: str
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Amount:
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
    fitting = []
    for value in values:
        found = range_of(value)
        if found and found.kind == amount.kind and found.low <= amount.size <= found.high:
            fitting.append(value)
    return fitting[0] if len(fitting) == 1 else None


def _number(text: str) -> float:
    return float(_NUMBER_WORDS.get(text.lower(), 0) or text.replace(",", ""))


# -- mentions -----------------------------------------------------------------------------------------------------------

NEAR = 4  # tokens either side in which a common word finds its company
_NEGATION = re.compile(
    r"(?:\b(?:no|not|never|without|avoid\w*|skip\w*|neither|nor|instead of|rather than|except|exclud\w+|leav\w+ out|left out|"
    r"other than|aside from|rule[ds]? out|stay away from)\b|n[’']t\b|不要|不吃|不用|没有|(?<![特分个级类性区告差])别(?![的人])|避免|除了|"
    r"无(?![论线])|忌)[^,.;:!?，。；]{0,40}$",
    re.IGNORECASE,
)
_NOT_NEGATION = re.compile(r"\b(?:not only|no problem|why not|no matter|not just)\b", re.IGNORECASE)
_FREE_OF = re.compile(r"^-free\b", re.IGNORECASE)
_BETWEEN = frozenset({"or", "and"})
# Uses of a word in which it is not the value of that name.
_OTHERWISE = {
    "budget": re.compile(
        r"\b(?:your|my|our|the|within|what|any) budget\b|\bbudget (?:in mind|of|for|ranges?|limits?|constraints?)\b",
        re.IGNORECASE,
    )
}
_PARTS = {"morning": (5, 12), "afternoon": (12, 17), "evening": (17, 21), "night": (21, 29)}
_WEEK = {"weekday": "monday tuesday wednesday thursday friday", "weekend": "saturday sunday"}


@dataclass(frozen=True, slots=True)
class Mention:
    """A value named in a text."""

    preference: Preference
    value: str
    own: bool
    """Whether the person has it."""
    negated: bool
    start: int
    end: int
    implied: bool = False
    """Whether it follows from a time, a day or an amount and is not said in words."""


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
    negated = bool(_NEGATION.search(before) and not _NOT_NEGATION.search(before))
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
            names = [
                n for n, (low, high) in parts.items() if low <= (hour if hour >= 5 else hour + 24) < high
            ]
        elif len(week) > 1 and not (place and words[place - 1].stem == "last"):
            names = [name for name, days in week.items() if token.stem in days]
        found += [(token.start, token.end, every[name]) for name in names[:1]]
    if sum(range_of(value) is not None for value in values) > 1:
        for amount in amounts(text):
            value = value_for(amount, values)
            if value is not None:
                found.append((amount.start, amount.end, value))
    for start, end, value in found:
        before = clause_before(text, start)
        yield Mention(
            preference, value, value in preference.values, bool(_NEGATION.search(before)), start, end, True
        )


def _inside(one: Mention, other: Mention) -> bool:
    """Whether a mention is only part of a longer one, as `tennis` is of `table tennis`."""
    longer = other.end - other.start > one.end - one.start
    return longer and other.start <= one.start and one.end <= other.end
