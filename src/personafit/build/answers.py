"""The answers step: to each question some that know the person, some that know little, some that know nothing.

The first answers are by each drawn model, then some of them are written anew. All answers to one question by one model differ in
what the model was told and in nothing else: what bears on the question, or what a draw left unmasked; never the name. Everything
of one block of people is in memory and nothing else.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from math import ceil
from typing import Any

from personafit._errors import UserError
from personafit._hashing import draw, hash_text
from personafit.build.answer_texts import (
    TEMPLATE,
    answer_reader,
    bounds,
    known_of,
    rewrite_reader,
    template_answer,
    template_rewrite,
)
from personafit.build.asking import Generation, Target
from personafit.build.bench import Bench, RequestBatch
from personafit.build.prompts import PROMPTS
from personafit.build.quota import REMEDY
from personafit.build.rows import in_blocks
from personafit.build.sections import FIRST_ANSWERS, AnswersSection, expected_questions
from personafit.build.step import BuildStep, ExpectedAsks, table
from personafit.models.embeddings import Embedder, Vectors, make_embedder
from personafit.people import FacetValue, Person, render_facets
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

    def __init__(self, features: int, embedder: Embedder) -> None:
        self._features, self._embedder = features, embedder
        self._vectors: dict[str, Vectors] = {}

    def forget(self) -> None:
        """Make room for other people."""
        self._vectors = {}

    def told(self, question: str, made_from: Sequence[str], person: Person, *key: str | int) -> AnswerContext:
        """The core fields, and the features nearest to the question; those it was made from come first."""
        known = candidates(person)
        likeness = (
            self._embedded(person.id, [text for _, text in known])
            @ self._embedded(f"? {question}", [question])[0]
        )
        order = sorted(
            range(len(known)), key=lambda place: (known[place][0] not in made_from, -likeness[place], place)
        )
        chosen = [known[place] for place in order[: self._features]]
        core = {path: value for path, value in person.facets.items() if path.partition(".")[0] in CORE}
        lines = [render_facets(core), *(f"- {text}" for _, text in chosen)]
        parents = [person.id, *(name for name, _ in chosen)]
        return AnswerContext(_context("\n".join(filter(None, lines)), BEARING, person.id, parents, *key))

    def _embedded(self, name: str, texts: Sequence[str]) -> Vectors:
        if name not in self._vectors:
            self._vectors[name] = self._embedder.embed(texts)
        return self._vectors[name]


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
ENOUGH_TO_TELL = 10  # first answers by which a model of no use is found out
LEAST_USABLE = 0.2  # of them
ATTEMPTS = 2  # asks for one answer, each with the model told what was wrong once


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
    people = bench.people()

    def groups() -> Iterator[list[PersonQuestion]]:
        for person_id, rows in groupby(bench.read_rows("questions"), key=lambda row: row["person"]):
            person = next(one for one in people if one.id == person_id)
            yield [PersonQuestion(row, person) for row in rows]

    for found in in_blocks(groups(), FIRST, BLOCK):
        yield [asked for group in found for asked in group]


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
            if asked.other is not None:
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
    """Have every model make its own; a draft without a usable reply stays without. Without a model our template answers."""
    pool = bench.pool()
    if not pool:
        for draft in drafts if attempt == 0 else ():
            _from_template(bench, draft, section)
        return
    mine = [[draft for draft in drafts if draft.maker == place] for place in range(len(pool))]
    batches = [
        RequestBatch(model, partial(map, partial(wanted, section, attempt), own), len(own), label)
        for model, own in zip(pool, mine, strict=True)
    ]
    answers = await bench.ask(*batches)
    for draft in (draft for own in mine for draft in own):
        draft.answer = answer = next(answers)
        if answer.text is not None:
            draft.text, draft.product, draft.made_by = answer.text, answer.product, answer.maker


def wanted(section: AnswersSection, attempt: int, draft: AnswerDraft) -> Target:
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
    return Target.for_person(
        draft.meant_for,
        draft.key,
        prompt,
        values,
        "answer",
        read,
        given=draft.given,
        parents=tuple(parents),
        sample=attempt,
        max_tokens=most,
    )


def _from_template(bench: Bench, draft: AnswerDraft, section: AnswersSection) -> None:
    """Our template's answer; where it has none of the right length, the draft stays without."""
    language, key = draft.asked.row["language"], (bench.seed, bench.take, draft.key)
    known = known_of(draft.meant_for, draft.told.text) if draft.told else []
    if draft.parent is None:
        text: str | None = template_answer(language, known, section.words, *key)
    else:
        text = template_rewrite(
            language, draft.parent.text, draft.direction or "", known, section.words, *key
        )
    if text is None:
        bench.reject(draft.key, "no sentence of ours is as long", about=draft.meant_for.id, by=TEMPLATE)
        return
    draft.text, draft.made_by = text, TEMPLATE
    draft.product = hash_text(TEMPLATE, draft.key, text)
    bench.add(_product(draft))


