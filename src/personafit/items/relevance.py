"""Which attributes of a person are relevant to a prompt: three ways of asking, with their parsers.

By pair: would knowing this one attribute change the reply in any way? By grade: must it be used, may it, is it irrelevant, or better
avoided? By list: of all attributes, which few should change the reply? The paper asks by pair; asking for the few of a list keeps a model
from saying yes to nearly everything.
"""

import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from math import exp, log
from typing import Any, ClassVar

from personafit._hashing import hash_text
from personafit._versions import fingerprint_of, own_version
from personafit.contexts import Context
from personafit.items.reading import (
    Part,
    PartAnswer,
    Question,
    QuestionSet,
    Reading,
    Shown,
    Tags,
    Unit,
    answered,
    by_part,
    json_numbers,
    numbers_for,
    words_of,
)
from personafit.models import ChatReply

RELEVANCE = "relevance"
YES, NO = "yes", "no"
YES_WORDS = ("yes", "Yes", "YES", "y", "Y")
NO_WORDS = ("no", "No", "NO", "n", "N")
ALONE = "attribute-alone"
REASON = "reason"
SHOWN_UNDER = {
    "none": "the prompt and the attribute, nothing else of the person, as the paper's raters saw it",
    REASON: "the prompt, the attribute, and why it was believed of the person",
    ALONE: "the attribute without the prompt: what can be guessed from it alone",
}
CONTEXTS = {name: Context(name, "", (), None) for name in SHOWN_UNDER}
EMPTY = "the attribute is empty: nobody was asked"
MOST_LISTED = 100  # attributes per list call; a longer list is split

_WORDS = words_of("relevance")
TAGS = Tags("question", "known", "reason")


def shown_content(shown: Sequence[Part], context: str) -> str:
    """Return a hash of the attributes shown, in their order, and of their reasons if those are shown."""
    reasons = context == REASON
    return hash_text(*(text for one in shown for text in (one.content, (one.note or "") if reasons else "")))


def with_parts(shown: Shown, parts: tuple[Part, ...], place: str = "") -> Shown:
    """Return a copy of `shown` with these attributes instead."""
    return replace(shown, parts=parts, content=shown_content(parts, shown.context.name), place=place)


def list_asks(shown: Shown, most_parts: int | None, seed: int | None = None) -> list[Shown]:
    """Split the attributes of one list into asks of at most `most_parts`.

    The order in a list may influence the answers, so it is drawn at random: from the items, and from a run's seed if given.
    """
    salt = () if seed is None else (str(seed),)
    drawn = sorted(shown.parts, key=lambda part: hash_text("list", part.item, *salt))
    size = most_parts or len(drawn) or 1
    cut = [tuple(drawn[start : start + size]) for start in range(0, len(drawn), size)]
    several = size > 1 and len(cut) > 1
    return [
        with_parts(shown, parts, f"{number}/{len(cut)}" if several else "")
        for number, parts in enumerate(cut, 1)
    ]


def distinct_attributes(shown: Shown) -> list[str]:
    """Return the attributes without repetitions: a list shows each text once, and its answer holds for all repetitions."""
    return list(dict.fromkeys(map(_one_line, shown.attributes)))


Answers = list[tuple[str | None, float]]  # a label and a number that grows with relevance, for each attribute


