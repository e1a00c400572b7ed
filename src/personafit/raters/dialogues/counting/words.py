"""Texts as words that can be compared: lower case, no accents, no simple inflection, numbers and times in one form.

Each token keeps its place in the text, so that what is found can be shown there. Characters of Chinese and its like are
tokens of their own.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

_CJK = r"\u3400-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(
    rf"(?P<zone>utc\s?[+-]\s?\d+)|(?P<half>(?<![\d:.])\d{{1,2}}(?:[:.]\d\d)?\s?[ap]\.?m\b\.?)|(?P<clock>\b\d{{1,2}}:\d\d\b|\b\d{{1,2}} o[’']clock)"
    rf"|(?P<cjk>[{_CJK}])|(?P<number>\$?\d+)|(?P<word>(?:(?![{_CJK}])[^\W\d_])+)",
    re.IGNORECASE,
)
_NUMBERS = {
    word: str(number)
    for number, word in enumerate("one two three four five six seven eight nine ten eleven twelve".split(), 1)
}
_WHOLE = frozenset(
    "evening morning spring during nothing something anything everything thing king bring string ring series news".split()
)
_BREAK = re.compile(
    r"(?<!\bDr\.)(?<!\bMr\.)(?<!\bMs\.)(?<!\bMrs\.)(?<!\bSt\.)(?<!\b[ap]\.m\.)(?<=[.!?])[\"'”’)]*\s+|(?<=[。！？])|\n+"
)
_CLAUSE = re.compile(
    r"[,;:.!?，；。！？、\n—–]|\s-\s|\b(?:but|so|and then|then|while|which)\b|\band (?:go|take|pick|choose|try|look|have|make)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Token:
    """One word in comparable form, and where it stands."""

    stem: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a text."""

    start: int
    end: int

    def holds(self, place: int) -> bool:
        """Whether a place lies in it."""
        return self.start <= place < self.end


@lru_cache(maxsize=4096)
def tokens(text: str) -> tuple[Token, ...]:
    """All words of a text."""
    found = []
    for match in _TOKEN.finditer(text):
        found.append(Token(_stem(match.lastgroup or "", match[0]), *match.span()))
    return tuple(found)


@lru_cache(maxsize=8192)
def stems(text: str) -> tuple[str, ...]:
    """All words of a text in comparable form."""
    return tuple(token.stem for token in tokens(text))


@lru_cache(maxsize=4096)
def sentences(text: str) -> tuple[Span, ...]:
    """A text's sentences and lines."""
    spans, start = [], 0
    for match in _BREAK.finditer(text):
        if text[start : match.start()].strip():
            spans.append(Span(start, match.end()))
            start = match.end()
    if text[start:].strip():
        spans.append(Span(start, len(text)))
    return tuple(spans)


def clause_before(text: str, start: int) -> str:
    """What stands before a place, back to the last break in the sentence."""
    head = text[:start]
    last = 0
    for match in _CLAUSE.finditer(head):
        last = match.end()
    return head[last:]


def clock_hour(stem: str) -> float | None:
    """The hour of the day a token names, if it is a time."""
    return int(stem[1:3]) + int(stem[3:5]) / 60 if re.fullmatch(r"t\d{4}", stem) else None


def runs(haystack: tuple[str, ...], needle: tuple[str, ...]) -> Iterator[int]:
    """Every place where the words of `needle` follow each other."""
    size = len(needle)
    for place in range(len(haystack) - size + 1):
        if haystack[place : place + size] == needle:
            yield place


def _stem(kind: str, text: str) -> str:
    if kind == "zone":
        return re.sub(r"\s", "", text.lower())
    if kind in ("half", "clock"):
        return _time(text)
    if kind == "cjk":
        return text
    word = _plain(text)
    return _NUMBERS.get(word) or (word if kind == "number" else _uninflected(word))


def _time(text: str) -> str:
    hour, minute = int(re.match(r"\d+", text)[0]), re.search(r"[:.](\d\d)", text)  # type: ignore[index]
    after_noon = re.search(r"p\.?m", text, re.IGNORECASE)
    if re.search(r"[ap]\.?m", text, re.IGNORECASE):
        hour = hour % 12 + (12 if after_noon else 0)
    return f"t{hour:02d}{minute[1] if minute else '00'}"


@lru_cache(maxsize=16384)
def _plain(word: str) -> str:
    split = unicodedata.normalize("NFKD", word.casefold())
    return "".join(char for char in split if not unicodedata.combining(char))


@lru_cache(maxsize=16384)
def _uninflected(word: str) -> str:
    if word in _WHOLE or len(word) < 4:
        return word
    if word.endswith("tre"):
        word = f"{word[:-2]}er"  # centre, theatre
    word = word.replace("avourite", "avorite")
    if word.endswith("ies") and len(word) > 4:
        word = f"{word[:-3]}y"
    elif word.endswith(("ses", "xes", "zes", "ches", "shes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if word in _WHOLE:
        return word
    if word.endswith("ing") and len(word) > 5:
        word = word[:-3]
        if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl":
            word = word[:-1]
    if word.endswith("e") and len(word) > 4:
        word = word[:-1]
    return word
