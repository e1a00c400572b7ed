"""Specific questions: drawn, written from features and a scenario, freed of what they give away, judged, and kept if new."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

import numpy as np

from personafit._errors import UserError
from personafit._hashing import draw, hash_text
from personafit.build.asking import Generation, Target, Unfit, verdict
from personafit.build.bench import Bench, RequestBatch
from personafit.build.duplicates import NearDuplicates
from personafit.build.prompts import PROMPTS, PromptTemplate
from personafit.build.questions.blocks import DROPPED, ENOUGH, SPECIFIC, BlockMember, Keeping
from personafit.build.questions.rules import leaks, question_reader
from personafit.build.questions.scenarios import (
    Example,
    Scenario,
    categories,
    example_for,
    template_question,
)
from personafit.build.quota import REMEDY, Quota
from personafit.build.rows import REVIEWER
from personafit.build.sections import QuestionsSection
from personafit.store import Product

WRITE = PROMPTS["questions.write"]
REPHRASE = PROMPTS["questions.rephrase"]
REWRITE = PROMPTS["questions.rewrite"]
CHECK = PROMPTS["questions.check"]
CHECKED = ("A", "B", "C", "D", "E")
AWKWARD, TELLING = "B", "D"
FAULTS = {
    AWKWARD: "stiff or odd",
    "C": "makes no sense",
    TELLING: "says what is known about the person",
    "E": "off the subject",
}
NAMED = 3  # things given away that are named
TEMPLATE = "template:questions-1"
LEAK, LIKENESS = "rule:leaks-1", "rule:near-duplicates"
TEMPLATE_DRAWS = 8  # attempts at once where they cost nothing: templates repeat themselves
ENOUGH_TO_TELL = 10  # attempts by which a model that always says the same is found out


@dataclass
class QuestionDraft:
    """One attempt at a specific question: what it is to be about, and once it is there its text."""

    key: str
    """Names it in the store, in rejections and in the review queue."""
    member: BlockMember
    number: int
    """Which of the person's questions, from 0."""
    attempt: int
    scenario: Scenario
    features: list[tuple[str, str]]
    example: Example
    text: str = ""
    product: str = ""
    maker: str = ""
    parents: list[str] = field(default_factory=list)
    verdict: str | None = None
    """Id of the checker's word on it."""
    rephrased: bool = False

    @property
    def template(self) -> bool:
        """Whether the words are our template's."""
        return self.maker == TEMPLATE

    @property
    def language(self) -> str:
        """The person's language."""
        return self.member.person.language

    @property
    def known(self) -> str:
        """The features as lines."""
        return "\n".join(f"- {text}" for _, text in self.features)


def category_counts(total: int, shares: Mapping[str, float]) -> dict[str, int]:
    """So many of each that the shares are met to within one; what is left over goes to the largest remainders."""
    whole = sum(shares.values())
    exact = {name: total * share / whole for name, share in shares.items()}
    counts = {name: int(value) for name, value in exact.items()}
    by_remainder = sorted(exact, key=lambda name: counts[name] - exact[name])
    for name in by_remainder[: total - sum(counts.values())]:
        counts[name] += 1
    return counts


class QuestionSampler:
    """Samples what each question is to be about; the same person, number and attempt always give the same."""

    def __init__(self, section: QuestionsSection, people: int, seed: int, take: int) -> None:
        self._section, self._seed, self._take = section, seed, take
        self._names = list(section.shares)
        counts = category_counts(people * section.specific, section.shares)
        places = np.repeat(
            np.arange(len(self._names), dtype=np.uint8), [counts[name] for name in self._names]
        )
        shuffle = np.random.default_rng(int(hash_text("categories", str(seed), str(take))[:16], 16))
        self._categories = shuffle.permutation(places)

    def draft(self, member: BlockMember, number: int, attempt: int) -> QuestionDraft:
        """One attempt at one of a person's questions."""
        person = member.person
        key = (self._seed, self._take, person.id, number, attempt)
        place = member.place * self._section.specific + number
        scenarios = categories()[self._names[self._categories[place]]].scenarios
        features = sorted(member.features, key=lambda one: draw("feature", *key, *one, among=2**62))
        return QuestionDraft(
            key=f"{person.id}/s{number}/{attempt}" + (f"-{self._take}" if self._take else ""),
            member=member,
            number=number,
            attempt=attempt,
            scenario=scenarios[draw("scenario", *key, among=len(scenarios))],
            features=features[: self._section.features],
            example=example_for(person.language, *key),
        )


def first_ask(draft: QuestionDraft) -> Target:
    """A question from features, a scenario and an example."""
    language, example, scenario = draft.language, draft.example, draft.scenario
    shown = next(one for one in categories()[example.category].scenarios if one.name == example.scenario)
    return Target.for_person(
        draft.member.person,
        draft.key,
        WRITE,
        {
            "example": example.text,
            "example_features": "\n".join(f"- {text}" for text in example.features),
            "example_scenario": shown.titles[language],
            "features": draft.known,
            "scenario": scenario.titles[language],
            "category": categories()[scenario.category].titles[language],
        },
        "question",
        question_reader(language, example.text),
        parents=(draft.member.person.id, example.id),
        max_tokens=120,
    )


