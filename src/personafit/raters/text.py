"""The tokenizers, stemmers and sentence splitters of all raters.

They differ on purpose. Weights are fitted on their counts, and a rule that splits or stems differently is another rule: if you change
a function, raise the version of what is built on it.
"""

import re
import tomllib
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from personafit.items.reading import expression
from personafit.raters.characters import HAN, adjacent


@cache
def lexicon() -> dict[str, Any]:
    """Return the word lists of `words.toml` by name."""
    return tomllib.loads((files(__package__) / "words.toml").read_text(encoding="utf-8"))


@cache
def word_list(name: str) -> frozenset[str]:
    """Return the words of one list of the lexicon."""
    return frozenset(lexicon()[name].split())


def pattern(table: str, name: str) -> re.Pattern[str]:
    """Return the compiled expression of that name in a table of the lexicon."""
    return expression(lexicon()[table][name])


# -- words that carry a text's topic -------------------------------------------------------------------------------------

_WORD = re.compile(r"[a-z][a-z'’-]+")
_TOPIC_WORD = re.compile(r"[\w'+#.-]+")
_STATEMENT_WORD = re.compile(r"[a-z']+|\d+")
_SHORTEST = 4
_LONGEST_STEM = 6


@lru_cache(4096)
def content_stems(text: str) -> frozenset[str]:
    """Return the stems of an attribute's English content words."""
    words = (part for word in _WORD.findall(text.lower()) for part in re.split(r"['’-]", word))
    empty = word_list("naming")
    return frozenset(
        _content_stem(word)
        for word in words
        if len(word) >= _SHORTEST and word not in empty and _content_stem(word) not in empty
    )


def _content_stem(word: str) -> str:
    plain = re.sub(r"(?:ies|ing|ed|es|s|ly)$", "", word)
    return (plain if len(plain) >= _SHORTEST else word)[:_LONGEST_STEM]


def topic_of(attribute: str) -> str:
    """Return an attribute without its framing words: 'Hindu mythology' for 'the user is interested in Hindu mythology'."""
    words = [word.strip(".") for word in _TOPIC_WORD.findall(attribute)]
    return " ".join(word for word in words if word and word.lower() not in word_list("frame")) or attribute


def content_words(text: str) -> frozenset[str]:
    """Return the first five letters of a statement's content words, and its pairs of adjacent Chinese characters."""
    low = text.lower()
    found = {word[:5] for word in _STATEMENT_WORD.findall(low) if word not in word_list("common")}
    for run in HAN.findall(low.replace("用户", "")):
        found |= set(adjacent(run, 2)) or {run}
    return frozenset(found)


def places(word: str, text: str) -> list[int]:
    """Return the positions at which a content word begins in a lower-case text."""
    edge = r"(?<![a-z'])" if word.isascii() else ""
    return [match.start() for match in re.finditer(edge + re.escape(word), text)]


# -- sentences ----------------------------------------------------------------------------------------------------------

SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")
CLAUSE = re.compile(r"[^.!?;,:。！？；，：\n]+[.!?;,:。！？；，：]*")
_SENTENCE_END = re.compile(r"(?<=[.!?。！？；])\s*|\n+")
_PROMPT_SENTENCE_END = re.compile(r"(?<=[.?!])\s+|\n+")
_SHORTEST_SENTENCE = 16  # characters; anything shorter is a heading or a stray mark rather than a sentence
_MOST_SENTENCES = 12


def pieces(text: str, pattern: re.Pattern[str]) -> list[str]:
    """Return the sentences or clauses of a text that contain a word; the whole text if none does."""
    return [part.strip() for part in pattern.findall(text) if re.search(r"\w", part)] or [text]


@lru_cache(64)
def distinct_sentences(text: str) -> tuple[str, ...]:
    """Return the distinct sentences and lines of an answer."""
    return tuple(dict.fromkeys(one.strip() for one in _SENTENCE_END.split(text) if one and one.strip()))


def sentences_of(prompt: str) -> list[str]:
    """Return the first sentences of a prompt: a long prompt rarely matches as a whole what one of its sentences matches."""
    parts = [part.strip() for part in _PROMPT_SENTENCE_END.split(prompt.strip())]
    return [part for part in parts if len(part) >= _SHORTEST_SENTENCE][:_MOST_SENTENCES] or [prompt]


# -- words with their positions -----------------------------------------------------------------------------------------
# Lower case, no accents, no simple inflection, numbers and times in one form; characters of Chinese and its like are tokens of
# their own. Each token keeps its place in the text, so that what is found can be shown there.

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
    """A normalized word and its position in the text."""

    stem: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Span:
    """A span of a text."""

    start: int
    end: int

    def holds(self, place: int) -> bool:
        """Return whether a position lies in the span."""
        return self.start <= place < self.end


@lru_cache(maxsize=4096)
def tokens(text: str) -> tuple[Token, ...]:
    """Return all tokens of a text."""
    found = []
    for match in _TOKEN.finditer(text):
        found.append(Token(_stem(match.lastgroup or "", match[0]), *match.span()))
    return tuple(found)


@lru_cache(maxsize=8192)
def stems(text: str) -> tuple[str, ...]:
    """Return the words of a text, lower-cased and without inflection."""
    return tuple(token.stem for token in tokens(text))


@lru_cache(maxsize=4096)
def sentences(text: str) -> tuple[Span, ...]:
    """Return the spans of a text's sentences and lines."""
    spans, start = [], 0
    for match in _BREAK.finditer(text):
        if text[start : match.start()].strip():
            spans.append(Span(start, match.end()))
            start = match.end()
    if text[start:].strip():
        spans.append(Span(start, len(text)))
    return tuple(spans)


def clause_before(text: str, start: int) -> str:
    """Return the text before a position, back to the last clause break."""
    head = text[:start]
    last = 0
    for match in _CLAUSE.finditer(head):
        last = match.end()
    return head[last:]


def clock_hour(stem: str) -> float | None:
    """Return the hour of the day a token names, None if it is no time."""
    return int(stem[1:3]) + int(stem[3:5]) / 60 if re.fullmatch(r"t\d{4}", stem) else None


def runs(haystack: tuple[str, ...], needle: tuple[str, ...]) -> Iterator[int]:
    """Yield every index at which the words of `needle` occur in sequence."""
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
