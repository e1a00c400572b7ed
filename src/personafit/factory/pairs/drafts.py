"""From a few people to pairs: questions, then answers for the person and for others, then spoilt ones.

Both answers of a pair are by the same model, so that whose words they are tells nothing. Everything of one chunk of
people is in memory and nothing else.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from personafit._hashing import draw
from personafit.factory.asking import Generation, Target, Unfit, plain
from personafit.factory.bench import Bench, RequestBatch
from personafit.factory.prompts import PROMPTS, WORDINGS, PromptTemplate
from personafit.factory.sections import HARD, PairsSection
from personafit.people import Person, render_person
from personafit.store import Product

QUESTION = PROMPTS["pair-question"]
THEMES: dict[str, list[str]] = WORDINGS["themes"]

PERSONAL = PROMPTS["pair-personal"]
PLAIN = PROMPTS["pair-plain"]
OVERDONE = PROMPTS["pair-overdone"]
LESS_PERSONAL = PROMPTS["pair-less-personal"]
LESS_HELPFUL = PROMPTS["pair-less-helpful"]

NO_PERSONA = "no-persona"
WHOLE = "rule:whole-profile-1"
LONGEST_QUESTION = 400
SHORTEST_ANSWER = 15  # characters
OFF_LENGTH = 0.1  # by how much of its length a spoilt answer may differ


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
    question: str = ""
    asked: str = ""
    """Id of the question as a product, or the file and line it comes from."""
    answers: dict[str, Generation] = field(default_factory=dict)
    """By kind: chosen, and each negative."""
    direction: str = ""
    """How a degraded answer was spoilt: less-personal or less-helpful."""

    attempt: int = 0
    """How many questions were tried in its place before."""

    @property
    def key(self) -> str:
        """Names it within the step."""
        return f"{self.person.id}/{self.number}" + (f"-{self.attempt}" if self.attempt else "")

    def again(self) -> "QuestionAnswers":
        """The same with another question."""
        return replace(self, question="", asked="", answers={}, attempt=self.attempt + 1)


def units(people: Sequence[Person], section: PairsSection, seed: str, models: int) -> list[QuestionAnswers]:
    """What is to be made for some people; harder negatives take turns."""
    found = []
    for person in people:
        others = [one for one in people if one.language == person.language and one.id != person.id]
        for number in range(section.per_person):
            key = (seed, "pairs", person.id, number)
            start = draw(*key, "hard", among=len(HARD))
            hard = [HARD[(start + turn) % len(HARD)] for turn in range(section.hard)]
            other = others[draw(*key, "other", among=len(others))] if others else None
            if other is None:
                hard = [kind for kind in hard if kind != "wrong-person"]
            unit = QuestionAnswers(
                person, number, other, draw(*key, "model", among=models), (NO_PERSONA, *hard)
            )
            unit.direction = ("less-personal", "less-helpful")[draw(*key, "direction", among=2)]
            found.append(unit)
    return found


def told(person: Person) -> Product:
    """What a maker is told of a person, as a product."""
    return Product(
        kind="context", text=render_person(person), maker=WHOLE, about=person.id, parents=[person.id]
    )


async def ask_questions(bench: Bench, todo: Sequence[QuestionAnswers], seed: str) -> None:
    """Have the writer ask; a unit without a usable question stays without."""

    def wanted() -> Iterator[Target]:
        for unit in todo:
            themes = THEMES["zh" if unit.person.language == "zh" else "en"]
            theme = themes[draw(seed, unit.key, "theme", among=len(themes))]
            yield Target(
                f"{unit.key}/question",
                QUESTION,
                unit.person.language,
                {"person": render_person(unit.person), "theme": theme},
                kind="question",
                read=read_question,
                about=unit.person.id,
                given=told(unit.person).id,
                parents=(unit.person.id,),
                max_tokens=120,
            )

    answers = await bench.ask(RequestBatch(bench.model("writer"), wanted, len(todo), "questions"))
    for unit, answer in zip(todo, answers, strict=True):
        if answer.text is None:
            bench.reject_reply(answer, bench.model())
        else:
            unit.question, unit.asked = answer.text, answer.product


async def ask_answers(bench: Bench, todo: Sequence[QuestionAnswers], words: int) -> None:
    """The fitting answers, those for nobody, for somebody else and for show; then the spoilt ones."""
    await _ask(bench, todo, lambda unit: _first(unit, words))
    await _ask(bench, [unit for unit in todo if unit.answers["chosen"].ok], _spoilt)


async def _ask(
    bench: Bench, todo: Sequence[QuestionAnswers], made: Callable[[QuestionAnswers], list[tuple[str, Target]]]
) -> None:
    pool = bench.pool()
    for place, model in enumerate(pool):
        mine = [(unit, kind, wanted) for unit in todo if unit.model == place for kind, wanted in made(unit)]
        batch = RequestBatch(model, partial(iter, [wanted for _, _, wanted in mine]), len(mine), "answers")
        for (unit, kind, _), answer in zip(mine, await bench.ask(batch), strict=True):
            unit.answers[kind] = answer


def _first(unit: QuestionAnswers, words: int) -> list[tuple[str, Target]]:
    asked: dict[str, tuple[PromptTemplate, Person | None]] = {
        "chosen": (PERSONAL, unit.person),
        NO_PERSONA: (PLAIN, None),
        "wrong-person": (PERSONAL, unit.other),
        "over-personalized": (OVERDONE, unit.person),
    }
    found = []
    for kind, (prompt, whom) in asked.items():
        if kind == "chosen" or kind in unit.negatives:
            person = render_person(whom) if whom else ""
            values = {"person": person, "question": unit.question, "words": words}
            found.append((kind, _answer(unit, kind, prompt, values, whom)))
    return found


def _spoilt(unit: QuestionAnswers) -> list[tuple[str, Target]]:
    if "degraded" not in unit.negatives:
        return []
    chosen = unit.answers["chosen"]
    prompt = LESS_PERSONAL if unit.direction == "less-personal" else LESS_HELPFUL
    said = chosen.text or ""
    wanted = _answer(unit, "degraded", prompt, {"question": unit.question, "answer": said}, like=said)
    return [("degraded", wanted)]


def _answer(
    unit: QuestionAnswers,
    kind: str,
    prompt: PromptTemplate,
    values: dict[str, object],
    whom: Person | None = None,
    like: str = "",
) -> Target:
    """An answer for somebody, of whom the maker is told, or one made from the chosen answer."""
    parents = [unit.asked] if unit.asked else []
    if like:
        parents.append(unit.answers["chosen"].product)
    return Target(
        f"{unit.key}/{kind}",
        prompt,
        unit.person.language,
        values,
        kind="answer",
        read=partial(read_answer, like=like),
        about=(whom or unit.person).id,
        given=told(whom).id if whom else None,
        parents=tuple(parents),
        max_tokens=700,
    )


def read_question(reply: str) -> str:
    """A writer's question, if it is one."""
    text = plain(reply).strip('"“”').strip()
    if "\n" in text or len(text) > LONGEST_QUESTION:
        raise Unfit("one question on one line is wanted", "只要一个问题，写成一行")
    if not text.endswith(("?", "？")):
        raise Unfit("it must be a question and end with a question mark", "必须是问题，以问号结尾")
    return text


def read_answer(reply: str, like: str = "") -> str:
    """An answer; one that was made from another is about as long and not the same."""
    text = plain(reply)
    if len(text) < SHORTEST_ANSWER:
        raise Unfit("it is too short for an answer", "作为回答太短了")
    if like and text == like:
        raise Unfit("it is the same answer", "和原来的回答一样")
    if like and abs(len(text) - len(like)) > OFF_LENGTH * len(like):
        raise Unfit(
            f"it must be about as long as before, {len(like)} characters, not {len(text)}",
            f"长度应和原来差不多，{len(like)}个字符左右，现在是{len(text)}个",
        )
    return text
