"""General questions: the pool made ready, given to the people they are nearest to, and judged on whether they could be theirs.

A question of the pool must be open by rule and by verdict, say what no other says, and has a category; benchmark and training
people never share one. Everything of the pool that may be used is in memory, a few thousand questions at most.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from personafit._errors import UserError
from personafit._hashing import draw, hash_text
from personafit.factory.asking import Target, verdict
from personafit.factory.bench import Bench, RequestBatch
from personafit.factory.duplicates import NearDuplicates
from personafit.factory.people.drawing import INTERESTS, LEAVES, VALUES
from personafit.factory.prompts import PROMPTS
from personafit.factory.questions.blocks import (
    BENCHMARK_SPLIT,
    DROPPED,
    ENOUGH,
    GENERAL,
    REVIEWER,
    TRAINING_SPLIT,
    BlockMember,
    Keeping,
)
from personafit.factory.questions.rules import OPEN, kind_of, leaks, unfit_for_pool
from personafit.factory.questions.scenarios import OWN, PoolQuestion, Topics, read_pool
from personafit.factory.questions.specific import LEAK
from personafit.factory.quota import Quota
from personafit.factory.sections import QuestionsSection
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
    """The questions for people of one language and split."""

    entries: tuple[PoolQuestion, ...]
    vectors: Vectors


async def shelves(
    bench: Bench,
    section: QuestionsSection,
    known: NearDuplicates,
    keeping: Keeping,
    embedder: Embedder,
    topics: Topics,
    people: dict[tuple[str, str], int],
) -> dict[tuple[str, str], Shelf]:
    """What is left of the pool, by language and split; `people` says how many need it."""
    filtering = _Filtering(bench, section, keeping, {language for language, _ in people})
    entries = filtering.by_rule()
    entries = filtering.new(entries, known)
    entries = await filtering.judged(entries)
    entries = _categorised(entries, topics)
    found = {}
    for (language, split), count in people.items():
        mine = tuple(
            one for one in entries if one.language == language and _split(bench, people, one) == split
        )
        if len(mine) < section.general or len(mine) * section.reuse < count * section.general:
            raise UserError(filtering.too_few(language, split, len(mine), count))
        found[language, split] = Shelf(mine, embedder.embed([one.text for one in mine]))
    return found


class _Filtering:
    """Takes out what cannot be a general question, and remembers why."""

    def __init__(
        self, bench: Bench, section: QuestionsSection, keeping: Keeping, languages: set[str]
    ) -> None:
        self._bench, self._section, self._keeping, self._languages = bench, section, keeping, languages
        self._reasons: Counter[str] = Counter()
        self._read = 0

    def by_rule(self) -> list[PoolQuestion]:
        """Those no rule takes out, in a seeded order, as many as will be judged."""
        kept: dict[str, PoolQuestion] = {}
        for entry in read_pool([self._bench.config.place(one) for one in self._section.pool]):
            if entry.language not in self._languages:
                continue
            self._read += 1
            reason = unfit_for_pool(entry.text, entry.language, self._section.shortest, self._section.longest)
            if self._keeping.review.dropped(entry.source):
                self._out(entry, DROPPED, REVIEWER)
            elif not reason or not self._out(entry, reason, RULE):
                kept.setdefault(entry.text, entry)
        order = sorted(
            kept.values(), key=lambda one: hash_text("pool", str(self._bench.seed), one.source, one.text)
        )
        return order[: self._section.judged]

    def new(self, entries: Sequence[PoolQuestion], known: NearDuplicates) -> list[PoolQuestion]:
        """Those that do not say what another says."""
        twins = known.add([(entry.source, entry.text) for entry in entries])
        return [
            entry
            for entry, twin in zip(entries, twins, strict=True)
            if twin is None or not self._out(entry, f"near-duplicate of: {twin}", LIKENESS)
        ]

    async def judged(self, entries: Sequence[PoolQuestion]) -> list[PoolQuestion]:
        """Those the checker finds open; a small model is asked only where the rule cannot tell."""
        checker, kept = self._bench.model("checker"), []
        sure = [self._section.asks == "short" and kind_of(entry.text) == OPEN for entry in entries]
        asked = [entry for entry, known in zip(entries, sure, strict=True) if not known]
        answers = await self._bench.ask(RequestBatch(checker, lambda: _openness(asked), len(asked), "pool"))
        for entry, known in zip(entries, sure, strict=True):
            answer = None if known else next(answers)
            reason = ""
            if answer is not None and answer.text is None:
                reason = f"could not be judged: {answer.reason}"
            elif answer is not None and answer.text is not None:
                reason = NOT_OPEN.get(answer.text, "")
            if reason:
                self._keeping.queue(entry.source, "", entry.text, reason)
            if not reason or not self._out(entry, reason, checker.name):
                kept.append(entry)
        return kept

    def too_few(self, language: str, split: str, left: int, people: int) -> str:
        """The sentence for a pool that cannot fill the quota."""
        section, place = self._section, self._bench.config.place
        named = ", ".join(str(place(one)) for one in section.pool) or "our own pool"
        if not self._read:
            return f"{named}: there is no question in '{language}' in it; add some, or set general = 0 in [questions]."
        most = self._reasons.most_common(1)
        why = f" (most often out: {most[0][0]})" if most else ""
        return (
            f"{named}: {left} of {self._read:,} questions are open ones in '{language}' for {split} people{why}, and general = "
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


def _openness(entries: Sequence[PoolQuestion]) -> Iterator[Target]:
    for entry in entries:
        yield verdict(
            f"pool/{entry.source}",
            OPENNESS,
            entry.language,
            {"question": entry.text},
            KINDS,
            parents=(entry.source,),
        )


def _split(bench: Bench, people: dict[tuple[str, str], int], entry: PoolQuestion) -> str:
    """Whose a question is: benchmark and training people never share one."""
    counts = {split: count for (language, split), count in people.items() if language == entry.language}
    place = draw("pool-split", bench.seed, entry.text, among=sum(counts.values()))
    return BENCHMARK_SPLIT if place < counts.get(BENCHMARK_SPLIT, 0) else TRAINING_SPLIT


def _categorised(entries: Sequence[PoolQuestion], topics: Topics) -> list[PoolQuestion]:
    """Each with a category and scenario: its own, or those of the nearest of our questions."""
    found = []
    for entry in entries:
        if not entry.scenario:
            near = topics.nearest([entry.text], entry.language)[0]
            best = next(one for one in near if entry.category in ("", one.category))
            entry = replace(entry, category=best.category, scenario=best.name)
        found.append(entry)
    return found


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
        shelves: dict[tuple[str, str], Shelf],
        people: dict[tuple[str, str], int],
        embedder: Embedder,
        keeping: Keeping,
    ) -> None:
        self._bench, self._section, self._shelves = bench, section, shelves
        self._embedder, self._keeping = embedder, keeping
        self._waiting = dict(people)
        """People of each shelf whose turn has not come."""
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
                    self._waiting[_shelf_name(member)] -= 1
                missing = self._section.general - held[member.place]
                matches += self._next(member, rankings[member.place], ceil(missing * share))
            if not matches:
                raise UserError(
                    f"general questions: {quota.kept:,} of {quota.wanted:,} could be matched, then nothing was left of the pool "
                    f"(most often: {max(quota.reasons, key=lambda one: quota.reasons[one], default='used up')}); add questions to "
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
        name = _shelf_name(member)
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

    def _enough_left(self, name: tuple[str, str], places: list[int]) -> bool:
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
            reason, by = "", checker.name
            if answer.text is None:
                reason = f"could not be judged: {answer.reason}"
            elif answer.text in MISMATCHES:
                reason = MISMATCHES[answer.text]
            if told := next(leaks(match.entry.text, match.member.person), None):
                reason, by = f"gives away: {told}", LEAK
            if review.kept(match.key):
                reason = ""
            elif review.dropped(match.key):
                reason, by = DROPPED, REVIEWER
            if not reason and held[match.member.place] >= self._section.general:
                reason = ENOUGH
            if reason:
                self._free[_shelf_name(match.member)][match.place] += 1
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
        return self._shelves[_shelf_name(member)]


def _shelf_name(member: BlockMember) -> tuple[str, str]:
    return member.person.language, member.split


def _about(member: BlockMember) -> str:
    said = facet_values(select_facets(member.person.facets, ABOUT))
    return " ".join([*said, *(one.text for one in member.person.attributes)])


def _match(match: Match) -> Target:
    person = match.member.person
    return verdict(
        match.key,
        MATCH,
        person.language,
        {"person": render_person(person), "question": match.entry.text},
        KINDS,
        about=person.id,
        parents=(person.id, match.entry.source),
    )
