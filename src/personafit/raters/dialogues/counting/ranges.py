"""Values that are ranges, such as `3-7 days` or `under $50`, and the amounts in a text that fall into them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

_DAYS = {"day": 1.0, "night": 1.0, "week": 7.0, "month": 30.0, "year": 365.0}
_WORDS = {
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
_NUMBER = rf"(?:\d+(?:\.\d+)?|{'|'.join(_WORDS)})"
_UNIT = rf"(?P<unit>{'|'.join(_DAYS)})s?"
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
        unit = _DAYS[match["unit"].lower()]
        return Range("days", _number(match["low"]) * unit, _number(match["high"]) * unit)
    if match := _OPEN.fullmatch(value):
        return Range("days", _number(match["low"]) * _DAYS[match["unit"].lower()], float("inf"))
    return None


def amounts(text: str) -> Iterator[Amount]:
    """Sums of money and lengths of time in a text."""
    for match in _AMOUNT_MONEY.finditer(text):
        less = 0.01 if _BELOW.search(text, 0, match.start()) else 0.0
        yield Amount("money", _number(match[1]) * (1000 if match[3] else 1) - less, *match.span())
    for match in _AMOUNT_DAYS.finditer(text):
        yield Amount("days", _number(match["low"]) * _DAYS[match["unit"].lower()], *match.span())


def value_for(amount: Amount, values: Sequence[str]) -> str | None:
    """The value whose range the amount falls into; None where no or several fit."""
    fitting = []
    for value in values:
        found = range_of(value)
        if found and found.kind == amount.kind and found.low <= amount.size <= found.high:
            fitting.append(value)
    return fitting[0] if len(fitting) == 1 else None


def _number(text: str) -> float:
    return float(_WORDS.get(text.lower(), 0) or text.replace(",", ""))
