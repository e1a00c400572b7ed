"""Checks that a reply is usable as an answer, and template answers for builds without an answer model.

An answer is plain prose of about the requested length that names nobody. Template answers are assembled from sentences: a personal
one quotes a known fact, a general one would fit anybody, a vague one does not help. They exercise the pipeline and are not good
answers; the maker `template:answers-1` marks that no model wrote them.
"""

import re
from collections.abc import Callable, Sequence

from personafit._hashing import draw
from personafit.build.asking import WIDE, check_language, plain, unfit
from personafit.build.prompts import WORDINGS
from personafit.people import Person, names_of

SHORTEST, LONGEST = 0.4, 1.8  # accepted length, as a multiple of the requested words
OFF_LENGTH = 0.1  # largest relative change in length of a rewritten answer
_MARKS = re.compile(r"\*\*|__|`+|^[^\S\n]*(?:#+|[-*•]|\d+[.)、])\s+", re.MULTILINE)
_SPACE = re.compile(r"(?<!\s)\s*\n\s*")


def answer_reader(people: Sequence[Person], words: int, before: str = "") -> Callable[[str], str]:
    """Return a reader that accepts an answer in the language of the first of `people` that names none of them.

    It has about `words` words, or is as long as `before` for a rewrite.
    """

    def read(reply: str) -> str:
        text = without_marks(reply)
        check_language(text, people[0].language)
        count = length_in_words(text)
        if before:
            check_rewrite(text, before)
        elif not SHORTEST * words <= count <= LONGEST * words:
            raise unfit("answer-words", words, count)
        for person in people:
            if named := name_in(text, person):
                raise unfit("answer-name", named)
        return text

    return read


def check_rewrite(text: str, before: str) -> None:
    """Raise Unfit for a rewritten answer that is unchanged or differs too much in length."""
    if text == before:
        raise unfit("same-answer")
    least, most = bounds(before)
    if not least <= len(text) <= most:
        raise unfit("rewrite-length", least, most, len(text))


def bounds(before: str) -> tuple[int, int]:
    """Return the shortest and longest allowed length of a rewritten answer, in characters."""
    slack = int(OFF_LENGTH * len(before))
    return len(before) - slack, len(before) + slack


def without_marks(reply: str) -> str:
    """Return the reply as one paragraph without markup."""
    text = _SPACE.sub(" ", _MARKS.sub("", plain(reply))).strip().strip('"“”').strip()
    return plain(text)


def length_in_words(text: str) -> int:
    """Count words, or characters for Chinese text."""
    wide = len(WIDE.findall(text))
    return wide + len(re.findall(r"[^\W_]+(?:['’][^\W_]+)*", WIDE.sub(" ", text)))


def name_in(text: str, person: Person) -> str:
    """Return the name of the person, or the part of it, that occurs in the text; empty if none does."""
    for name in names_of(person.facets):
        if re.search(
            re.escape(name) if WIDE.search(name) else rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", text
        ):
            return name
    return ""


SENTENCES: dict[str, dict[str, list[str]]] = WORDINGS["answers"]
DRAWS = 40  # attempts at a template answer of the right length


def template_answer(
    language: str, told: str, words: int, *key: str | int, before: str = "", direction: str = ""
) -> str | None:
    """Return a template answer of about `words` words that quotes what a model would be told about the person.

    A rewrite quotes it only for the direction "better", is vague for "less-helpful", and keeps the length of `before`; None if no
    draw fits.
    """
    others = "vague" if direction == "less-helpful" else "general"
    known = _known(told) if direction in ("", "better") else []
    least, most = bounds(before) if before else (1, 10**6)
    for number in range(DRAWS):
        text = _put_together(language, known[number % 2 :], words, others, *key, number)
        if least <= len(text) <= most and text != before:
            return text
    return None


def _put_together(language: str, known: Sequence[str], words: int, others: str, *key: str | int) -> str:
    wordings = SENTENCES["personal"][language]
    sentences: list[str] = []
    for number, text in enumerate(known):
        wording = wordings[draw("wording", *key, number, among=len(wordings))]
        said = wording.format(text.rstrip(".。"))
        if not sentences or length_in_words(" ".join([*sentences, said])) <= 0.7 * words:
            sentences.append(said)
    for said in sorted(
        SENTENCES[others][language], key=lambda said: draw("sentence", *key, said, among=2**63)
    ):
        if not sentences or length_in_words(" ".join([*sentences, said])) <= 1.2 * words:
            sentences.append(said)
        if length_in_words(" ".join(sentences)) >= 0.9 * words:
            break
    return ("" if language == "zh" else " ").join(sentences)


def _known(told: str) -> list[str]:
    """Return known facts, one per sentence: list entries, or else the values after field names."""
    lines = [line.strip() for line in told.splitlines()]
    marked = [line.removeprefix("- ") for line in lines if line.startswith("- ")]
    said = [line.partition(": ")[2] for line in lines if ": " in line]
    return marked or [text for text in said if len(text) > (4 if WIDE.search(text) else 12)]