class AnswersStep(BuildStep):
    """A pool of answers to every question."""

    name = "answers"
    after = ("people", "questions")
    uses = ("memories", "features")
    section = AnswersSection
    roles = ("answerers",)
    prompts = (FOR_PERSON, FOR_ANYBODY, BETTER, LESS_PERSONAL, LESS_HELPFUL)

    def expected(self, bench: Bench) -> Iterator[ExpectedAsks]:
        """First answers by each drawn model, then those written anew."""
        section, pool, questions = (
            bench.config.section(AnswersSection),
            bench.pool(),
            expected_questions(bench.config),
        )
        first = questions * min(section.makers, len(pool)) * FIRST_ANSWERS
        again = questions * (section.improved + section.degraded)
        long = round(1.4 * section.words)
        for model in pool:
            yield ExpectedAsks("answers", model, ceil(first / len(pool)), 260, long)
            if again:
                yield ExpectedAsks("rewrites", model, ceil(again / len(pool)), 260 + long, long)

    async def make(self, bench: Bench) -> None:
        """Block after block of people."""
        section = bench.config.section(AnswersSection)
        bearing = Bearing(section.features, make_embedder())
        seed, proven = (bench.seed, bench.take), False
        for block in blocks(bench):
            first_drafts(block, section, max(1, len(bench.pool())), bearing, seed)
            bearing.forget()
            drafts = [draft for asked in block for draft in asked.drafts]
            for told in {draft.given: draft.told for draft in drafts}.values():
                if told is not None:
                    bench.add(told.product)
                    bench.write(told.product, "products")
            await ask(bench, drafts, section, "answers")
            proven = proven or _prove(bench, drafts)
            await self._again(bench, section, drafts)
            again = rewrite_drafts(block, section, seed)
            await ask(bench, again, section, "rewrites")
            await self._again(bench, section, again)
            for asked in block:
                self._write(bench, asked)

    async def _again(self, bench: Bench, section: AnswersSection, drafts: list[AnswerDraft]) -> None:
        """Ask anew for what could not be used; then say why it could not be."""
        for attempt in range(1, ATTEMPTS):
            await ask(bench, [draft for draft in drafts if not draft.made_by], section, "asked anew", attempt)
        for draft in drafts:
            if not draft.made_by and draft.answer is not None:
                by = bench.pool()[draft.maker].name
                bench.reject(draft.key, draft.answer.reason, about=draft.meant_for.id, by=by)

    def _write(self, bench: Bench, asked: PersonQuestion) -> None:
        names = [model.name for model in bench.pool()] or [TEMPLATE]
        for draft in asked.drafts:
            if not draft.made_by:
                continue
            row: dict[str, Any] = {
                "id": draft.product,
                "question": asked.row["id"],
                "person": asked.person.id,
                "strategy": draft.strategy,
                "direction": draft.direction,
                "given": draft.given,
                "masked": list(draft.told.masked) if draft.told and draft.strategy == A2 else [],
                "model": names[draft.maker],
                "maker": draft.made_by,
                "parent": draft.parent.product if draft.parent else None,
                "written_for": draft.meant_for.id,
                "text": draft.text,
            }
            bench.write(row)
            bench.write(_product(draft), "products")

    def card(self, bench: Bench) -> str:
        """How many by which strategy and model, how long, and what was masked."""
        kinds: Counter[str] = Counter()
        lengths: Counter[str] = Counter()
        by: Counter[str] = Counter()
        ways: Counter[str] = Counter()
        masked = 0
        for row in bench.read_rows("answers"):
            strategy = row["strategy"]
            kinds[strategy] += 1
            lengths[strategy] += len(row["text"])
            masked += len(row.get("masked", ()))
            by[TEMPLATE if row["maker"] == TEMPLATE else row["model"]] += 1
            if row.get("direction"):
                ways[row["direction"]] += 1
        lines = [
            "## Answers",
            "",
            f"{kinds.total():,} answers: {_listed(by)}. For A2 {masked / max(1, kinds['A2']):.1f} fields of the profile were "
            f"masked on average; `steps/answers/` says which. Written anew: {_listed(ways) or 'none'}.",
            "",
        ]
        means = ((name, count, f"{lengths[name] / count:,.0f}") for name, count in sorted(kinds.items()))
        lines += table(("strategy", "answers", "mean characters"), means)
        if by[TEMPLATE]:
            lines += [
                "",
                f"{by[TEMPLATE]:,} of them are put together by our template ({TEMPLATE}), which stands in for a model; they show "
                "the line and not what a model can do.",
            ]
        if reasons := bench.reasons(",").most_common(12):
            lines += ["", *table(("rejected because", "answers"), reasons)]
        return "\n".join(lines)


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items()))


def _product(draft: AnswerDraft) -> Product:
    return Product(
        id=draft.product,
        kind="answer",
        text=draft.text,
        maker=draft.made_by,
        given=draft.given,
        about=draft.meant_for.id,
        parents=[draft.asked.row["id"], *([draft.parent.product] if draft.parent else [])],
    )


def _prove(bench: Bench, drafts: Sequence[AnswerDraft]) -> bool:
    """Stop at once where a model's answers are of no use, or all of them the same; True once that is known."""
    pool = bench.pool()
    for place, model in enumerate(pool):
        mine = [draft for draft in drafts if draft.maker == place]
        usable = [draft.text for draft in mine if draft.made_by]
        if len(mine) < ENOUGH_TO_TELL:
            continue
        if len(usable) < LEAST_USABLE * len(mine):
            reasons = Counter(draft.answer.reason for draft in mine if draft.answer and not draft.made_by)
            raise UserError(
                f"answers: of the first {len(mine):,} by {model.name} {len(usable):,} could be used (most often: "
                f"{reasons.most_common(1)[0][0]}); {REMEDY}.",
                code=1,
            )
        if len(set(usable)) == 1:
            raise UserError(
                f"answers: {model.name} gives one and the same answer to everything; name another model in [models].",
                code=1,
            )
    return len(drafts) >= ENOUGH_TO_TELL
