"""Which of two answers a person with a given attribute would prefer: a rating from 1 to 5 for each attribute.

The two answers are shown as A and B, and nothing says which of them was written for the person. The rating runs from A to B and is
reoriented afterwards, so that 1 always prefers the generic answer, 3 neither, 5 the personalized one.
"""

import json
from collections.abc import Sequence
from typing import Any, ClassVar

from personafit._hashing import draw, hash_text
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
    Verdict,
    answered,
    by_part,
    json_values,
    marks,
    numbers_for,
    replay_key,
    words_of,
)
from personafit.models import ChatReply

PREFERENCE = "preference"
MENTION = "mention"
LOWEST, MIDDLE, HIGHEST = 1, 3, 5
REPLY_HEAD, REPLY_PER_ATTRIBUTE = 32, 16  # tokens
GENERIC, PERSONAL = 0, 1  # indices of the two answers in an item's products; the attributes follow

TAGS = Tags("question", "answer", "attributes")


NOT_MADE = "the system made no answer, and loses to the generic one: nobody was asked"
SAME = "the answers are identical: nobody was asked"


CONTEXT = Context("attributes", "", (), None)
"""Context of raters of preferences: the attributes in the question, and nothing else of the person."""


def shown_content(content: str, prompt: str, answers: Sequence[str], parts: Sequence[Part]) -> str:
    """Return a hash of everything that is shown of a pair; `content` is the item's hash."""
    return hash_text(content, prompt, *answers, *(text for one in parts for text in (one.target, one.text)))


class AttributeQuestion(Question):
    """A question about all attributes of a pair at once; its texts are the generic and the personalized answer."""

    version: ClassVar[str]
    reading: ClassVar[str] = "preference-1"

    def reply_tokens(self, shown: Shown) -> int:
        return REPLY_HEAD + REPLY_PER_ATTRIBUTE * len(shown.parts)

    def recorded_as(self, shown: Shown) -> str:
        return replay_key(shown.about, self.name, shown.order_name, shown.sample)

    def foregone(self, shown: Shown) -> Verdict | None:
        """Return the verdict if the personalized answer was not made (an empty text): it loses for every attribute."""
        if shown.texts[PERSONAL]:
            return None
        return Verdict(answers=answered(shown, [self.lost] * len(shown.parts)), detail=NOT_MADE, calls=0)

    lost: ClassVar[tuple[str | None, float]] = ("no", 0.0)  # label and value for an answer that was not made


class PreferenceQuestion(AttributeQuestion):
    """Asks for a rating per attribute: wording and parser, with one version for both."""

    version: ClassVar[str] = "1"
    order_matters: ClassVar[bool] = True
    scored_by: ClassVar[tuple[str, ...]] = ("pair", "answer")
    sought: ClassVar[str] = "which answer somebody with an attribute would rather have"
    lost: ClassVar[tuple[str | None, float]] = (str(LOWEST), float(LOWEST))

    name = PREFERENCE
    words = words_of("preference")

    def _prompt(self, shown: Shown) -> list[str]:
        example = json.dumps({str(number): 3 for number in range(1, min(len(shown.parts), 2) + 1)})
        return [
            self.words["task"],
            TAGS.tagged("question", shown.prompt),
            TAGS.tagged("attributes", _numbered(shown)),
            *(
                TAGS.tagged(f"answer_{letter}", text)
                for letter, text in zip("AB", shown.answers, strict=True)
            ),
            self.words["closing"].format(example=example),
        ]

    def again(self, shown: Shown) -> str:
        keys = ", ".join(f'"{number}"' for number in range(1, len(shown.parts) + 1))
        return self.words["reminder"].format(keys=keys)

    def read(self, reply: ChatReply, shown: Shown) -> Reading | None:
        """Return the ratings that can be parsed, possibly not all, oriented so that 5 prefers the personalized answer."""
        found = marks_in(reply.text, len(shown.parts))
        toward = {number: turned(mark, shown.order) for number, mark in found.items()}
        said = [
            PartAnswer(part, str(toward[number]), float(toward[number]))
            for number, part in enumerate(shown.parts, 1)
            if number in toward
        ]
        return Reading(tuple(said)) if said else None

    def choices(self, shown: Shown) -> tuple[str, ...]:
        return tuple(str(mark) for mark in range(LOWEST, HIGHEST + 1))

    def said(self, shown: Shown, answer: str) -> PartAnswer | None:
        found = self.accept(shown, [int(answer)]) if answer in self.choices(shown) else None
        return found[0] if found else None

    def foregone(self, shown: Shown) -> Verdict | None:
        """Return the lowest rating for an answer that was not made; the middle one for identical answers shown together."""
        lost = super().foregone(shown)
        # Raters that score each answer by itself find no difference anyway, on their own scale.
        if lost is not None or not shown.place or shown.texts[GENERIC] != shown.texts[PERSONAL]:
            return lost
        return Verdict(answers=answered(shown, marks([MIDDLE] * len(shown.parts))), detail=SAME, calls=0)

    def units(self, shown: Shown, unit: str) -> list[Unit]:
        """Return for each attribute both answers as one pair, or each one in a context with that attribute alone."""
        generic, personal = shown.texts
        if unit == "pair":
            return [Unit(part.text, shown.prompt, shown.context, (personal, generic)) for part in shown.parts]
        told = [Context("attribute", part.text, (part.text,), shown.person) for part in shown.parts]
        return [Unit(text, shown.prompt, context) for context in told for text in (generic, personal)]

    def decide(
        self, shown: Shown, scores: Sequence[float], unit: str, threshold: float | None, on_scale: bool
    ) -> list[PartAnswer]:
        """Return ratings, or the personalized answer's lead without a label: reports map leads to the scale by rank."""
        if unit == "pair":
            return answered(shown, [(str(round(one)) if on_scale else None, float(one)) for one in scores])
        pairs = zip(scores[::2], scores[1::2], strict=True)
        return [
            PartAnswer(part, None, personal - generic, (generic, personal))
            for part, (generic, personal) in zip(shown.parts, pairs, strict=True)
        ]

    def accept(self, shown: Shown, returned: Any, threshold: float | None = None) -> list[PartAnswer] | None:
        """Return the answers from a rating from 1 (clearly the first answer shown) to 5 (the second) per attribute."""
        given = numbers_for(shown.parts, by_part(shown, returned))
        if given is None or any(mark not in range(LOWEST, HIGHEST + 1) for mark in given):
            return None
        return answered(shown, marks(turned(int(mark), shown.order) for mark in given))

    def expected(self, shown: Shown) -> str:
        numbers = "a whole number" if len(shown.parts) == 1 else f"{len(shown.parts)} whole numbers"
        return f"{numbers} from {LOWEST} to {HIGHEST}"

    def drawn_order(self, shown: Shown) -> tuple[int, ...]:
        return (PERSONAL, GENERIC) if draw("shown", shown.about, among=2) else (GENERIC, PERSONAL)


