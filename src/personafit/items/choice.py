"""The choice question: wording, letters, parser, and guards against hostile text.

Texts of people, questions and answers are material, not instructions: they stand between tags, and nothing in them can close a tag. A
change of a wording or a parser must raise the question's version, so that scores are not mixed.
"""

import re
from collections.abc import Sequence
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit._versions import fingerprint_of, own_version
from personafit.items.reading import (
    PartAnswer,
    Question,
    QuestionSet,
    Reading,
    Shown,
    Tags,
    Unit,
    Verdict,
    choice_of,
    numbers_for,
    replay_key,
    words_of,
)
from personafit.models import ChatReply
from personafit.store import TIE, Status

MOST = 20
"""Most answers in a choice: APIs return the scores of twenty tokens, so each letter can have one."""
TESTED_ANSWER = "answer"  # an item's `unmade` value if the missing answer is the system's own
UNMADE_NOTE = "unmade"  # note on the part of an item whose tested answer was not made
LOST = "the system made no answer, and loses to the one that was made: nobody was asked"
SAME = "the answers are identical: nobody was asked"
_LETTERS = "ABCDEFGHJKLMNOPQRSTU"  # without I, as many replies begin with that word
TAGS = Tags("person", "question", "answer")
ASPECTS = (
    "helpfulness",
    "correctness",
    "coherence",
    "complexity",
    "verbosity",
)  # rated by `aspects:` raters


class ChoiceQuestion(Question):
    """Asks which of up to `MOST` answers fits the person best."""

    version: ClassVar[str] = "1"
    """Version of wording, layout and parser together."""
    reading: ClassVar[str] = "letters-then-parser-1"
    order_matters: ClassVar[bool] = True
    scored_by: ClassVar[tuple[str, ...]] = ("answer", "choice")
    sought: ClassVar[str] = "which answer fits"

    name = "fit"
    words = words_of("fit")

    def letters(self, count: int) -> tuple[str, ...]:
        """Return the letters that mark the answers."""
        return tuple(_LETTERS[:count])

    def _prompt(self, shown: Shown) -> list[str]:
        letters = self.options(shown)
        texts = (shown.context.text, shown.prompt, *shown.answers)
        person, question, *answers = (self._guarded(text) for text in texts)
        # The person's tags depend only on the person, so that prompts about one person share a prefix.
        about, mark = self._mark(person), self._mark(person, question, *answers)
        named = [
            ("question", question),
            *zip([f"answer_{letter}" for letter in letters], answers, strict=True),
        ]
        return [
            self.words["task"],
            _between(f"person{about}", person) if person else self.words["unknown"],
            *(_between(f"{name}{mark}", text) for name, text in named),
            *self._notes(about if person else "", mark),
            self.words["closing"].format(letters=" or ".join(letters)),
        ]

    def _guarded(self, text: str) -> str:
        """Return the text made safe to stand between tags."""
        return TAGS.inert(text)

    def _mark(self, *texts: str) -> str:
        """Return the suffix of tag names."""
        return ""

    def _notes(self, about: str, mark: str) -> list[str]:
        """Return paragraphs that explain the tags."""
        return []

    def again(self, shown: Shown) -> str:
        return self.words["reminder"].format(letters=" or ".join(self.options(shown)))

    def read(self, reply: ChatReply, shown: Shown) -> Reading | None:
        """Return the choice with its margin, from the letters' scores if there are any, else from the letter in the reply."""
        letters, said = self.options(shown), reply.letter_scores
        if said is not None and set(letters) <= said.keys():
            scores = {index: said[letter] for letter, index in zip(letters, shown.order, strict=True)}
        elif (named := self.parse(reply.text, len(letters))) is not None:
            said = None
            scores = {
                index: float(letter == named) for letter, index in zip(letters, shown.order, strict=True)
            }
        else:
            return None
        label, margin = choice_of([scores[index] for index in range(len(letters))])
        return Reading((PartAnswer(shown.parts[0], label, margin, letters=said),))

    def options(self, shown: Shown) -> tuple[str, ...]:
        return self.letters(len(shown.order))

    def recorded_as(self, shown: Shown) -> str:
        return replay_key(shown.about, shown.context.name, shown.order_name, shown.sample)

    def foregone(self, shown: Shown) -> Verdict | None:
        """Return the verdict that needs no rater: a part to skip, an answer that was not made (loses), identical answers (tie)."""
        part = shown.parts[0]
        if part.skip is not None:
            return Verdict(status=Status.SKIPPED, detail=part.skip, calls=0, answers=[PartAnswer(part)])
        if part.note == UNMADE_NOTE:
            made = next(place for place, text in enumerate(shown.texts) if text)
            won = PartAnswer(part, str(made), 1.0 if made == 0 else -1.0)
            return Verdict(detail=LOST, calls=0, answers=[won])
        if len(set(shown.texts)) == 1:
            return Verdict(detail=SAME, calls=0, answers=[PartAnswer(part, TIE, 0.0)])
        return None

    def units(self, shown: Shown, unit: str) -> list[Unit]:
        """Return every answer as a unit, in the item's order; or both answers of a pair as one unit."""
        if unit == "answer":
            return [Unit(text, shown.prompt, shown.context) for text in shown.texts]
        return [Unit("", shown.prompt, shown.context, shown.texts)]

    def decide(
        self, shown: Shown, scores: Sequence[float], unit: str, threshold: float | None, on_scale: bool
    ) -> list[PartAnswer]:
        """Return the answer with the highest score; for a pair unit, the sign of its margin decides."""
        if unit == "answer":
            return [PartAnswer(shown.parts[0], *choice_of(scores))]
        margin = scores[0]
        label = TIE if margin == 0 else "0" if margin > 0 else "1"
        return [PartAnswer(shown.parts[0], label, margin)]

    def accept(self, shown: Shown, returned: Any, threshold: float | None = None) -> list[PartAnswer] | None:
        """Return the choice from an index, a letter or `tie`, or one number per answer, in the order shown."""
        scores = self._scores(returned, len(shown.order))
        if scores is None:
            return None
        by_product = [0.0] * len(scores)
        for place, index in enumerate(shown.order):
            by_product[index] = scores[place]
        return [PartAnswer(shown.parts[0], *choice_of(by_product))]

    def expected(self, shown: Shown) -> str:
        return f"{len(shown.order)} finite numbers, an index or a letter"

    def _scores(self, returned: Any, count: int) -> list[float] | None:
        chosen: int | None = None
        if not isinstance(returned, bool) and isinstance(returned, Integral) and 0 <= int(returned) < count:
            chosen = int(returned)
        elif isinstance(returned, str):
            if returned.strip() == TIE:
                return [0.0] * count
            letters = self.letters(count)
            letter = returned.strip().upper()
            chosen = letters.index(letter) if letter in letters else None
        if chosen is not None:
            return [float(place == chosen) for place in range(count)]
        return numbers_for(range(count), returned)

    def parse(self, reply: str, count: int) -> str | None:
        """Return the letter that a reply names, or None. Strict: the last line must be a letter and nothing else."""
        lines = [line.strip() for line in reply.strip().splitlines() if line.strip()]
        if not lines:
            return None
        pattern = (
            r"(?:(?:(?:the\s+)?(?:final\s+)?(?:answer|choice|option)(?:\s+is)?|答案(?:是|为)?|我?选择?)\s*[:：]?)?"
            rf"[\s\"'“(（\[*_`]*([{''.join(self.letters(count))}])[\"'”)）\]*_`]*[.。!]?"
        )
        match = re.fullmatch(pattern, lines[-1].strip("*_` "), re.IGNORECASE)
        return match[1].upper() if match else None


