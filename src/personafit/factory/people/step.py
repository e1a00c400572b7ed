"""The people step: candidates drawn, put into words, screened, balanced, and queued for review, until there are enough."""

from collections.abc import Iterator
from typing import Any

from personafit._hashing import hash_text
from personafit.factory.asking import Generation, Target, chosen
from personafit.factory.bench import Bench, RequestBatch
from personafit.factory.people.balance import PeopleBalancer
from personafit.factory.people.card import people_card
from personafit.factory.people.config import PeopleSection
from personafit.factory.people.drawing import CandidateSampler
from personafit.factory.people.elements import elements_text
from personafit.factory.people.prompts import FIELD, LETTERS, PROFILE, SCREEN, VERDICTS
from personafit.factory.people.rules import contradictions
from personafit.factory.people.seeds import read_seeds
from personafit.factory.people.wording import TEMPLATE, ProfileWriter
from personafit.factory.quota import Quota
from personafit.factory.review import Review
from personafit.factory.rows import Scratch
from personafit.factory.step import BuildStep, ExpectedAsks
from personafit.people import Person, render_person
from personafit.store import Product

TRAINING = "training_people"
RULES, BALANCE, PEOPLE = "rule:people-1", "rule:balance-1", "a person"


class PeopleStep(BuildStep):
    """Simulated people from seeds and drawn combinations."""

    name = "people"
    section = PeopleSection
    version = 2
    roles = ("writer", "checker")
    prompts = (PROFILE, FIELD, SCREEN)

    def outside(self, bench: Bench) -> Any:
        """Our elements, the seeds, and what people decided about earlier candidates."""
        return [
            [hash_text(elements_text(language)) for language in bench.config.build.languages],
            [seed.version for seed in _seeds(bench)],
            Review(bench.out, self.name).decisions,
        ]

    def expected(self, bench: Bench) -> Iterator[ExpectedAsks]:
        """One or several asks for words, one for screening."""
        section = bench.config.section(PeopleSection)
        if section.fields:
            whole = section.asks == "whole"
            calls = section.total * (1 if whole else len(section.fields))
            size = (700, 45 * len(section.fields)) if whole else (120, 40)
            yield ExpectedAsks("words", bench.model("writer"), calls, *size)
        yield ExpectedAsks("screening", bench.model("checker"), section.total, 550, 1)

    async def make(self, bench: Bench) -> None:
        """Rounds of candidates until the quota is full."""
        section = bench.config.section(PeopleSection)
        drawing = CandidateSampler(_seeds(bench), bench.config.build.languages, bench.seed, bench.take)
        quota, review = Quota("people", section.total), Review(bench.out, self.name)
        wording, balance = ProfileWriter(bench, section, drawing), PeopleBalancer(section)
        queue = bench.scratch("queue")
        while numbers := quota.round():
            drawn = bench.scratch("drawn")
            for candidate in map(drawing.draw, numbers):
                fault = next(contradictions(candidate), None)
                if fault is None or review.kept(candidate.id):
                    drawn.add({"number": candidate.number})
                else:
                    quota.reject("the combination contradicts itself")
                    bench.reject(candidate.id, fault, render_person(candidate.person()), by=RULES)
            profiles = await wording.put(drawn)
            drawn.close()
            passed = await self._screened(bench, profiles, quota, review, queue)
            profiles.close()
            for row, reason in balance.judged(passed):
                self._settle(bench, row, reason, quota, queue)
            passed.close()
        review.write(queue)

    async def _screened(
        self, bench: Bench, profiles: Scratch, quota: Quota, review: Review, queue: Scratch
    ) -> Scratch:
        """Round 1: the checker says what does not hold, a person's word counts more."""
        checker, passed = bench.model("checker"), bench.scratch("passed")
        answers = await bench.ask(
            RequestBatch(checker, lambda: _screenings(profiles), profiles.count, "screening")
        )
        for row, answer in zip(profiles, answers, strict=True):
            person, reason, by = row["person"]["id"], _reason(answer), checker.name
            if review.dropped(person):
                reason, by = "dropped in review", PEOPLE
            elif reason and review.kept(person):
                reason = ""
            if answer.product:
                row["parents"].append(answer.product)
            if not reason:
                passed.add(row)
                continue
            quota.reject(reason.partition(":")[0])
            bench.reject(person, reason, row["text"], by=by)
            queue.add(_queued(row, reason))
        return passed

    def _settle(self, bench: Bench, row: dict[str, Any], reason: str, quota: Quota, queue: Scratch) -> None:
        """Keep a person, or say why not."""
        person = row["person"]["id"]
        if not reason and quota.full:
            reason = "not needed: there are enough"
        if reason:
            quota.reject(reason.partition(" '")[0])
            bench.reject(person, reason, row["text"], by=BALANCE)
            return
        training = quota.kept >= bench.config.section(PeopleSection).quota
        quota.keep()
        makers = row["makers"]
        written = [maker for maker in makers.values() if maker != TEMPLATE]
        product = Product(
            kind="profile",
            text=row["text"],
            maker=written[0] if written else TEMPLATE,
            about=person,
            parents=row["parents"],
        )
        bench.add(product)
        if not training:  # the benchmark folder holds what its own items refer to
            bench.write(product, "products")
        bench.write(row["person"], TRAINING if training else None)
        bench.write(
            {"id": person, "profile": product.id, "number": row["number"], "makers": makers}, "lineage"
        )
        queue.add(_queued(row, ""))

    def card(self, bench: Bench) -> str:
        """How many of whom."""
        return people_card(bench)


def _seeds(bench: Bench) -> tuple[Person, ...]:
    path = bench.config.section(PeopleSection).seeds
    return read_seeds(bench.config.place(path) if path else None, list(bench.config.build.languages))


def _screenings(profiles: Scratch) -> Iterator[Target]:
    for row in profiles:
        person = row["person"]["id"]
        yield Target(
            person,
            SCREEN,
            row["person"]["language"],
            {"person": row["text"]},
            kind="verdict",
            read=chosen(LETTERS),
            letters=LETTERS,
            about=person,
            parents=tuple(row["parents"]),
            max_tokens=8,
            temperature=0.0,
        )


def _reason(answer: Generation) -> str:
    if answer.text is None:
        return f"could not be screened: {answer.reason}"
    return VERDICTS.get(answer.text, "")


def _queued(row: dict[str, Any], reason: str) -> dict[str, Any]:
    return {"id": row["person"]["id"], "rejected": reason, "person": row["person"]["facets"]}
