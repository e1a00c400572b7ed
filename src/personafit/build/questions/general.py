"""General questions: the pool made ready, given to the people they are nearest to, and judged on whether they could be theirs.

A question of the pool must be open by rule and by verdict, say what no other says, and has a category. Everything of the pool that may be used is in memory, a few thousand questions at most.
"""

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.build.asking import Target, verdict
from personafit.build.bench import Bench, RequestBatch
from personafit.build.candidates import INTERESTS, LEAVES, VALUES
from personafit.build.duplicates import NearDuplicates
from personafit.build.prompts import PROMPTS
from personafit.build.questions.blocks import DROPPED, ENOUGH, GENERAL, BlockMember, Keeping
from personafit.build.questions.rules import leaks, unfit_for_pool
from personafit.build.questions.scenarios import OWN, PoolQuestion, Topics, read_pool
from personafit.build.questions.specific import LEAK
from personafit.build.quota import Quota
from personafit.build.rows import REVIEWER
from personafit.build.sections import QuestionsSection
from personafit.models.embeddings import Embedder, Vectors
from personafit.people import facet_values, render_person, select_facets
from personafit.store import Product

OPENNESS = PROMPTS["questions.open"]
KINDS = ("A", "B", "C")
NOT_OPEN = {"B": "has one right answer", "C": "cannot be understood by itself"}

MATCH = PROMPTS["questions.match"]
MISMATCHES = {"B": "has little to do with the person", "C": "goes against what is known about the person"}
RULE, LIKENESS = "rule:open-1", "rule:near-duplicates"


@dataclass(frozen=True)
class Shelf:
    """The questions for people of one language."""

    entries: tuple[PoolQuestion, ...]
    vectors: Vectors


class PoolFilter:
    """Takes out what cannot be a general question, and says why."""

    def __init__(self, bench: Bench, section: QuestionsSection, keeping: Keeping) -> None:
        self._bench, self._section, self._keeping = bench, section, keeping
        self._reasons: Counter[str] = Counter()
        self._read = 0

    async def shelves(
        self, people: Mapping[str, int], known: NearDuplicates, embedder: Embedder
    ) -> dict[str, Shelf]:
        """What is left of the pool, by language; `people` says how many need it."""
        entries = self._by_rule(people)
        twins = known.add([(entry.source, entry.text) for entry in entries])
        entries = [
            entry
            for entry, twin in zip(entries, twins, strict=True)
            if twin is None or not self._out(entry, f"near-duplicate of: {twin}", LIKENESS)
        ]
        entries, topics = await self._judged(entries), Topics(embedder)
        found = {}
        for language, count in people.items():
            mine = tuple(_categorised(one, topics) for one in entries if one.language == language)
            if (
                len(mine) < self._section.general
                or len(mine) * self._section.reuse < count * self._section.general
            ):
                raise UserError(self._too_few(language, len(mine), count))
            found[language] = Shelf(mine, embedder.embed([one.text for one in mine]))
        return found

    def _by_rule(self, languages: Container[str]) -> list[PoolQuestion]:
        """Those no rule takes out, in a seeded order, as many as will be judged."""
        kept: dict[str, PoolQuestion] = {}
        for entry in read_pool([self._bench.config.place(one) for one in self._section.pool]):
            if entry.language not in languages:
                continue
            self._read += 1
            reason = unfit_for_pool(entry.text, entry.language)
            if self._keeping.review.dropped(entry.source):
                self._out(entry, DROPPED, REVIEWER)
            elif not reason or not self._out(entry, reason, RULE):
                kept.setdefault(entry.text, entry)
        order = sorted(
            kept.values(), key=lambda one: hash_text("pool", str(self._bench.seed), one.source, one.text)
        )
        return order[: self._section.judged]

    async def _judged(self, entries: Sequence[PoolQuestion]) -> list[PoolQuestion]:
        """Those the checker finds open."""
        checker, kept = self._bench.model("checker"), []
        answers = await self._bench.ask(
            RequestBatch(checker, lambda: map(_openness, entries), len(entries), "pool")
        )
        for entry, answer in zip(entries, answers, strict=True):
            reason = NOT_OPEN.get(answer.text or "", "")
            if answer.text is None:
                reason = f"could not be judged: {answer.reason}"
            if reason:
                self._keeping.queue(entry.source, "", entry.text, reason)
            if not reason or not self._out(entry, reason, self._bench.name("checker")):
                kept.append(entry)
        return kept

    def _too_few(self, language: str, left: int, people: int) -> str:
        """The sentence for a pool that cannot fill the quota."""
        section, place = self._section, self._bench.config.place
        named = ", ".join(str(place(one)) for one in section.pool) or "our own pool"
        if not self._read:
            return f"{named}: there is no question in '{language}' in it; add some, or set general = 0 in [questions]."
        most = self._reasons.most_common(1)
        why = f" (most often out: {most[0][0]})" if most else ""
        return (
            f"{named}: {left} of {self._read:,} questions are open ones in '{language}'{why}, and general = "
            f"{section.general} for {people:,} people with reuse = {section.reuse} needs at least "
            f"{max(section.general, -(-people * section.general // section.reuse)):,}; add questions, or ask for fewer."
        )

    def _out(self, entry: PoolQuestion, reason: str, by: str) -> bool:
        """Whether a question is out for a reason: not if a person wants to keep it."""
        if self._keeping.review.kept(entry.source):
            return False
        self._reasons[reason.partition(":")[0]] += 1
        self._bench.reject(entry.source, reason, entry.text, by=by)
        return True


