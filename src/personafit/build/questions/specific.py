"""Specific questions: written from a question's features and one of several scenarios, rephrased if they reveal the person, judged,
and deduplicated.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from personafit._hashing import draw, hash_text
from personafit.build.asking import Generation, Target, only_line, unfit, verdict
from personafit.build.bench import Bench, Quota
from personafit.build.duplicates import NearDuplicates
from personafit.build.given import habits_of
from personafit.build.memories import deal
from personafit.build.prompts import PROMPTS
from personafit.build.questions.lists import (
    Example,
    KeptQuestion,
    QuestionsSection,
    Scenario,
    open_examples,
    open_scenarios,
)
from personafit.build.questions.rules import LEAK, leaks, question_reader
from personafit.build.review import DROPPED, REVIEWER
from personafit.people import Person
from personafit.store import Product

WRITE = PROMPTS["questions.write"]
REPHRASE = PROMPTS["questions.rephrase"]
CHECK = PROMPTS["questions.check"]
FAULTS = {
    "B": "stiff or odd",
    "C": "makes no sense",
    "D": "says what is known about the person",
    "E": "off the subject",
}
ATTEMPTS = 20  # drafts of a question, after which it is given up
NAMED = 3  # leaks listed in a rephrasing prompt or rejection
SPECIFIC, LIKENESS = "specific", "rule:near-duplicates"
DRAFT = "draft"  # a product with the number of a scenario before the question
_CHOSEN = re.compile(r"(\d{1,2})\s*[.):：、]\s*(.+)")


@dataclass
class QuestionDraft:
    """An attempt at a specific question: its sampled inputs, and its text once there is one."""

    key: str
    """Identifies the draft in the store, in rejections and in the review queue."""
    person: Person
    number: int
    """Index among the person's specific questions, from 0."""
    category: str
    scenarios: list[Scenario]
    features: list[tuple[str, str]]
    example: Example
    answer: Generation | None = None
    """The latest reply; `text` is the question in it."""
    text: str = ""
    verdict: str | None = None
    occasion: int = 0
    """Index of the scenario the writer chose."""

    def take(self, answer: Generation) -> None:
        """Take a reply: a scenario number and a question, or the question alone if rephrased or from a template."""
        self.answer, self.text = answer, answer.text or ""
        if answer.target.kind == DRAFT:
            number, _, self.text = self.text.partition(". ")
            self.occasion = int(number) - 1

    @property
    def scenario(self) -> Scenario:
        return self.scenarios[self.occasion]

    @property
    def known(self) -> str:
        return "\n".join(f"- {text}" for _, text in self.features)

    @property
    def title(self) -> str:
        return self.scenario.title(self.person.language)

    @property
    def told(self) -> str:
        return "; ".join(list(dict.fromkeys(leaks(self.text, self.person)))[:NAMED])


def category_counts(total: int, shares: Mapping[str, float]) -> dict[str, int]:
    """Return a count per category that matches its share to within one; the remainder goes to the largest remainders."""
    whole = sum(shares.values())
    exact = {name: total * share / whole for name, share in shares.items()}
    counts = {name: int(value) for name, value in exact.items()}
    by_remainder = sorted(exact, key=lambda name: counts[name] - exact[name])
    for name in by_remainder[: total - sum(counts.values())]:
        counts[name] += 1
    return counts


