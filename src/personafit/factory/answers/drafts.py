"""Answers to a few people's questions: the first ones by each drawn model, then some of them written anew.

Everything of one block of people is in memory and nothing else. All answers to one question by one model differ in what the
model was told and in nothing else: what bears on the question, or what a draw left unmasked; never the name.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from personafit._hashing import draw, hash_text
from personafit.factory.answers.texts import answer_reader, bounds, rewrite_reader
from personafit.factory.asking import Generation, Target
from personafit.factory.bench import Bench, RequestBatch
from personafit.factory.prompts import PROMPTS
from personafit.factory.questions.blocks import splits_of
from personafit.factory.rows import in_blocks
from personafit.factory.sections import AnswersSection, QuestionsSection
from personafit.models.embeddings import Embedder, Vectors
from personafit.people import FacetValue, Person, render_facets
from personafit.raters.text import stems
from personafit.store import Product

NAME = "Name"
CORE = ("Demographics", "Personality")
BEARING, MASKED = "rule:bearing-1", "rule:masked-1"


@dataclass(frozen=True)
class AnswerContext:
    """What the answering model is told about the person, and what was left out."""

    product: Product
    masked: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """In words."""
        return self.product.text


def candidates(person: Person) -> list[tuple[str, str]]:
    """What may bear on a question besides the core, as (id or path, text): inferred features, then preferences."""
    inferred = [(one.id, one.text) for one in person.attributes]
    preferred = [
        (path, "; ".join(value) if isinstance(value, list) else str(value))
        for path, value in person.facets.items()
        if path != NAME and path.partition(".")[0] not in CORE
    ]
    return inferred + preferred


class Bearing:
    """Says what of a person bears on a question; remembers the vectors of a few people."""

    def __init__(self, section: AnswersSection, embedder: Embedder | None) -> None:
        self._features = section.features
        self._embedder = embedder
        self._vectors: dict[str, Vectors] = {}

    def forget(self) -> None:
        """Make room for other people."""
        self._vectors = {}

    def told(self, question: str, made_from: Sequence[str], person: Person, *key: str | int) -> AnswerContext:
        """The core fields, and the features nearest to the question; those it was made from come first."""
        known = candidates(person)
        likeness = self._likeness(question, person.id, [text for _, text in known])
        order = sorted(
            range(len(known)), key=lambda place: (known[place][0] not in made_from, -likeness[place], place)
        )
        chosen = [known[place] for place in order[: self._features]]
        core = {path: value for path, value in person.facets.items() if path.partition(".")[0] in CORE}
        lines = [render_facets(core), *(f"- {text}" for _, text in chosen)]
        parents = [person.id, *(name for name, _ in chosen)]
        return AnswerContext(_context("\n".join(filter(None, lines)), BEARING, person.id, parents, *key))

    def _likeness(self, question: str, person: str, texts: Sequence[str]) -> list[float]:
        if self._embedder is None:
            asked = set(stems(question))
            words = [set(stems(text)) for text in texts]
            return [len(asked & own) / max(1, len(own)) for own in words]
        for name, said in ((person, texts), (f"? {question}", [question])):
            if name not in self._vectors:
                self._vectors[name] = self._embedder.embed(said)
        return [float(one) for one in self._vectors[person] @ self._vectors[f"? {question}"][0]]


def mostly_masked(person: Person, share: float, *key: str | int) -> AnswerContext:
    """What a draw leaves of the profile when so much of it is masked; at least one leaf stays."""
    paths = [path for path in person.facets if path != NAME]
    count = min(round(share * len(paths)), max(0, len(paths) - 1))
    drawn = sorted(paths, key=lambda path: draw("mask", *key, person.id, path, among=2**63))
    hidden = set(drawn[:count])
    left: Mapping[str, FacetValue] = {
        path: value for path, value in person.facets.items() if path not in hidden and path != NAME
    }
    masked = tuple(path for path in paths if path in hidden)
    return AnswerContext(_context(render_facets(left), MASKED, person.id, [person.id], *key), masked)


def _context(text: str, maker: str, person: str, parents: list[str], *key: str | int) -> Product:
    """A product of this question's own, though another question may have left the same words."""
    own = hash_text("told", maker, person, *map(str, key), text)
    return Product(id=own, kind="context", text=text, maker=maker, about=person, parents=parents)


FOR_PERSON = PROMPTS["answers.person"]
FOR_ANYBODY = PROMPTS["answers.anybody"]
BETTER = PROMPTS["answers.better"]
LESS_PERSONAL = PROMPTS["answers.less-personal"]
LESS_HELPFUL = PROMPTS["answers.less-helpful"]
A1, A2, A3, WRONG, IMPROVED, DEGRADED = "A1", "A2", "A3", "wrong-person", "improved", "degraded"
DIRECTIONS = {"better": BETTER, "less-personal": LESS_PERSONAL, "less-helpful": LESS_HELPFUL}
WORSE = ("less-personal", "less-helpful")
FIRST, BLOCK = 8, 50  # people at a time


@dataclass
class PersonQuestion:
    """A question with the person who asks it and the drafts of its answers."""

    row: dict[str, Any]
    person: Person
    other: Person | None = None
    """For whom the answer that does not fit is written; None where nobody else is at hand."""
    makers: tuple[int, ...] = ()
    """Which models of the pool answer."""
    drafts: list["AnswerDraft"] = field(default_factory=list)