def maker_of(entry: PoolQuestion) -> str:
    """Who made a question of a pool: the pool."""
    source = entry.source.rpartition("#")[0]
    return source if source == OWN else f"pool:{source}"


def _openness(entry: PoolQuestion) -> Target:
    told: dict[str, object] = {"question": entry.text}
    key = f"pool/{entry.source}"
    return verdict(key, OPENNESS, entry.language, told, KINDS, parents=(entry.source,))


def _categorised(entry: PoolQuestion, topics: Topics) -> PoolQuestion:
    """With a category and scenario: its own, or those of the nearest of our questions."""
    if entry.scenario:
        return entry
    near = topics.nearest(entry.text, entry.language)
    best = next(one for one in near if entry.category in ("", one.category))
    return replace(entry, category=best.category, scenario=best.name)


ABOUT = ("Demographics.Work", "Demographics.Household", *LEAVES, INTERESTS, VALUES)


@dataclass(frozen=True, slots=True)
class Match:
    """A question of the pool that may be a person's."""

    key: str
    member: BlockMember
    place: int
    """On the shelf."""
    entry: PoolQuestion


class General:
    """Gives out questions of the pool, some people at a time."""

    def __init__(
        self,
        bench: Bench,
        section: QuestionsSection,
        shelves: Mapping[str, Shelf],
        people: Mapping[str, int],
        embedder: Embedder,
        keeping: Keeping,
    ) -> None:
        self._bench, self._section, self._shelves = bench, section, shelves
        self._embedder, self._keeping = embedder, keeping
        self._waiting = dict(people)
        """People of each language whose turn has not come."""
        self._free = {
            name: np.full(len(shelf.entries), section.reuse, dtype=np.int64)
            for name, shelf in shelves.items()
        }
        """How many more people may be given each question."""

    async def make(self, block: Sequence[BlockMember]) -> None:
        """As many as are asked for, for everyone of a block."""
        rankings = self._rankings(block)
        held = {member.place: 0 for member in block}
        quota = Quota("general questions", len(block) * self._section.general)
        while numbers := quota.round():
            share = len(numbers) / (quota.wanted - quota.kept)
            matches = []
            for member in block:
                if not numbers.start:
                    self._waiting[member.person.language] -= 1
                missing = self._section.general - held[member.place]
                matches += self._next(member, rankings[member.place], ceil(missing * share))
            if not matches:
                raise UserError(
                    f"general questions: {quota.kept:,} of {quota.wanted:,} could be matched, then nothing was left of the pool "
                    f"(most often: {quota.most_often() or 'used up'}); add questions to "
                    "the pool, or set a smaller general or a larger reuse in [questions].",
                    code=1,
                )
            await self._validated(matches, held, quota)

    def _rankings(self, block: Sequence[BlockMember]) -> dict[int, list[int]]:
        """For each person, places on the shelf from the farthest to the nearest."""
        vectors = self._embedder.embed([_about(member) for member in block])
        return {
            member.place: np.argsort(self._shelf(member).vectors @ vector, kind="stable").tolist()
            for member, vector in zip(block, vectors, strict=True)
        }

    def _next(self, member: BlockMember, ranking: list[int], count: int) -> list[Match]:
        """The nearest that were not tried yet; where that would leave too few for others, those most often to be had."""
        name = member.person.language
        free, shelf = self._free[name], self._shelf(member)
        open_places = [place for place in reversed(ranking) if free[place] > 0]
        chosen_places = open_places[:count]
        if not self._enough_left(name, chosen_places):
            chosen_places = sorted(open_places, key=lambda place: -int(free[place]))[:count]
        free[chosen_places] -= 1
        taken = set(chosen_places)
        ranking[:] = [place for place in ranking if place not in taken]
        take = f"-{self._bench.take}" if self._bench.take else ""
        return [
            Match(
                f"{member.person.id}/g/{shelf.entries[place].source}{take}",
                member,
                place,
                shelf.entries[place],
            )
            for place in chosen_places
        ]

    def _enough_left(self, name: str, places: list[int]) -> bool:
        """Whether everyone who waits could still be given different questions after these are gone."""
        left, waiting = self._free[name].copy(), self._waiting[name]
        left[places] -= 1
        return int(np.minimum(left, waiting).sum()) >= waiting * self._section.general

    async def _validated(self, matches: Sequence[Match], held: dict[int, int], quota: Quota) -> None:
        """Keep those that could be the person's."""
        checker, review = self._bench.model("checker"), self._keeping.review
        answers = await self._bench.ask(
            RequestBatch(checker, lambda: map(_match, matches), len(matches), "matching")
        )
        for match, answer in zip(matches, answers, strict=True):
            reason, by = MISMATCHES.get(answer.text or "", ""), self._bench.name("checker")
            if answer.text is None:
                reason = f"could not be judged: {answer.reason}"
            if told := next(leaks(match.entry.text, match.member.person), None):
                reason, by = f"gives away: {told}", LEAK
            if review.kept(match.key):
                reason = ""
            elif review.dropped(match.key):
                reason, by = DROPPED, REVIEWER
            if not reason and held[match.member.place] >= self._section.general:
                reason = ENOUGH
            if reason:
                self._free[match.member.person.language][match.place] += 1
                self._keeping.reject(quota, match.key, match.member, match.entry.text, reason, by)
                continue
            quota.keep()
            self._keep(match, held[match.member.place], answer.product or None)
            held[match.member.place] += 1

    def _keep(self, match: Match, number: int, verdict: str | None) -> None:
        entry = match.entry
        product = Product(
            kind="question",
            text=entry.text,
            maker=maker_of(entry),
            about=match.member.person.id,
            parents=[entry.source],
        )
        self._bench.add(product)
        row = {"half": GENERAL, "category": entry.category, "scenario": entry.scenario, "features": []}
        self._keeping.keep(match.key, match.member, number, product, row, {"verdict": verdict})

    def _shelf(self, member: BlockMember) -> Shelf:
        return self._shelves[member.person.language]


def _about(member: BlockMember) -> str:
    said = facet_values(select_facets(member.person.facets, ABOUT))
    return " ".join([*said, *(one.text for one in member.person.attributes)])


def _match(match: Match) -> Target:
    person, parents = match.member.person, (match.member.person.id, match.entry.source)
    told: dict[str, object] = {"person": render_person(person), "question": match.entry.text}
    return verdict(match.key, MATCH, person.language, told, KINDS, person.id, parents)