class QuestionSampler:
    """Samples the inputs of each question, deterministically from person, number and attempt."""

    def __init__(self, bench: Bench, section: QuestionsSection, people: Sequence[Person]) -> None:
        self._section, self._seed, self._take = section, bench.seed, bench.take
        self._places = {person.id: place for place, person in enumerate(people)}
        self.scenarios, self._examples = open_scenarios(bench.config), open_examples(bench.config)
        shares = section.shares_of(bench.config)
        self._names = list(shares)
        counts = category_counts(len(people) * section.specific, shares)
        places = np.repeat(
            np.arange(len(self._names), dtype=np.uint16), [counts[name] for name in self._names]
        )
        shuffle = np.random.default_rng(
            int(hash_text("categories", str(bench.seed), str(bench.take))[:16], 16)
        )
        self._categories = shuffle.permutation(places)
        self._inferred: dict[str, list[list[str]]] = {}
        if "memories" in bench.config.sections:
            for row in bench.read_rows("features", "lineage"):
                self._inferred.setdefault(row["person"], []).append(row["features"])

    def draft(self, person: Person, number: int, attempt: int) -> QuestionDraft:
        key = (self._seed, self._take, person.id, number, attempt)
        category = self._names[self._categories[self._places[person.id] * self._section.specific + number]]
        scenarios = sorted(
            self.scenarios.categories[category].scenario,
            key=lambda one: draw("scenario", *key, one.name, among=2**62),
        )
        mine = [one for one in self._examples if one.language == person.language]
        return QuestionDraft(
            key=f"{person.id}/s{number}/{attempt}" + (f"-{self._take}" if self._take else ""),
            person=person,
            number=number,
            category=category,
            scenarios=scenarios[: self._section.offered],
            features=self._features(person, number + attempt * self._section.specific),
            example=mine[draw("example", *key, among=len(mine))],
        )

    def _features(self, person: Person, number: int) -> list[tuple[str, str]]:
        """Return the features inferred for the question, as (id, text), or else habits from the profile, dealt in turn."""
        if inferred := self._inferred.get(person.id):
            texts = {one.id: one.text for one in person.attributes}
            return [(name, texts[name]) for name in inferred[number % len(inferred)]][
                : self._section.features
            ]
        habits, key = habits_of(person), (self._seed, self._take, person.id)
        return [habits[place] for place in deal(len(habits), self._section.features, number, *key)]


def first_ask(draft: QuestionDraft, sampler: QuestionSampler, template: bool) -> Target:
    """Return the target for a question from features, scenarios and an example; without a writer its stand-in is a template question."""
    language, example, among = draft.person.language, draft.example, draft.scenarios
    stand_in = sampler.scenarios.template_question(among[0], language, draft.key) if template else None
    return Target.for_person(
        draft.person,
        draft.key,
        WRITE,
        {
            "example": example.text,
            "example_features": "\n".join(f"- {text}" for text in example.features),
            "example_scenario": example.scenario,
            "features": draft.known,
            "scenarios": "\n".join(f"{n}. {one.title(language)}" for n, one in enumerate(among, 1)),
            "category": sampler.scenarios.categories[draft.category].title(language),
        },
        "question" if template else DRAFT,
        choice_reader(language, len(among), example.text),
        parents=(draft.person.id, example.id),
        max_tokens=140,
        stand_in=stand_in,
    )


def choice_reader(language: str, among: int, example: str = "") -> Callable[[str], str]:
    """Return a parser for a scenario number and a question, `2. Question`; its text is both."""
    question = question_reader(language, example)

    def read(reply: str) -> str:
        chosen = _CHOSEN.fullmatch(only_line(reply).strip().strip("\"'“”*- "))
        if chosen is None or not 1 <= int(chosen[1]) <= among:
            raise unfit("occasion", among)
        return f"{int(chosen[1])}. {question(chosen[2])}"

    return read


def rephrasing(draft: QuestionDraft) -> Target:
    """Return the target for a rephrased question that reveals nothing."""
    plain, text, person = question_reader(draft.person.language), draft.text, draft.person

    def read(reply: str) -> str:
        said = plain(reply)
        if leak := next(leaks(said, person), None):
            raise unfit("still-says", leak)
        if said == text:
            raise unfit("unchanged")
        return said

    values = {"question": text, "leaks": draft.told, "scenario": draft.title}
    parents = (draft.answer.product,) if draft.answer else ()
    return Target.for_person(
        person, f"{draft.key}/rephrase", REPHRASE, values, "question", read, parents=parents, max_tokens=120
    )


def check(draft: QuestionDraft) -> Target:
    """Return the target for the checker's verdict on a draft."""
    values = {"features": draft.known, "scenario": draft.title, "question": draft.text}
    person, parents = draft.person, (draft.answer.product,) if draft.answer else ()
    of = {"about": person.id, "parents": parents}
    return verdict(f"{draft.key}/check", CHECK, person.language, values, FAULTS, **of)