class RelevanceQuestion(Question):
    """A way of asking which attributes are relevant: wording and parser, with one version for both."""

    version: ClassVar[str]  # version of wording, layout and parser
    reading: ClassVar[str] = "relevance-1"
    most_parts: ClassVar[int | None] = 1
    scored_by: ClassVar[tuple[str, ...]] = ("attribute",)
    sought: ClassVar[str] = "which attributes matter"
    letters: ClassVar[tuple[str, ...]] = ()
    name = RELEVANCE
    instrument = RELEVANCE

    way: ClassVar[str]

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint_of(f"relevance/{self.way}", own_version(self))

    def _prompt(self, shown: Shown) -> list[str]:
        question = (
            _WORDS["withheld"] if shown.context.name == ALONE else TAGS.tagged("question", shown.prompt)
        )
        return [
            f"{self.words['task']} {_WORDS['material']}",
            question,
            self._known(shown),
            self.words["closing"],
        ]

    def read(self, reply: ChatReply, shown: Shown) -> Reading | None:
        """Parse the answer for each attribute; if one answer is parsed for several parts, it holds for all of them."""
        found = self.parse(reply, shown)
        if found is None:
            return None
        said = found if len(found) == len(shown.parts) else found * len(shown.parts)
        return Reading(tuple(answered(shown, said)))

    def options(self, shown: Shown) -> tuple[str, ...]:
        return self.letters

    def units(self, shown: Shown, unit: str) -> list[Unit]:
        """Return every attribute as a unit, with its reason if reasons are shown."""
        reasons = shown.context.name == REASON
        return [
            Unit(part.text, shown.prompt, shown.context, note=part.note if reasons else None)
            for part in shown.parts
        ]

    def decide(
        self, shown: Shown, scores: Sequence[float], unit: str, threshold: float | None, on_scale: bool
    ) -> list[PartAnswer]:
        """Return yes from the threshold on; without one the scores alone, whose cutoff reports learn on other prompts."""
        return answered(shown, [(_label(score, threshold), float(score)) for score in scores])

    def accept(self, shown: Shown, returned: Any, threshold: float | None = None) -> list[PartAnswer] | None:
        """Return the answers from a bool or a number for each attribute."""
        returned = by_part(shown, returned)
        numbers = numbers_for(shown.parts, returned)
        if numbers is None:
            return None
        # Python's bool, and NumPy's under both of its names.
        bools = [type(one).__name__ in ("bool", "bool_") for one in returned]
        return answered(
            shown,
            [
                (_label(number, 1.0 if is_bool else threshold), number)
                for number, is_bool in zip(numbers, bools, strict=True)
            ],
        )

    def expected(self, shown: Shown) -> str:
        count = len(shown.parts)
        return "a truth value or a finite number" if count == 1 else f"{count} truth values or finite numbers"

    @abstractmethod
    def parse(self, reply: ChatReply, shown: Shown) -> Answers | None:
        """Return label and number for each attribute, or for the one shown; None if the reply cannot be parsed."""

    def _known(self, shown: Shown) -> str:
        one = shown.parts[0]
        known = TAGS.tagged("known", one.text)
        if shown.context.name == REASON and one.note:
            known += "\n\n" + TAGS.tagged("reason", one.note)
        return known


class PairQuestion(RelevanceQuestion):
    """Asks about one attribute whether knowing it would change the reply in any way."""

    version: ClassVar[str] = "1"
    # Models use all these spellings; omitting one would omit its probability.
    letters: ClassVar[tuple[str, ...]] = (*YES_WORDS, *NO_WORDS)

    way = "pair"
    words = words_of("relevance.pair")

    def choices(self, shown: Shown) -> tuple[str, ...]:
        return YES, NO

    def parse(self, reply: ChatReply, shown: Shown) -> Answers | None:
        """Return the answer from the scores of the two words if there are any, else from the word in the last line."""
        scores = reply.letter_scores or {}
        yes, no = ([scores[word] for word in words if word in scores] for words in (YES_WORDS, NO_WORDS))
        if yes and no:
            margin = _log_sum(yes) - _log_sum(no)
            return [(YES if margin >= 0 else NO, margin)]
        match = re.fullmatch(r"(?:answer\s*:\s*)?(y|yes|n|no)", _last_words(reply.text))
        if match is None:
            return None
        return [(YES, 1.0) if match[1].startswith("y") else (NO, 0.0)]


# Grades with their values, and those that count as relevant.
GRADES = {"must": 3, "may": 2, "irrelevant": 1, "avoid": 0}
RELEVANT_GRADES = ("must", "may")