def second_ask(draft: QuestionDraft, prompt: PromptTemplate) -> Target:
    """The same in other words, which must not give anything away."""
    plain, text, person = question_reader(draft.language), draft.text, draft.member.person

    def read(reply: str) -> str:
        said = plain(reply)
        if leak := next(leaks(said, person), None):
            raise Unfit(f"it still says '{leak}'", f"仍然说出了“{leak}”")
        if said == text:
            raise Unfit("nothing was changed", "没有任何改动")
        return said

    key = f"{draft.key}/{prompt.name.rpartition('.')[2]}"
    values: dict[str, object] = {
        "question": text,
        "leaks": told(draft) or "; ".join(known for _, known in draft.features),
        "scenario": draft.scenario.titles[draft.language],
    }
    return Target.for_person(
        person, key, prompt, values, "question", read, parents=(draft.product,), max_tokens=120
    )


def check(draft: QuestionDraft, pass_name: str) -> Target:
    """A verdict on how it strikes one."""
    values: dict[str, object] = {
        "features": draft.known,
        "scenario": draft.scenario.titles[draft.language],
        "question": draft.text,
    }
    key, person = f"{draft.key}/{pass_name}", draft.member.person
    return verdict(key, CHECK, draft.language, values, CHECKED, person.id, (draft.product,))


def told(draft: QuestionDraft) -> str:
    """What its words give away."""
    return "; ".join(list(dict.fromkeys(leaks(draft.text, draft.member.person)))[:NAMED])


def took(draft: QuestionDraft, answer: Generation) -> bool:
    """Take in what a model said; false where it said nothing of use."""
    if answer.text is None:
        return False
    draft.text, draft.product, draft.maker = answer.text, answer.product, answer.maker
    draft.parents = list(answer.target.parents)
    return True


