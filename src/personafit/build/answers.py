"""The answers step: for each question, answers by models that know the person well, partly, or not at all.

Each drawn model first answers every question, then some answers are rewritten. All answers by one model to one question differ
only in what the model was told: the facts relevant to the question, or a randomly masked profile; never the name.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import ceil
from typing import Any

import numpy as np
from pydantic import Field

from personafit._hashing import draw, hash_text
from personafit.build.answer_texts import answer_reader, bounds, template_answer
from personafit.build.asking import Generation, Target
from personafit.build.bench import Bench, in_blocks
from personafit.build.config import MOST_ANSWERERS, ConfigSection
from personafit.build.given import habits_of
from personafit.build.prompts import PROMPTS
from personafit.build.questions.lists import expected_questions
from personafit.build.step import BuildStep, ExpectedAsks, table
from personafit.models.embeddings import Embedder, Vectors, make_embedder
from personafit.people import FacetValue, Person, names_of, render_facets
from personafit.store import Product

FOR_PERSON = PROMPTS["answers.person"]
FOR_ANYBODY = PROMPTS["answers.anybody"]
BETTER = PROMPTS["answers.better"]
LESS_PERSONAL = PROMPTS["answers.less-personal"]
LESS_HELPFUL = PROMPTS["answers.less-helpful"]
DIRECTIONS = {"better": BETTER, "less-personal": LESS_PERSONAL, "less-helpful": LESS_HELPFUL}
A1, A2, A3, WRONG, IMPROVED, DEGRADED = "A1", "A2", "A3", "wrong-person", "improved", "degraded"
FIRST_ANSWERS = (A1, A2, A3, WRONG)
WORSE = ("less-personal", "less-helpful")
CORE = ("Demographics", "Personality")
BEARING, MASKED = "rule:bearing-3", "rule:masked-1"
BEARS = 0.85  # a preference is relevant too if its similarity is at least this share of the highest one
FIRST, BLOCK = 8, 50  # people per block, in the first block and in later ones
ATTEMPTS = 2  # asks for one answer, each with one retry that tells the model what was wrong


class AnswersSection(ConfigSection):
    """Settings of the answers step."""

    words: int = Field(120, ge=8, le=2000, description="Length asked for, in words or Chinese characters.")
    makers: int = Field(
        MOST_ANSWERERS,
        ge=1,
        le=MOST_ANSWERERS,
        description="Models of the pool, drawn, that answer each question.",
    )
    features: int = Field(
        4,
        ge=1,
        le=20,
        description="Fewest preferences told for A1 besides the features of the question; all that bear on it nearly as much are told too.",
    )
    masked: float = Field(0.8, gt=0, lt=1, description="Share of the profile that is masked for A2.")
    improved: int = Field(1, ge=0, le=4, description="Answers to each question that are made better.")
    degraded: int = Field(1, ge=0, le=4, description="Answers to each question that are made worse.")


@dataclass(frozen=True)
class AnswerContext:
    """What the answering model is told about the person, and which fields were masked."""

    product: Product
    masked: tuple[str, ...] = ()


def bearing(
    person: Person, vectors: Vectors, question: Vectors, made_from: Sequence[str], count: int, *key: str | int
) -> AnswerContext:
    """Return the core fields, the features the question was made from, and all preferences relevant to it.

    Relevant are the `count` preferences most similar to the question, and every other one nearly as similar as the first.
    """
    known = habits_of(person)
    likeness = (vectors @ question)[: len(known)]
    preferences = [
        n for n in _nearest(likeness) if known[n][0].partition(".")[0] not in CORE
    ]  # it is told anyway
    near = [n for n in preferences if likeness[n] >= BEARS * likeness[preferences[0]]]
    places = sorted({*preferences[:count], *near, *(n for n in preferences if known[n][0] in made_from)})
    features = [(one.id, one.text) for one in person.attributes if one.id in made_from]
    chosen = dict.fromkeys([*features, *(known[place] for place in places)])
    core = {path: value for path, value in _nameless(person).items() if path.partition(".")[0] in CORE}
    lines = [render_facets(core), *(f"- {text}" for _, text in chosen)]
    parents = dict.fromkeys([person.id, *(name for name, _ in chosen)])
    return AnswerContext(_context("\n".join(filter(None, lines)), BEARING, person.id, [*parents], *key))


def _nameless(person: Person) -> dict[str, FacetValue]:
    names = names_of(person.facets)
    return {path: value for path, value in person.facets.items() if value not in names}


def _nearest(likeness: Vectors) -> list[int]:
    """Return indices by decreasing similarity."""
    order: list[int] = np.argsort(-likeness, kind="stable").tolist()
    return order


def mostly_masked(person: Person, share: float, *key: str | int) -> AnswerContext:
    """Return the profile with a drawn share of its fields masked, at least one field kept."""
    facets = _nameless(person)
    paths = list(facets)
    count = min(round(share * len(paths)), max(0, len(paths) - 1))
    drawn = sorted(paths, key=lambda path: draw("mask", *key, person.id, path, among=2**63))
    masked = tuple(path for path in paths if path in drawn[:count])
    left = {path: value for path, value in facets.items() if path not in masked}
    return AnswerContext(_context(render_facets(left), MASKED, person.id, [person.id], *key), masked)


def _context(text: str, maker: str, person: str, parents: list[str], *key: str | int) -> Product:
    """Return a context product; its id depends on the question too, even if another question has the same text."""
    own = hash_text("told", maker, person, *map(str, key), text)
    return Product(id=own, kind="context", text=text, maker=maker, about=person, parents=parents)


@dataclass
class PersonQuestion:
    """A question with the person who asks it and the drafts of its answers."""

    row: dict[str, Any]
    person: Person
    drafts: list["AnswerDraft"] = field(default_factory=list)


@dataclass
class AnswerDraft:
    """An answer to be generated: its question, strategy and model, and its reply once there is one."""

    asked: PersonQuestion
    strategy: str
    maker: int
    """Index of the answer model in the pool."""
    meant_for: Person
    told: AnswerContext | None = None
    direction: str | None = None
    parent: "AnswerDraft | None" = None
    number: int = 0
    answer: Generation | None = None

    @property
    def key(self) -> str:
        return f"{self.asked.row['id']}/{self.strategy}{self.number or ''}/{self.maker}"

    @property
    def given(self) -> str | None:
        """Id of the context product the maker was told, if any."""
        return self.told.product.id if self.told else None

    @property
    def text(self) -> str:
        """The answer's text; empty before it is generated."""
        return (self.answer.text if self.answer else None) or ""

    @property
    def product(self) -> str:
        """The answer's product id."""
        return self.answer.product if self.answer else ""