def _between(name: str, text: str) -> str:
    return f"<{name}>\n{text}\n</{name}>"


def inert(text: str) -> str:
    """Disarm a choice's tags in a text, so that it can neither close nor open them."""
    return TAGS.inert(text)


FIT = ChoiceQuestion()
"""The question which answer fits the person better."""


CHOICES = QuestionSet("choice", (FIT,))


GUARDS = ("off", "tags", "marks", "nonce", "all")
"""Ways to guard a judge against hostile text."""

NONCE_DIGITS = 8
_GUARD = words_of("guard")


class GuardedQuestion(ChoiceQuestion):
    """The choice question with another guard against hostile text."""

    version: ClassVar[str] = "1"

    def __init__(self, guard: str) -> None:
        self.guard = guard

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint_of(f"fit/{self.guard}", own_version(self))

    @property
    def instrument(self) -> str:
        """Fingerprint of the plain question, since a guard is a setting of the rater."""
        return FIT.fingerprint

    def _notes(self, about: str, mark: str) -> list[str]:
        return [_GUARD["genuine"].format(nonce=" or ".join(filter(None, (about, mark))))] if mark else []

    def _guarded(self, text: str) -> str:
        if self.guard in ("marks", "all"):
            from personafit.items.hostile import cleaned

            text = cleaned(text)
        # `inert` is skipped for "off" and "nonce", which measure no guard and the nonce alone.
        return text if self.guard in ("off", "nonce") else TAGS.inert(text)

    def _mark(self, *texts: str) -> str:
        """Return a nonce for tag names, which a text could use only by containing its own hash."""
        if self.guard not in ("nonce", "all"):
            return ""
        return f"-{hash_text('nonce', *texts)[:NONCE_DIGITS]}"


def guarded_question(guard: str) -> ChoiceQuestion:
    """Return the choice question with a guard; `tags` is the default."""
    if guard not in GUARDS:
        raise UserError(f"guard={guard}: there is no such guard; there are {', '.join(GUARDS)}.")
    return FIT if guard == "tags" else GuardedQuestion(guard)