class GradeQuestion(RelevanceQuestion):
    """Asks about one attribute whether it must be used, may be, is irrelevant, or is better avoided."""

    version: ClassVar[str] = "1"
    letters: ClassVar[tuple[str, ...]] = ("3", "2", "1", "0")

    way = "graded"
    words = words_of("relevance.graded")

    def parse(self, reply: ChatReply, shown: Shown) -> Answers | None:
        """Return the grade with its value, which is the expected grade if the model returns the digits' scores."""
        names = {str(worth): grade for grade, worth in GRADES.items()}
        scores = reply.letter_scores
        if scores is not None and set(self.letters) <= scores.keys():
            best = max(self.letters, key=lambda letter: scores[letter])
            return [(names[best], _expected({int(one): scores[one] for one in self.letters}))]
        listed = "|".join(GRADES)
        match = re.fullmatch(
            rf"(?:answer\s*:\s*)?(?:([0-3])(?:\s*[(:-]?\s*({listed}))?|({listed}))", _last_words(reply.text)
        )
        # A digit beside the name of another grade counts as neither.
        if match is None or match[2] not in (None, names.get(match[1])):
            return None
        grade = match[3] or names[match[1]]
        return [(grade, float(GRADES[grade]))]


class ListQuestion(RelevanceQuestion):
    """Asks which few of all attributes should change the reply."""

    version: ClassVar[str] = "1"
    most_parts: ClassVar[int | None] = MOST_LISTED

    way = "list"
    words = words_of("relevance.list")

    def read(self, reply: ChatReply, shown: Shown) -> Reading | None:
        """Parse the answer for each attribute; the remark names numbers that are not on the list."""
        reading = super().read(reply, shown)
        unknown = sorted(
            set(json_numbers(reply.text) or ()) - set(range(1, len(distinct_attributes(shown)) + 1))
        )
        if reading is None or not unknown:
            return reading
        remark = f"it named numbers that are not on the list: {', '.join(map(str, unknown[:10]))}"
        return replace(reading, remark=remark)

    def parse(self, reply: ChatReply, shown: Shown) -> Answers | None:
        """Return yes for the numbers named. Strict: a JSON list of whole numbers, the whole reply or its last line."""
        numbers = json_numbers(reply.text)
        if numbers is None:
            return None
        texts = distinct_attributes(shown)
        there = {number for number in numbers if 1 <= number <= len(texts)}
        if numbers and not there:
            return None
        picked = {texts[number - 1] for number in there}
        return [(YES, 1.0) if _one_line(text) in picked else (NO, 0.0) for text in shown.attributes]

    def reply_tokens(self, shown: Shown) -> int:
        return 32 + 4 * len(shown.parts)

    def _known(self, shown: Shown) -> str:
        lines = []
        reasons = {_one_line(one.text): one.note for one in reversed(shown.parts)}
        for number, text in enumerate(distinct_attributes(shown), 1):
            why = reasons[text] if shown.context.name == REASON else None
            lines.append(f"{number}. {text}" + (f" (why: {_one_line(why)})" if why else ""))
        return TAGS.tagged("known", "\n".join(lines))


def _label(score: float, threshold: float | None) -> str | None:
    if threshold is None:
        return None
    return YES if score >= threshold else NO


def list_name(group: str, person: str) -> str:
    """Return the id of a list; a group may hold the attributes of several people, a list those of one."""
    return f"{group}@{person}"


def _one_line(text: str) -> str:
    return " ".join(text.split())  # a line break in an entry could look like another entry


def _last_words(reply: str) -> str:
    lines = [line.strip() for line in reply.strip().splitlines() if line.strip()]
    return lines[-1].strip("*_`\"'()[]. !").lower() if lines else ""


def _log_sum(scores: Sequence[float]) -> float:
    """Return the log-probability of any of several spellings."""
    top = max(scores)
    return top + log(sum(exp(score - top) for score in scores))


def _expected(scores: dict[int, float]) -> float:
    """Return the expected grade under the model's own probabilities."""
    top = max(scores.values())
    weights = {grade: exp(score - top) for grade, score in scores.items()}
    return sum(grade * weight for grade, weight in weights.items()) / sum(weights.values())


PAIR, GRADED, LIST = PairQuestion(), GradeQuestion(), ListQuestion()
ATTRIBUTES = QuestionSet(RELEVANCE, (PAIR,), {"pair": PAIR, "list": LIST, "graded": GRADED})