def question_blocks(bench: Bench) -> Iterator[list[PersonQuestion]]:
    """Yield all questions in blocks of people."""
    people = {person.id: person for person in bench.people()}
    groups = groupby(bench.read_rows("questions"), key=lambda row: row["person"])
    by_person = ([PersonQuestion(row, people[name]) for row in rows] for name, rows in groups)
    for block in in_blocks(by_person, FIRST, BLOCK):
        yield [asked for mine in block for asked in mine]


def first_drafts(
    block: Sequence[PersonQuestion],
    section: AnswersSection,
    pool: int,
    embedder: Embedder,
    seed: tuple[str | int, ...],
) -> list[AnswerDraft]:
    """Return the A1, A2, A3 and wrong-person drafts for each drawn model."""
    people = list({asked.person.id: asked.person for asked in block}.values())
    vectors = {one.id: embedder.embed([text for _, text in habits_of(one)] or [""]) for one in people}
    inferred = {one.id: embedder.embed([known.text for known in one.attributes] or [""]) for one in people}
    questions = embedder.embed([asked.row["text"] for asked in block])
    for asked, question in zip(block, questions, strict=True):
        row, person = asked.row, asked.person
        key = (*seed, "answers", row["id"])
        others = [one for one in people if one.language == person.language and one.id != person.id]
        order = sorted(range(pool), key=lambda place: draw(*key, "maker", place, among=2**63))
        near = bearing(person, vectors[person.id], question, row["features"], section.features, *key)
        masked = mostly_masked(person, section.masked, *key)
        other, far = (others[draw(*key, "other", among=len(others))] if others else None), None
        if (
            other is not None
        ):  # told as many features as for the asker, so that their number does not reveal the right answer
            nearest = _nearest(inferred[other.id] @ question)[: len(other.attributes)]
            known = [other.attributes[place].id for place in nearest[: len(row["features"])]]
            far = bearing(other, vectors[other.id], question, known, section.features, *key)
        for maker in sorted(order[: section.makers]):
            asked.drafts += [
                AnswerDraft(asked, A1, maker, person, near),
                AnswerDraft(asked, A2, maker, person, masked),
                AnswerDraft(asked, A3, maker, person),
            ]
            if other is not None:
                asked.drafts.append(AnswerDraft(asked, WRONG, maker, other, far))
    return [draft for asked in block for draft in asked.drafts]


