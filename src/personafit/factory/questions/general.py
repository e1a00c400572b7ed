"""General questions: from the pool to the people they are nearest to, and then a verdict on whether they could be theirs."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from personafit._errors import UserError
from personafit.factory.asking import Target, chosen
from personafit.factory.bench import Bench, RequestBatch
from personafit.factory.people.elements import INTERESTS, LEAVES, VALUES
from personafit.factory.questions.blocks import BlockMember
from personafit.factory.questions.config import QuestionsSection
from personafit.factory.questions.filtering import Shelf, maker_of
from personafit.factory.questions.keeping import DROPPED, ENOUGH, GENERAL, REVIEWER, Keeping
from personafit.factory.questions.leaks import leaks
from personafit.factory.questions.pool import PoolQuestion
from personafit.factory.questions.prompts import KINDS, MATCH, MISMATCHES
from personafit.factory.questions.specific import LEAK
from personafit.factory.quota import Quota
from personafit.models.embeddings import Embedder
from personafit.people import facet_values, render_person, select_facets
from personafit.store import Product

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
            RequestBatch(checker, lambda: map(_wanted, matches), len(matches), "matching")
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
            self._keep(match, held[match.member.place], answer.product)
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


def _wanted(match: Match) -> Target:
    person = match.member.person
    return Target(
        match.key,
        MATCH,
        person.language,
        {"person": render_person(person), "question": match.entry.text},
        kind="verdict",
        read=chosen(KINDS),
        letters=KINDS,
        about=person.id,
        parents=(person.id, match.entry.source),
        max_tokens=8,
        temperature=0.0,
    )
