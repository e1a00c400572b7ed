"""What a question gives away about who asks: a name, a number, a type, or a stretch of what the profile says.

A question that tells the person apart makes the profile needless; it is found by rule, before anyone is asked.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from personafit.people import Person, facet_values
from personafit.raters.dialogues.counting.words import stems

_WIDE = re.compile(r"[\u3400-\u9fff]+")
_SELF = {
    "en": re.compile(
        r"\b(?:as|being) an? (?!rule|result|treat|gift|present|start|whole|group|team|couple|family|bonus|backup|side|first|last|change|hobby)\w+"
        r"|\bi(?: am|['’]m) an? (?!bit|little|lot|few|week|month|day|year|total|complete|beginner)\w+"
        r"|\bi(?: am|['’]m) \d|\bmy name is\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"(?:^|[，,。；！？\s])我?作为一?[名个位]?\S{0,8}|我是一?[名个位]|我今年|我\d+岁(?!的)|我叫"
    ),
}
_COMMON = frozenset(
    stems(
        "about after again also always anything around away back because been before being best better between both come "
        "could does done down each even ever every everyone everything find first from give gets goes good great have having "
        "help here home into just keep kind know last less like likes little long look made make makes many more most much "
        "must myself need never next nothing often once one only other others over own people person place quite rather "
        "really right same should since some someone something still such take takes than that their them then there these "
        "they thing things think this those through time times too under until used uses very want wants week well went were "
        "what when where which while whole will with without work working would year years your evening weekend morning day "
        "days month months matter noted week weeks once twice mostly usually matters somebody anybody everybody nobody anyone watch watching enough soon later early late"
    )
)
_ROUND = re.compile(r"\d0$")  # ten days, twenty minutes: anybody's
_WHOLE = 2  # words of a value, from which the whole of it, or this many in a row, is telling
_ROW = {"en": 3, "zh": 5}
_SHARE = 0.6


def leaks(question: str, person: Person) -> Iterator[str]:
    """What the question says that the person's profile or features say too; nothing where it is safe."""
    language = "zh" if person.language == "zh" else "en"
    if described := described_self(question, language):
        yield described
    name = str(person.facets.get("Name", ""))
    for part in [name, *name.split()]:
        if len(part) > (1 if language == "zh" else 2) and re.search(
            rf"(?<![^\W_]){re.escape(part)}(?![^\W_])" if language == "en" else re.escape(part), question
        ):
            yield part
    said = [*facet_values(person.facets), *(attribute.text for attribute in person.attributes)]
    numbers = {number for text in said for number in re.findall(r"\d{2,}", text) if not _ROUND.match(number)}
    numbers.add(str(person.facets.get("Demographics.Age", "")))
    yield from (number for number in re.findall(r"\d{2,}", question) if number in numbers)
    mbti = str(person.facets.get("Personality.MBTI", ""))
    if mbti and re.search(rf"\b{mbti}\b", question, re.IGNORECASE):
        yield mbti
    for text in said:
        found = _wide_row(question, text) if language == "zh" else _shared_words(question, text)
        if found:
            yield found


def described_self(question: str, language: str) -> str:
    """The words with which a question says who is asking, such as 'as a nurse'; empty if it does not."""
    found = _SELF[language].search(question)
    return found[0].strip("，, ") if found else ""


def _shared_words(question: str, text: str) -> str:
    """The words of a value that stand in the question, if they are most of it or several in a row."""
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
    """The words that could tell somebody apart."""
    return tuple(word for word in stems(text) if len(word) > 3 and word not in _COMMON)


def _wide_row(question: str, text: str) -> str:
    """The longest stretch both have, if it is long enough or nearly the whole value."""
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
