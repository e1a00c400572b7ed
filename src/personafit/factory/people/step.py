"""The people step: candidates drawn, put into words, screened, balanced, and queued for review, until there are enough.

No field of work, region, decade of age or interest may crowd out the others, and nobody may be there twice. Counts are all that is
held in memory; near-duplicates are looked for among people of the same language, job, gender and decade, since others differ in
that already.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain
from math import ceil
from typing import Any

from personafit._hashing import hash_text
from personafit.factory.asking import Generation, Target, verdict
from personafit.factory.bench import Bench, RequestBatch
from personafit.factory.duplicates import BlockDuplicates
from personafit.factory.people.drawing import (
    INTEREST,
    CandidateSampler,
    contradictions,
    read_seeds,
)
from personafit.factory.people.wording import (
    FIELD,
    LETTERS,
    PROFILE,
    SCREEN,
    TEMPLATE,
    VERDICTS,
    ProfileWriter,
)
from personafit.factory.quota import Quota
from personafit.factory.rows import Review, Scratch, in_blocks
from personafit.factory.sections import PeopleSection, elements_of
from personafit.factory.step import BuildStep, ExpectedAsks, table
from personafit.people import Person, facet_values, render_person
from personafit.store import Product

CHUNK = 1_000


class PeopleBalancer:
    """Rejects candidates whose group is over its share, and near duplicates."""

    def __init__(self, section: PeopleSection) -> None:
        self._most = max(1, ceil(section.max_share * section.total))
        self._most_interest = max(1, ceil(section.max_interest_share * section.total))
        self._counts: dict[tuple[str, str], int] = {}
        self._duplicates = BlockDuplicates(section.similarity)

    def judged(self, passed: Scratch) -> Iterator[tuple[dict[str, Any], str]]:
        """Every row with the reason why it may not stay, or none; who has a reason counts for nothing later."""
        for chunk in in_blocks(passed, CHUNK, CHUNK):
            yield from self._judge(chunk)

    def _judge(self, chunk: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str]]:
        self._duplicates.offer([(row["block"], row["habits"]) for row in chunk])
        for place, row in enumerate(chunk):
            keys = [(name, value) for name, value in row["kinds"]]
            reason = self._crowded(keys)
            if not reason and (twin := self._duplicates.twin(place, row["person"]["id"])) is not None:
                reason = f"near-duplicate of '{twin}'"
            if not reason:
                for key in keys:
                    self._counts[key] = self._counts.get(key, 0) + 1
            yield row, reason

    def _crowded(self, keys: list[tuple[str, str]]) -> str:
        for key in keys:
            most = self._most_interest if key[0] == INTEREST else self._most
            if self._counts.get(key, 0) >= most:
                return f"enough people with {key[0]} '{key[1]}' already"
        return ""


SHOWN = 12


def _kinds(person: dict[str, Any], known: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    facets, language = person["facets"], person["language"]
    age = int(str(facets["Demographics.Age"])) // 10 * 10
    yield "Language", language
    yield "Age", f"{age}–{age + 9}"
    yield "Gender", str(facets["Demographics.Gender"])
    yield "Field of work", known.get(f"{language}/{facets['Demographics.Work']}", "other")
    yield "Region", known.get(f"{language}/{facets['Demographics.Home']}", "other")
    yield "MBTI", str(facets["Personality.MBTI"])


def _frequent(counts: Counter[str]) -> str:
    """The most frequent values, and how many others there are."""
    order = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    more = [f"{len(order) - SHOWN} more"] if len(order) > SHOWN else []
    return ", ".join([*(f"{value} {count:,}" for value, count in order[:SHOWN]), *more])


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
            [hash_text(known.text) for known in elements_of(bench.config).values()],
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
        drawing = CandidateSampler(_seeds(bench), elements_of(bench.config), bench.seed, bench.take)
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
        counts: dict[str, Counter[str]] = {
            name: Counter() for name in ("Language", "Age", "Gender", "Field of work", "Region", "MBTI")
        }
        known = {
            f"{language}/{one.text}": one.get(kind)
            for language, lists in elements_of(bench.config).items()
            for name, kind in (("jobs", "field"), ("homes", "region"))
            for one in lists.tables[name]
        }
        people = length = facets = 0
        for person in chain(bench.read_rows("people"), bench.read_rows("people", TRAINING)):
            people += 1
            facets += len(person["facets"])
            length += sum(map(len, facet_values(person["facets"])))
            for name, value in _kinds(person, known):
                counts[name][value] += 1
        sentences: Counter[str] = Counter()
        for row in bench.read_rows("people", "lineage"):
            sentences["by template"] += sum(maker == TEMPLATE for maker in row["makers"].values())
            sentences["all"] += len(row["makers"])
        benchmark, training = bench.count("people"), bench.count("people", TRAINING)
        lines = [
            "## People (simulated)",
            "",
            f"{benchmark:,} in the benchmark, {training:,} for training only. Mean profile: {facets / max(1, people):.1f} "
            f"facets, {length / max(1, people):,.0f} characters.",
            "",
            f"Of {sentences['all']:,} sentences about habits {sentences['all'] - sentences['by template']:,} are the writer's "
            f"words and {sentences['by template']:,} those of our template ({TEMPLATE}).",
            "",
            *table(("what", "people"), ((name, _frequent(counter)) for name, counter in counts.items())),
        ]
        return "\n".join(lines)


def _seeds(bench: Bench) -> tuple[Person, ...]:
    path = bench.config.section(PeopleSection).seeds
    return read_seeds(bench.config.place(path) if path else None, list(bench.config.build.languages))


def _screenings(profiles: Scratch) -> Iterator[Target]:
    for row in profiles:
        person = row["person"]["id"]
        yield verdict(
            person,
            SCREEN,
            row["person"]["language"],
            {"person": row["text"]},
            LETTERS,
            about=person,
            parents=tuple(row["parents"]),
        )


def _reason(answer: Generation) -> str:
    if answer.text is None:
        return f"could not be screened: {answer.reason}"
    return VERDICTS.get(answer.text, "")


def _queued(row: dict[str, Any], reason: str) -> dict[str, Any]:
    return {"id": row["person"]["id"], "rejected": reason, "person": row["person"]["facets"]}