@dataclass
class AnswerDraft:
    """An answer to be generated: its question, strategy and model, and once it is there its text."""

    asked: PersonQuestion
    strategy: str
    maker: int
    told: AnswerContext | None = None
    direction: str | None = None
    parent: "AnswerDraft | None" = None
    number: int = 0
    answer: Generation | None = None
    text: str = ""
    product: str = ""
    made_by: str = ""
    """Fingerprint of the maker, or our template's name; empty while there is no answer."""

    @property
    def key(self) -> str:
        """Names it within the step."""
        return f"{self.asked.row['id']}/{self.strategy}{self.number or ''}/{self.maker}"

    @property
    def meant_for(self) -> Person:
        """Whom it is written for."""
        other = self.asked.other
        return other if self.strategy == WRONG and other is not None else self.asked.person

    @property
    def given(self) -> str | None:
        """What the maker was told, as a product."""
        return self.told.product.id if self.told else None


def blocks(bench: Bench) -> Iterator[list[PersonQuestion]]:
    """All questions, some people's at a time; both streams are in the order of people."""
    for found in in_blocks(_groups(bench), FIRST, BLOCK):
        yield [asked for group in found for asked in group]


def _groups(bench: Bench) -> Iterator[list[PersonQuestion]]:
    rows = bench.read_rows("questions")
    row = next(rows, None)
    for stream in splits_of(bench.config.section(QuestionsSection)).values():
        for person in bench.people(stream):
            mine = []
            while row is not None and row["person"] == person.id:
                mine.append(PersonQuestion(row, person))
                row = next(rows, None)
            if mine:
                yield mine
    if row is not None:
        raise RuntimeError(f"the question {row['id']} is not in the order of people")


def first_drafts(
    block: Sequence[PersonQuestion],
    section: AnswersSection,
    pool: int,
    bearing: Bearing,
    seed: tuple[str | int, ...],
) -> None:
    """A1, A2, A3 and one for another person, by each drawn model."""
    people = list({asked.person.id: asked.person for asked in block}.values())
    for asked in block:
        row, person = asked.row, asked.person
        key = (*seed, "answers", row["id"])
        others = [one for one in people if one.language == person.language and one.id != person.id]
        asked.other = others[draw(*key, "other", among=len(others))] if others else None
        order = sorted(range(pool), key=lambda place: draw(*key, "maker", place, among=2**63))
        asked.makers = tuple(sorted(order[: section.makers]))
        near = bearing.told(row["text"], row.get("features", ()), person, *key)
        masked = mostly_masked(person, section.masked, *key)
        for maker in asked.makers:
            asked.drafts += [
                AnswerDraft(asked, A1, maker, near),
                AnswerDraft(asked, A2, maker, masked),
                AnswerDraft(asked, A3, maker),
            ]
            if section.wrong_person and asked.other is not None:
                far = bearing.told(row["text"], (), asked.other, *key)
                asked.drafts.append(AnswerDraft(asked, WRONG, maker, far))


def rewrite_drafts(
    block: Sequence[PersonQuestion], section: AnswersSection, seed: tuple[str | int, ...]
) -> list[AnswerDraft]:
    """For each question some answers to be improved, of those that know little, and some degraded, of those that know more."""
    found = []
    for asked in block:
        made = [draft for draft in asked.drafts if draft.made_by]
        near = next((draft.told for draft in asked.drafts if draft.strategy == A1), None)
        for strategy, count, among in (
            (IMPROVED, section.improved, (A2, A3)),
            (DEGRADED, section.degraded, (A1, A2)),
        ):
            parents = [draft for draft in made if draft.strategy in among]
            key = (*seed, strategy, asked.row["id"])
            parents.sort(key=lambda one: draw(*key, one.key, among=2**63))
            for number, parent in enumerate(parents[:count]):
                way = "better" if strategy == IMPROVED else WORSE[draw(*key, number, "way", among=2)]
                told = near if strategy == IMPROVED else None
                asked.drafts.append(AnswerDraft(asked, strategy, parent.maker, told, way, parent, number))
                found.append(asked.drafts[-1])
    return found


async def ask(
    bench: Bench, drafts: Sequence[AnswerDraft], section: AnswersSection, label: str, attempt: int = 0
) -> None:
    """Have every model make its own; a draft without a usable reply stays without."""
    pool = bench.pool()
    mine = [[draft for draft in drafts if draft.maker == place] for place in range(len(pool))]
    batches = [
        RequestBatch(model, _wanted_by(own, section, attempt), len(own), label)
        for model, own in zip(pool, mine, strict=True)
    ]
    answers = await bench.ask(*batches)
    for draft in (draft for own in mine for draft in own):
        draft.answer = answer = next(answers)
        if answer.text is not None:
            draft.text, draft.product, draft.made_by = answer.text, answer.product, answer.maker


def _wanted_by(
    drafts: Sequence[AnswerDraft], section: AnswersSection, attempt: int
) -> Callable[[], Iterator[Target]]:
    return lambda: (wanted(draft, section, attempt) for draft in drafts)


def wanted(draft: AnswerDraft, section: AnswersSection, attempt: int) -> Target:
    """What is asked of the model for a draft."""
    row, people = draft.asked.row, (draft.asked.person, draft.meant_for)
    values: dict[str, object] = {"question": row["text"], "words": section.words}
    prompt, read = FOR_ANYBODY, answer_reader(people, section.words)
    parents, most = [row["id"]], round(2.2 * section.words) + 24
    if draft.told is not None:
        prompt, values["told"] = FOR_PERSON, draft.told.text
    if draft.parent is not None:
        before = draft.parent.text
        prompt, read = DIRECTIONS[draft.direction or ""], rewrite_reader(people, before)
        values |= {"answer": before, **dict(zip(("least", "most"), bounds(before), strict=True))}
        parents, most = [row["id"], draft.parent.product], len(before) + 24
    return Target(
        draft.key,
        prompt,
        row["language"],
        values,
        kind="answer",
        read=read,
        about=draft.meant_for.id,
        given=draft.given,
        parents=tuple(parents),
        sample=attempt,
        max_tokens=most,
    )