class SpecificQuestions:
    """Makes specific questions, one block of people at a time."""

    def __init__(
        self,
        bench: Bench,
        section: QuestionsSection,
        people: Sequence[Person],
        known: NearDuplicates,
        dropped: set[str],
    ) -> None:
        self._bench, self._section, self._known, self._dropped = bench, section, known, dropped
        self._sampler = QuestionSampler(bench, section, people)
        self._quota = Quota("specific questions", 0)

    async def make(self, people: Sequence[Person]) -> list[KeptQuestion]:
        """Return the configured number of specific questions for each of `people`."""
        missing = [(person, number) for person in people for number in range(self._section.specific)]
        kept: dict[tuple[str, int], QuestionDraft] = {}
        self._quota = Quota("specific questions", len(missing))
        attempt = 0
        while missing:
            if attempt == ATTEMPTS:
                raise self._quota.missed()
            self._quota.try_next(len(missing))
            drafts = [self._sampler.draft(person, number, attempt) for person, number in missing]
            drafts = await self._judged(await self._written(drafts))
            twins = self._known.add([(draft.key, draft.text) for draft in drafts])
            for draft, twin in zip(drafts, twins, strict=True):
                if twin is not None:
                    self._reject(draft, f"near-duplicate: as {twin}", LIKENESS)
                else:
                    kept[draft.person.id, draft.number] = draft
                    self._quota.kept += 1
            missing = [one for one in missing if (one[0].id, one[1]) not in kept]
            attempt += 1
        return [_kept(draft, self._bench) for draft in kept.values()]

    async def _written(self, drafts: Sequence[QuestionDraft]) -> list[QuestionDraft]:
        """Return drafts with questions that do not reveal the person; those that do are rephrased once."""
        template = self._bench.model() is None
        found = await self._reworded(
            drafts, lambda draft: first_ask(draft, self._sampler, template), "writing"
        )
        for draft in found:
            if draft.key in self._dropped:
                self._reject(draft, DROPPED, REVIEWER)
        found = [draft for draft in found if draft.key not in self._dropped]
        telling = [] if template else [draft for draft in found if draft.told]
        safe = [draft for draft in found if draft not in telling]
        return safe + await self._reworded(telling, rephrasing, "rephrasing")

    async def _judged(self, drafts: Sequence[QuestionDraft]) -> list[QuestionDraft]:
        """Return the drafts the checker accepts; template questions are not checked."""
        if self._bench.model() is None:
            return list(drafts)
        passed, by = [], self._bench.name("checker")
        verdicts = await self._bench.judge([check(draft) for draft in drafts], FAULTS, "checking")
        for draft, (answer, fault) in zip(drafts, verdicts, strict=True):
            draft.verdict = answer.product or None
            if fault:
                self._reject(draft, fault, by)
            else:
                passed.append(draft)
        return passed

    async def _reworded(
        self, drafts: Sequence[QuestionDraft], target: Callable[[QuestionDraft], Target], label: str
    ) -> list[QuestionDraft]:
        """Ask the writer for the text of each draft; reject drafts without a usable reply."""
        answers = await self._bench.ask(self._bench.model(), [target(draft) for draft in drafts], label)
        found = []
        for draft, answer in zip(drafts, answers, strict=True):
            leak = draft.told
            if answer.ok:
                draft.take(answer)
                found.append(draft)
            elif leak:
                self._reject(draft, f"gives away: {leak}", LEAK)
            else:
                self._reject(draft, f"{label} failed: {answer.reason}", self._bench.name())
        return found

    def _reject(self, draft: QuestionDraft, reason: str, by: str) -> None:
        self._quota.reject(reason)
        self._bench.reject(draft.key, reason, draft.text, about=draft.person.id, by=by)


def _kept(draft: QuestionDraft, bench: Bench) -> KeptQuestion:
    answer, person = draft.answer, draft.person
    assert answer is not None, "what is kept has words"
    product = answer.as_product()
    if product.text != draft.text:  # it has the scenario number in front
        parents = [answer.product, *product.parents]
        product = Product(
            kind="question", text=draft.text, maker=answer.maker, about=person.id, parents=parents
        )
        bench.add(product)
    made = KeptQuestion(
        draft.key, person, draft.number, product, SPECIFIC, draft.category, draft.scenario.name
    )
    features = tuple(dict(draft.features))
    if answer.maker == bench.template:  # template questions do not use the person's features
        return made
    return made._replace(features=features, example=draft.example.id, verdict=draft.verdict)
