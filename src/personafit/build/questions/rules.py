"""Rule checks on questions: whether they reveal the person, and whether they are questions at all.

A question that reveals the person makes the profile unnecessary.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from personafit.build.answer_texts import name_in
from personafit.build.asking import check_prose, only_line, unfit
from personafit.build.prompts import DATA, WORDINGS, read_toml
from personafit.people import Person, facet_values
from personafit.raters.text import stems

LEAK = "rule:leaks-3"
_WIDE = re.compile(r"[\u3400-\u9fff]+")
_RULES = read_toml(DATA / "rules.toml")


def _pattern(alternatives: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


_SELF = {language: _pattern(alternatives) for language, alternatives in _RULES["described_self"].items()}
_COMPARED = re.compile(r"\b(?:as \w+|not|such) as(?= an? )", re.IGNORECASE)  # "as small as a watch"
_COMMON = frozenset(stems(WORDINGS["common"]["en"]))
_AXES = re.compile(r"[EI]?[SN]?[TF]?[JP]?")
_ROUND = re.compile(r"\d0$")  # round numbers are too common to reveal anybody
_WHOLE = 2  # shared words of a value that reveal it if they are most of it
_ROW = {"en": 3, "zh": 5}
_SHARE = 0.6


def leaks(question: str, person: Person) -> Iterator[str]:
    """Yield what the question reveals of the person's profile or features; nothing if it is safe."""
    language = "zh" if person.language == "zh" else "en"
    if described := described_self(question, language):
        yield described
    if named := name_in(question, person):
        yield named
    said = [*facet_values(person.facets), *(attribute.text for attribute in person.attributes)]
    numbers = {number for text in said for number in re.findall(r"\d{2,}", text) if not _ROUND.match(number)}
    numbers.add(str(person.facets.get("Demographics.Age", "")))
    yield from (number for number in re.findall(r"\d{2,}", question) if number in numbers)
    axes = (str(value) for path, value in person.facets.items() if path.startswith("Personality."))
    mbti = "".join(axis for axis in axes if _AXES.fullmatch(axis))  # one field, or one for each axis
    if len(mbti) == 4 and re.search(rf"(?<![a-z]){mbti}(?![a-z])", question, re.IGNORECASE):
        yield mbti
    for text in said:
        found = _wide_row(question, text) if language == "zh" else _shared_words(question, text)
        if found:
            yield found


def described_self(question: str, language: str) -> str:
    """Return the words in which a question describes its asker, such as 'as a nurse'; empty if there are none."""
    found = _SELF[language].search(_COMPARED.sub("", question))
    return found[0].strip("，, ") if found else ""


def _shared_words(question: str, text: str) -> str:
    """Return the words of a value that occur in the question, if they are most of it or several in a row."""
    mine, theirs = telling(question), telling(text)
    here = set(mine)
    both = [word for word in theirs if word in here]
    if len(set(theirs)) >= _WHOLE and len(set(both)) >= max(_WHOLE, _SHARE * len(set(theirs))):
        return " ".join(dict.fromkeys(both))
    rows = {tuple(mine[place : place + _ROW["en"]]) for place in range(len(mine) - _ROW["en"] + 1)}
    for place in range(len(theirs) - _ROW["en"] + 1):
        if (row := tuple(theirs[place : place + _ROW["en"]])) in rows:
            return " ".join(row)
    return ""


@lru_cache(maxsize=4096)
def telling(text: str) -> tuple[str, ...]:
    """Return the words specific enough to identify a person."""
    return tuple(word for word in stems(text) if len(word) > 3 and word not in _COMMON)


def _wide_row(question: str, text: str) -> str:
    """Return the longest common Chinese substring, if it is long enough or nearly the whole value."""
    best = ""
    for mine in _WIDE.findall(question):
        for start in range(len(mine)):
            end = start + len(best) + 1
            while end <= len(mine) and mine[start:end] in text:
                best, end = mine[start:end], end + 1
    best = best.strip("的了是和在我")
    length = sum(map(len, _WIDE.findall(text)))
    short = 3 <= length <= _ROW["zh"] and len(best) == length
    return best if short or len(best) >= _ROW["zh"] else ""


SHORTEST, LONGEST = 4, 240  # characters in a question


def unfit_for_pool(question: str, language: str) -> str:
    """Return why a rule excludes a question from the pool; empty if none does."""
    if not SHORTEST <= len(question) <= LONGEST:
        return f"too short or too long: {len(question)} characters, not {SHORTEST} to {LONGEST}"
    if described := described_self(question, language):
        return f"says who is asking: '{described}'"
    return ""


_ABOUT_ASKING, _ASKS = (_pattern(_RULES[name]) for name in ("about_asking", "asks"))


def question_reader(language: str, example: str = "") -> Callable[[str], str]:
    """Return a parser for one line that asks something and does not repeat the example."""

    def read(reply: str) -> str:
        text = " ".join(only_line(reply).split()).strip("\"'“”「」*- ")
        if not SHORTEST <= len(text) <= LONGEST:
            raise unfit("question-length", SHORTEST, LONGEST, len(text))
        check_prose(text, language)
        if _ABOUT_ASKING.search(text) or text.count('"') % 2:
            raise unfit("about-asking")
        if not _ASKS.search(text.rstrip("。.!！")):
            raise unfit("asks-nothing")
        if text.casefold() == example.casefold():
            raise unfit("repeats-example")
        return text

    return read
