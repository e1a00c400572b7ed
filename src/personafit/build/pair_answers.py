"""What is asked for a training pair: a question in the person's place, answers for them, for nobody and for others, spoilt ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from personafit._hashing import draw
from personafit.build.answer_texts import check_rewrite
from personafit.build.asking import Generation, Target, Unfit, plain
from personafit.build.prompts import PROMPTS, PromptTemplate
from personafit.build.questions.rules import question_reader
from personafit.people import Person, render_person
from personafit.store import Product

QUESTION = PROMPTS["pair-question"]
PERSONAL = PROMPTS["pair-personal"]
PLAIN = PROMPTS["pair-plain"]
OVERDONE = PROMPTS["pair-overdone"]
SPOILT = {"less-personal": PROMPTS["pair-less-personal"], "less-helpful": PROMPTS["pair-less-helpful"]}
NO_PERSONA, DEGRADED = "no-persona", "degraded"
HARD = ("wrong-person", "over-personalized", DEGRADED)
WHOLE = "rule:whole-profile-1"
SHORTEST_ANSWER = 15  # characters


@dataclass
class QuestionAnswers:
    """One person's question and the answers that its pairs are made of."""

    person: Person
    number: int
    other: Person | None
    """Whom the wrong answer is for; None where nobody else is at hand."""
    model: int
    """Which of the answer models answers."""
    negatives: tuple[str, ...]
    direction: str
    """How a degraded answer is spoilt: less-personal or less-helpful."""
    attempt: int = 0
    """How many questions were tried in its place before."""
    question: str = ""
    source: str = ""
    """Id of the question as a product, or the file and line it comes from."""
    answers: dict[str, Generation] = field(default_factory=dict)
    """By kind: chosen, and each negative."""

    @property
    def key(self) -> str:
        return f"{self.person.id}/{self.number}" + (f"-{self.attempt}" if self.attempt else "")


def units(
    people: Sequence[Person], per_person: int, negatives: int, seed: str, models: int
) -> list[QuestionAnswers]:
    """What is to be made for some people; harder negatives take turns."""
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
            direction = tuple(SPOILT)[draw(*key, "direction", among=2)]
            found.append(QuestionAnswers(person, number, other, model, kinds, direction))
    return found


def told(person: Person) -> Product:
    """What a maker is told of a person, as a product."""
    return Product(
        kind="context", text=render_person(person), maker=WHOLE, about=person.id, parents=[person.id]
    )


def question_target(unit: QuestionAnswers, themes: Sequence[str], seed: str) -> Target:
    """A question for the writer to ask in a person's place, about one of some themes."""
    person = unit.person
    theme = themes[draw(seed, unit.key, "theme", among=len(themes))]
    values = {"person": render_person(person), "theme": theme}
    key, given = f"{unit.key}/question", told(person).id
    return Target.for_person(
        person,
        key,
        QUESTION,
        values,
        "question",
        question_reader(person.language),
        given=given,
        max_tokens=120,
    )


def first_answers(unit: QuestionAnswers, words: int) -> dict[str, Target]:
    """The fitting answer, and those for nobody, for somebody else and for show, as far as they are wanted."""
    asked: dict[str, tuple[PromptTemplate, Person | None]] = {
        "chosen": (PERSONAL, unit.person),
        NO_PERSONA: (PLAIN, None),
        "wrong-person": (PERSONAL, unit.other),
        "over-personalized": (OVERDONE, unit.person),
    }
    found = {}
    for kind, (prompt, whom) in asked.items():
        if kind in ("chosen", *unit.negatives):
            person = render_person(whom) if whom else ""
            values = {"person": person, "question": unit.question, "words": words}
            found[kind] = _answer(unit, kind, prompt, values, whom)
    return found


def spoilt_answers(unit: QuestionAnswers) -> dict[str, Target]:
    """The fitting answer made worse, where that is wanted and there is one."""
    chosen = unit.answers["chosen"]
    if DEGRADED not in unit.negatives or chosen.text is None:
        return {}
    values = {"question": unit.question, "answer": chosen.text}
    return {DEGRADED: _answer(unit, DEGRADED, SPOILT[unit.direction], values, like=chosen)}


def _answer(
    unit: QuestionAnswers,
    kind: str,
    prompt: PromptTemplate,
    values: Mapping[str, object],
    whom: Person | None = None,
    like: Generation | None = None,
) -> Target:
    """An answer for somebody, of whom the maker is told, or one made from the chosen answer."""
    parents = (unit.source, like.product if like else "")
    return Target(
        f"{unit.key}/{kind}",
        prompt,
        unit.person.language,
        values,
        "answer",
        partial(read_answer, like=(like.text if like else None) or ""),
        about=(whom or unit.person).id,
        given=told(whom).id if whom else None,
        parents=tuple(filter(None, parents)),
        max_tokens=700,
    )


def read_answer(reply: str, like: str = "") -> str:
    """An answer; one that was made from another is about as long and not the same."""
    text = plain(reply)
    if len(text) < SHORTEST_ANSWER:
        raise Unfit("it is too short for an answer", "作为回答太短了")
    if like:
        check_rewrite(text, like)
    return text
