"""Targets for training pairs: a question in the person's voice, answers for that person, for nobody and for others, and degraded ones.

Answers are asked for in the words of the answers step, so that those trained on have the form of those judged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from personafit._hashing import draw
from personafit.build.answer_texts import answer_reader, bounds
from personafit.build.answers import DIRECTIONS, FOR_ANYBODY, FOR_PERSON, WORSE
from personafit.build.asking import Generation, Target
from personafit.build.prompts import PROMPTS, PromptTemplate
from personafit.build.questions.rules import question_reader
from personafit.people import Person, render_person
from personafit.store import Product

QUESTION = PROMPTS["pair-question"]
OVERDONE = PROMPTS["pair-overdone"]
NO_PERSONA, DEGRADED = "no-persona", "degraded"
HARD = ("wrong-person", "over-personalized", DEGRADED)
WHOLE = "rule:whole-profile-1"


@dataclass
class QuestionAnswers:
    """A question of one person and the answers its pairs are made of."""

    person: Person
    number: int
    other: Person | None
    """The person the wrong-person answer is for; None if there is no other person."""
    model: int
    negatives: tuple[str, ...]
    direction: str
    """How a degraded answer is made worse: less-personal or less-helpful."""
    attempt: int = 0
    """Number of questions tried before this one."""
    question: str = ""
    source: str = ""
    """Id of the question as a product, or its file and line."""
    answers: dict[str, Generation] = field(default_factory=dict)
    """Generations by kind: chosen, and each negative."""

    @property
    def key(self) -> str:
        return f"{self.person.id}/{self.number}" + (f"-{self.attempt}" if self.attempt else "")


def units(
    people: Sequence[Person], per_person: int, negatives: int, seed: str, models: int
) -> list[QuestionAnswers]:
    """Return the questions to generate for some people; the harder negatives rotate."""
    found = []
    for person in people:
        others = [one for one in people if one.language == person.language and one.id != person.id]
        for number in range(per_person):
            key = (seed, "pairs", person.id, number)
            start = draw(*key, "hard", among=len(HARD))
            hard = [HARD[(start + turn) % len(HARD)] for turn in range(negatives)]
            other = others[draw(*key, "other", among=len(others))] if others else None
            kinds = (NO_PERSONA, *(kind for kind in hard if other or kind != "wrong-person"))
            model = draw(*key, "model", among=models)
            direction = WORSE[draw(*key, "direction", among=2)]
            found.append(QuestionAnswers(person, number, other, model, kinds, direction))
    return found


def told(person: Person) -> Product:
    """Return what a maker is told about a person, as a context product."""
    return Product(
        kind="context", text=render_person(person), maker=WHOLE, about=person.id, parents=[person.id]
    )


def question_target(unit: QuestionAnswers, themes: Sequence[str], seed: str) -> Target:
    """Return the target for a question in the person's voice, on a drawn theme."""
    person = unit.person
    theme = themes[draw(seed, unit.key, "theme", among=len(themes))]
    return Target.for_person(
        person,
        f"{unit.key}/question",
        QUESTION,
        {"person": render_person(person), "theme": theme},
        "question",
        question_reader(person.language),
        given=told(person).id,
        max_tokens=120,
    )


def first_answers(unit: QuestionAnswers, words: int) -> dict[str, Target]:
    """Return targets for the chosen answer and the wanted negatives that do not derive from it."""
    asked: dict[str, tuple[PromptTemplate, Person | None]] = {
        "chosen": (FOR_PERSON, unit.person),
        NO_PERSONA: (FOR_ANYBODY, None),
        "wrong-person": (FOR_PERSON, unit.other),
        "over-personalized": (OVERDONE, unit.person),
    }
    return {
        kind: _answer(unit, kind, prompt, {"words": words}, words, whom)
        for kind, (prompt, whom) in asked.items()
        if kind in ("chosen", *unit.negatives)
    }


def spoilt_answers(unit: QuestionAnswers, words: int) -> dict[str, Target]:
    """Return the target for a degraded version of the chosen answer, if wanted and possible."""
    chosen = unit.answers["chosen"]
    if DEGRADED not in unit.negatives or chosen.text is None:
        return {}
    least, most = bounds(chosen.text)
    values = {"answer": chosen.text, "least": least, "most": most}
    return {DEGRADED: _answer(unit, DEGRADED, DIRECTIONS[unit.direction], values, words, like=chosen)}


def _answer(
    unit: QuestionAnswers,
    kind: str,
    prompt: PromptTemplate,
    values: Mapping[str, object],
    words: int,
    whom: Person | None = None,
    like: Generation | None = None,
) -> Target:
    """Return the target for an answer that is told about `whom`, or derived from the answer `like`."""
    given, before = (told(whom) if whom else None), (like.text if like else None) or ""
    known = {"told": given.text} if given else {}
    return Target(
        f"{unit.key}/{kind}",
        prompt,
        unit.person.language,
        {"question": unit.question, **known, **values},
        "answer",
        answer_reader((unit.person, whom or unit.person), words, before),
        about=(whom or unit.person).id,
        given=given.id if given else None,
        parents=tuple(filter(None, (unit.source, like.product if like else ""))),
        max_tokens=len(before) + 24 if before else round(2.2 * words) + 24,
    )
