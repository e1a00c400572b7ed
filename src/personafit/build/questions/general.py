"""General questions: filter the pool, match its questions to the nearest people, and judge whether each person could ask them."""

from collections.abc import Sequence

import numpy as np

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.build.asking import Target, verdict
from personafit.build.bench import Bench, Reasons
from personafit.build.duplicates import NearDuplicates
from personafit.build.given import habits_of
from personafit.build.prompts import PROMPTS
from personafit.build.questions.lists import (
    OWN,
    KeptQuestion,
    PoolQuestion,
    QuestionsSection,
    read_pool,
)
from personafit.build.questions.rules import LEAK, leaks, unfit_for_pool
from personafit.build.review import DROPPED, REVIEWER
from personafit.models.embeddings import Embedder
from personafit.people import Person, facet_values, render_person, select_facets
from personafit.store import Product

OPENNESS = PROMPTS["questions.open"]
NOT_OPEN = {"B": "has one right answer", "C": "cannot be understood by itself"}
MATCH = PROMPTS["questions.match"]
MISMATCHES = {"B": "has little to do with the person", "C": "goes against what is known about the person"}
GENERAL, RULE, LIKENESS = "general", "rule:open-3", "rule:near-duplicates"
ABOUT = ("Demographics.Work", "Demographics.Household", "Demographics.Career_Information")


class GeneralQuestions:
    """Matches pool questions to people: each person gets the nearest, and no question goes to more than `reuse` people."""

    def __init__(
        self, bench: Bench, section: QuestionsSection, embedder: Embedder, dropped: set[str]
    ) -> None:
        self._bench, self._section, self._embedder, self._dropped = bench, section, embedder, dropped
        self._reasons = Reasons()

    async def make(self, people: Sequence[Person], known: NearDuplicates) -> list[KeptQuestion]:
        entries = await self._open_questions({person.language for person in people}, known)
        found = []
        for language in dict.fromkeys(person.language for person in people):
            mine = [person for person in people if person.language == language]
            pool = [entry for entry in entries if entry.language == language]
            wanted, most = len(mine) * self._section.general, len(pool) * min(self._section.reuse, len(mine))
            if len(pool) < self._section.general or most < wanted:
                raise UserError(
                    f"{self._named}: {len(pool)} open questions in '{language}'{self._reasons.because} are too few for general = "
                    f"{self._section.general} for {len(mine):,} people with reuse = {self._section.reuse}; add questions, or ask "
                    "for fewer."
                )
            found += await self._matched(mine, pool)
        return found

    async def _open_questions(self, languages: set[str], known: NearDuplicates) -> list[PoolQuestion]:
        texts: dict[str, PoolQuestion] = {}
        for entry in read_pool([self._bench.config.place(one) for one in self._section.pool]):
            if entry.language not in languages:
                continue
            if entry.source in self._dropped:
                self._out(entry, DROPPED, REVIEWER)
            elif reason := unfit_for_pool(entry.text, entry.language):
                self._out(entry, reason, RULE)
            else:
                texts.setdefault(entry.text, entry)
        seed = str(self._bench.seed)
        order = sorted(texts.values(), key=lambda one: hash_text("pool", seed, one.source, one.text))
        entries = order[: self._section.judged]
        twins = known.add([(entry.source, entry.text) for entry in entries])
        fresh = []
        for entry, twin in zip(entries, twins, strict=True):
            if twin is None:
                fresh.append(entry)
            else:
                self._out(entry, f"near-duplicate: as {twin}", LIKENESS)
        passed, verdicts = [], await self._bench.judge([_openness(one) for one in fresh], NOT_OPEN, "pool")
        for entry, (_, fault) in zip(fresh, verdicts, strict=True):
            if fault:
                self._out(entry, fault, self._bench.name("checker"))
            else:
                passed.append(entry)
        return passed

    async def _matched(self, people: Sequence[Person], pool: Sequence[PoolQuestion]) -> list[KeptQuestion]:
        """Match people to the nearest remaining questions in rounds, until everyone has enough that the checker accepts."""
        free = [self._section.reuse] * len(pool)
        vectors = self._embedder.embed([one.text for one in pool])
        about = self._embedder.embed([_about(person) for person in people])
        nearest = {
            person.id: np.argsort(vectors @ vector, kind="stable")[::-1].tolist()
            for person, vector in zip(people, about, strict=True)
        }
        kept: dict[str, list[KeptQuestion]] = {person.id: [] for person in people}
        while any(len(mine) < self._section.general for mine in kept.values()):
            matches = []
            for person in people:
                places = [place for place in nearest[person.id] if free[place] > 0]
                for place in places[: self._section.general - len(kept[person.id])]:
                    free[place] -= 1
                    nearest[person.id].remove(place)
                    matches.append((person, place))
            if not matches:
                count, wanted = sum(map(len, kept.values())), len(people) * self._section.general
                raise UserError(
                    f"general questions: {count:,} of {wanted:,} could be matched, then nothing was left of {self._named}"
                    f"{self._reasons.because}; add questions, or set a smaller general or a larger reuse in [questions].",
                    code=1,
                )
            targets = [self._match(person, pool[place]) for person, place in matches]
            verdicts = await self._bench.judge(targets, MISMATCHES, "matching")
            for (person, place), (answer, reason) in zip(matches, verdicts, strict=True):
                entry, key, by = pool[place], answer.target.key, self._bench.name("checker")
                if told := next(leaks(entry.text, person), None):
                    reason, by = f"gives away: {told}", LEAK
                if key in self._dropped:
                    reason, by = DROPPED, REVIEWER
                if reason:
                    free[place] += 1
                    self._reasons.reject(reason)
                    self._bench.reject(key, reason, entry.text, about=person.id, by=by)
                else:
                    number = len(kept[person.id])
                    kept[person.id].append(self._kept(key, person, number, entry, answer.product or None))
        return [one for mine in kept.values() for one in mine]

    def _match(self, person: Person, entry: PoolQuestion) -> Target:
        key = f"{person.id}/g/{entry.source}" + (f"-{self._bench.take}" if self._bench.take else "")
        told = {"person": render_person(person), "question": entry.text}
        of = {"about": person.id, "parents": (person.id, entry.source)}
        return verdict(key, MATCH, person.language, told, MISMATCHES, **of)

    def _kept(
        self, key: str, person: Person, number: int, entry: PoolQuestion, verdict: str | None
    ) -> KeptQuestion:
        pool = entry.source.rpartition("#")[0]
        maker = pool if pool == OWN else f"pool:{pool}"
        product = Product(
            kind="question", text=entry.text, maker=maker, about=person.id, parents=[entry.source]
        )
        self._bench.add(product)
        return KeptQuestion(
            key, person, number, product, GENERAL, entry.category, entry.scenario, verdict=verdict
        )

    @property
    def _named(self) -> str:
        return ", ".join(str(self._bench.config.place(one)) for one in self._section.pool) or "our own pool"

    def _out(self, entry: PoolQuestion, reason: str, by: str) -> None:
        self._reasons.reject(reason)
        self._bench.reject(entry.source, reason, entry.text, by=by)


def _openness(entry: PoolQuestion) -> Target:
    told, parents = {"question": entry.text}, (entry.source,)
    return verdict(f"pool/{entry.source}", OPENNESS, entry.language, told, NOT_OPEN, parents=parents)


def _about(person: Person) -> str:
    said = [*facet_values(select_facets(person.facets, ABOUT)), *(text for _, text in habits_of(person))]
    return " ".join([*said, *(one.text for one in person.attributes)])