def rewrite_drafts(
    block: Sequence[PersonQuestion], section: AnswersSection, seed: tuple[str | int, ...]
) -> list[AnswerDraft]:
    """Pick answers to rewrite for each question: improve some of A2 and A3, degrade some of A1 and A2."""
    found = []
    for asked in block:
        made = [draft for draft in asked.drafts if draft.text]
        near = next((draft.told for draft in asked.drafts if draft.strategy == A1), None)
        for strategy, count, among in (
            (IMPROVED, section.improved, (A2, A3)),
            (DEGRADED, section.degraded, (A1, A2)),
        ):
            key = (*seed, strategy, asked.row["id"])
            parents = [draft for draft in made if draft.strategy in among]
            parents.sort(key=lambda one: draw(*key, one.key, among=2**63))
            for number, parent in enumerate(parents[:count]):
                way = "better" if strategy == IMPROVED else WORSE[draw(*key, number, "way", among=2)]
                told = near if strategy == IMPROVED else None
                found.append(
                    AnswerDraft(asked, strategy, parent.maker, asked.person, told, way, parent, number)
                )
                asked.drafts.append(found[-1])
    return found


def answer_target(bench: Bench, section: AnswersSection, attempt: int, draft: AnswerDraft) -> Target:
    """Return the model call for a draft; without answer models its stand-in is a template answer."""
    row, told = draft.asked.row, draft.told.product.text if draft.told else ""
    before, direction = (draft.parent.text if draft.parent else ""), draft.direction or ""
    values = {"question": row["text"], "words": section.words}
    prompt, parents, most = FOR_ANYBODY, [row["id"]], round(2.2 * section.words) + 24
    if draft.told is not None:
        prompt, values["told"] = FOR_PERSON, told
    if draft.parent is not None:
        prompt = DIRECTIONS[direction]
        values |= {"answer": before, **dict(zip(("least", "most"), bounds(before), strict=True))}
        parents, most = [row["id"], draft.parent.product], len(before) + 24
    stand_in = None
    if not bench.models.pool():
        key = (bench.seed, bench.take, draft.key)
        stand_in = template_answer(
            row["language"], told, section.words, *key, before=before, direction=direction
        )
    return Target.for_person(
        draft.meant_for,
        draft.key,
        prompt,
        values,
        "answer",
        answer_reader((draft.asked.person, draft.meant_for), section.words, before),
        given=draft.given,
        parents=tuple(parents),
        sample=attempt,
        max_tokens=most,
        stand_in=stand_in,
    )