class Specific:
    """Makes specific questions, some people at a time."""

    def __init__(
        self, bench: Bench, section: QuestionsSection, people: int, known: NearDuplicates, keeping: Keeping
    ) -> None:
        self._bench, self._section, self._known, self._keeping = bench, section, known, keeping
        self._drawing = QuestionSampler(section, people, bench.seed, bench.take)
        self._proven = bench.model() is None

    async def make(self, block: Sequence[BlockMember]) -> None:
        """As many as are asked for, for everyone of a block."""
        missing = [(member, number) for member in block for number in range(self._section.specific)]
        attempts = dict.fromkeys(((member.place, number) for member, number in missing), 0)
        self._quota = quota = Quota("specific questions", len(missing))
        while numbers := quota.round():
            each = ceil(len(numbers) / len(missing)) * (1 if self._bench.model() else TEMPLATE_DRAWS)
            drafts = []
            for member, number in missing:
                first = attempts[member.place, number]
                attempts[member.place, number] += each
                drafts += [self._drawing.draft(member, number, first + more) for more in range(each)]
            filled = self._settled(await self._natural(await self._silent(await self._written(drafts))))
            missing = [one for one in missing if (one[0].place, one[1]) not in filled]
            self._prove()

    def _prove(self) -> None:
        """Stop at once where a model brings nothing, or one and the same thing."""
        quota = self._quota
        if not self._proven and quota.tried >= ENOUGH_TO_TELL:
            if quota.kept <= 1:
                raise UserError(
                    f"specific questions: of {quota.tried:,} by {self._bench.name()} {quota.kept} could be kept (most often: "
                    f"{quota.most_often()}); {REMEDY}.",
                    code=1,
                )
            self._proven = True

    async def _written(self, drafts: Sequence[QuestionDraft]) -> list[QuestionDraft]:
        """Drafts with the writer's words, or, where there is none, our template's."""
        if self._bench.model() is None:
            passed = [_from_template(draft) for draft in drafts]
        else:
            answers = await self._ask(drafts, first_ask, "writing")
            passed = []
            for draft, answer in zip(drafts, answers, strict=True):
                if took(draft, answer):
                    passed.append(draft)
                else:
                    self._out(draft, f"could not be used: {answer.reason}", self._bench.name())
        dropped = self._keeping.review.dropped
        return [one for one in passed if not (dropped(one.key) and self._out(one, DROPPED, REVIEWER))]

    async def _silent(self, drafts: Sequence[QuestionDraft]) -> list[QuestionDraft]:
        """Drafts that do not tell who is asking; those that do are put in other words once."""
        telling = [draft for draft in drafts if told(draft)]
        passed = [draft for draft in drafts if not told(draft)]
        return passed + await self._again(telling, REPHRASE)

    async def _natural(self, drafts: Sequence[QuestionDraft]) -> list[QuestionDraft]:
        """Drafts somebody could have said; those that sound odd are put in other words and judged once more."""
        passed = [draft for draft in drafts if draft.template]
        odd, telling = [], []
        for draft, letter in await self._verdicts([one for one in drafts if not one.template], "check"):
            if letter == AWKWARD:
                odd.append(draft)
            elif letter == TELLING and not draft.rephrased:
                telling.append(draft)
            elif letter not in FAULTS or not self._out(draft, FAULTS[letter], self._bench.name("checker")):
                passed.append(draft)
        second = await self._again(odd, REWRITE) + await self._again(telling, REPHRASE)
        for draft, letter in await self._verdicts(second, "check-2"):
            reason = f"{FAULTS.get(letter)}: also in other words"
            if letter not in FAULTS or not self._out(draft, reason, self._bench.name("checker")):
                passed.append(draft)
        return passed

    async def _verdicts(
        self, drafts: Sequence[QuestionDraft], pass_name: str
    ) -> list[tuple[QuestionDraft, str]]:
        """Each with the checker's letter; a person's word counts more, and what cannot be judged is out."""
        answers = await self._ask(drafts, lambda draft: check(draft, pass_name), "checking")
        found = []
        for draft, answer in zip(drafts, answers, strict=True):
            draft.verdict = answer.product or None
            if answer.text is not None:
                found.append((draft, answer.text))
            elif not self._out(draft, f"could not be judged: {answer.reason}", self._bench.name("checker")):
                found.append((draft, CHECKED[0]))
        return found

    async def _again(self, drafts: Sequence[QuestionDraft], prompt: PromptTemplate) -> list[QuestionDraft]:
        """Drafts in other words, which must not give anything away."""
        label = "rephrasing" if prompt is REPHRASE else "rewriting"
        answers = await self._ask(drafts, lambda draft: second_ask(draft, prompt), label)
        passed = []
        for draft, answer in zip(drafts, answers, strict=True):
            leak = told(draft)
            reason = f"gives away: {leak}" if leak else f"{label} failed: {answer.reason}"
            if took(draft, answer):
                draft.rephrased = True
                passed.append(draft)
            elif not self._out(draft, reason, LEAK if leak else self._bench.name()):
                passed.append(draft)
        return passed

    def _settled(self, drafts: Sequence[QuestionDraft]) -> set[tuple[int, int]]:
        """Keep what nobody has asked yet, one for each place; returns the places filled."""
        filled: set[tuple[int, int]] = set()
        left = sorted(drafts, key=lambda draft: (draft.member.place, draft.number))
        while left:
            wave: dict[tuple[int, int], QuestionDraft] = {}
            later = []
            for draft in left:
                place = (draft.member.place, draft.number)
                if place in filled:
                    if not draft.template:
                        self._reject(draft, ENOUGH, LIKENESS)
                elif place in wave:
                    later.append(draft)
                else:
                    wave[place] = draft
            twins = self._known.add([(draft.key, draft.text) for draft in wave.values()])
            for (place, draft), twin in zip(wave.items(), twins, strict=True):
                if twin is None or not self._out(draft, f"near-duplicate of: {twin}", LIKENESS):
                    filled.add(place)
                    self._quota.keep()
                    self._keep(draft)
            left = later
        return filled

    def _keep(self, draft: QuestionDraft) -> None:
        product = Product(
            id=draft.product,
            kind="question",
            text=draft.text,
            maker=draft.maker,
            about=draft.member.person.id,
            parents=draft.parents,
        )
        if draft.template:
            self._bench.add(product)
        row = {
            "half": SPECIFIC,
            "category": draft.scenario.category,
            "scenario": draft.scenario.name,
            "features": [] if draft.template else list(dict(draft.features)),
        }
        lineage = {"example": None if draft.template else draft.example.id, "verdict": draft.verdict}
        self._keeping.keep(draft.key, draft.member, draft.number, product, row, lineage)

    def _out(self, draft: QuestionDraft, reason: str, by: str) -> bool:
        """Whether a draft is rejected for a reason: not if it has words and a person wants to keep them."""
        if draft.text and self._keeping.review.kept(draft.key):
            return False
        self._reject(draft, reason, by)
        return True

    def _reject(self, draft: QuestionDraft, reason: str, by: str) -> None:
        self._keeping.reject(self._quota, draft.key, draft.member, draft.text, reason, by)

    async def _ask(
        self, drafts: Sequence[QuestionDraft], wanted: Callable[[QuestionDraft], Target], label: str
    ) -> list[Generation]:
        model = self._bench.model("checker" if label == "checking" else "writer")
        batch = RequestBatch(model, lambda: map(wanted, drafts), len(drafts), label)
        return list(await self._bench.ask(batch))


def _from_template(draft: QuestionDraft) -> QuestionDraft:
    draft.text = template_question(draft.scenario, draft.language, draft.key)
    draft.maker, draft.parents = TEMPLATE, [draft.member.person.id]
    return draft