class MentionQuestion(AttributeQuestion):
    """Asks which attributes the personalized answer names: wording and parser, with one version for both."""

    version: ClassVar[str] = "1"
    sought: ClassVar[str] = "which attributes an answer names"
    instrument = MENTION

    name = MENTION
    words = words_of("mention")

    def _prompt(self, shown: Shown) -> list[str]:
        return [
            self.words["task"],
            TAGS.tagged("question", shown.prompt),
            TAGS.tagged("attributes", _numbered(shown)),
            TAGS.tagged("answer", shown.texts[PERSONAL]),
            self.words["closing"],
        ]

    def read(self, reply: ChatReply, shown: Shown) -> Reading | None:
        numbers = numbers_in(reply.text, len(shown.parts))
        if numbers is None:
            return None
        said = [("yes", 1.0) if one in numbers else ("no", 0.0) for one in range(1, len(shown.parts) + 1)]
        return Reading(tuple(answered(shown, said)))


def _numbered(shown: Shown) -> str:
    lines = enumerate(shown.attributes, 1)
    return "\n".join(f"{number}. {' '.join(text.split())}" for number, text in lines)


def numbers_in(reply: str, count: int) -> set[int] | None:
    """Return the numbers of a JSON list, the whole reply or its last line; None if there is none, or a number is out of range."""
    for value in json_values(reply):
        if isinstance(value, list) and all(type(one) is int and 1 <= one <= count for one in value):
            return set(value)
    return None


def turned(mark: int, order: tuple[int, ...]) -> int:
    """Convert a rating from A to B to one from generic to personalized, or back."""
    return mark if order == (GENERIC, PERSONAL) else LOWEST + HIGHEST - mark


def marks_in(reply: str, count: int) -> dict[int, int]:
    """Return the ratings in a reply by number. Strict: one JSON object, the whole reply or its last line, of whole numbers.

    A number that occurs twice, is not on the list, or has no rating from 1 to 5 is left out.
    """
    for value in json_values(reply, object_pairs_hook=_JsonPairs):
        if isinstance(value, _JsonPairs):
            return _valid(value, count)
    return {}


class _JsonPairs(list[tuple[str, Any]]):
    """A JSON object as pairs, which keeps repeated names."""


def _valid(pairs: _JsonPairs, count: int) -> dict[int, int]:
    keys = [key for key, _ in pairs]
    return {
        int(key): mark
        for key, mark in pairs
        if key.isdecimal()
        and key.isascii()
        and 1 <= int(key) <= count
        and keys.count(key) == 1
        and type(mark) is int
        and LOWEST <= mark <= HIGHEST
    }


PREFER, NAMED = PreferenceQuestion(), MentionQuestion()
PREFERENCES = QuestionSet(PREFERENCE, (PREFER,), {MENTION: NAMED})