class AnswersStep(BuildStep):
    """Generates a pool of answers to every question."""

    name = "answers"
    after = ("people", "questions")
    uses = ("memories", "features")
    section = AnswersSection
    version = 6
    roles = ("answerers",)
    prompts = (FOR_PERSON, FOR_ANYBODY, BETTER, LESS_PERSONAL, LESS_HELPFUL)

    def expected(self, bench: Bench) -> Iterator[ExpectedAsks]:
        section, pool = bench.config.section(AnswersSection), bench.models.pool()
        questions = expected_questions(bench.config)
        first = questions * min(section.makers, len(pool)) * len(FIRST_ANSWERS)
        again = questions * (section.improved + section.degraded)
        long = round(1.4 * section.words)
        for model in pool:
            yield ExpectedAsks("answers", model, ceil(first / len(pool)), 480, long)
            if again:
                yield ExpectedAsks("rewrites", model, ceil(again / len(pool)), 420 + long, long)

    async def make(self, bench: Bench) -> None:
        section = bench.config.section(AnswersSection)
        embedder = make_embedder()
        seed, pool, trial = (bench.seed, bench.take), max(1, len(bench.models.pool())), True
        for block in question_blocks(bench):
            drafts = first_drafts(block, section, pool, embedder, seed)
            for told in {draft.given: draft.told for draft in drafts}.values():
                if told is not None:
                    bench.add(told.product)
                    bench.write(told.product, "products")
            await self._ask(bench, section, drafts, "answers", trial)
            trial = False
            await self._ask(bench, section, rewrite_drafts(block, section, seed), "rewrites")
            for asked in block:
                self._write(bench, asked)

    async def _ask(
        self,
        bench: Bench,
        section: AnswersSection,
        drafts: list[AnswerDraft],
        label: str,
        trial: bool = False,
    ) -> None:
        """Ask each draft's model, and again for unusable replies; reject drafts that still have no text."""
        for attempt in range(ATTEMPTS):
            left = [draft for draft in drafts if not draft.text]
            asks = [(draft.maker, answer_target(bench, section, attempt, draft)) for draft in left]
            for draft, answer in zip(left, await bench.ask_pool(asks, label, trial), strict=True):
                draft.answer = answer
            trial = False  # those left are the ones that could not be used
        for draft in drafts:
            if draft.answer is not None and not draft.text:
                reason = draft.answer.reason or "no sentence of ours is as long"
                bench.reject(draft.key, reason, about=draft.meant_for.id, by=bench.pool_names[draft.maker])

    def _write(self, bench: Bench, asked: PersonQuestion) -> None:
        for draft in asked.drafts:
            if draft.answer is None or not draft.text:
                continue
            bench.write(
                {
                    "id": draft.product,
                    "question": asked.row["id"],
                    "person": asked.person.id,
                    "strategy": draft.strategy,
                    "direction": draft.direction,
                    "given": draft.given,
                    "masked": list(draft.told.masked) if draft.told and draft.strategy == A2 else [],
                    "model": bench.pool_names[draft.maker],
                    "maker": draft.answer.maker,
                    "parent": draft.parent.product if draft.parent else None,
                    "written_for": draft.meant_for.id,
                    "text": draft.text,
                }
            )
            bench.write(draft.answer.as_product(), "products")

    def card(self, bench: Bench) -> str:
        rows = list(bench.read_rows("answers"))
        texts: dict[str, list[str]] = {}
        for row in rows:
            texts.setdefault("-".join(filter(None, [row["strategy"], row["direction"]])), []).append(
                row["text"]
            )
        masked = sum(len(row["masked"]) for row in rows) / max(1, len(texts.get(A2, ())))
        means = (
            (name, len(mine), f"{sum(map(len, mine)) / len(mine):,.0f}")
            for name, mine in sorted(texts.items())
        )
        return "\n".join(
            [
                "## Answers",
                "",
                f"For A2 {masked:.1f} fields of the profile were masked on average; `steps/answers/` says which.",
                "",
                *table(("strategy", "answers", "mean characters"), means),
            ]
        )
