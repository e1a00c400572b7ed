"""Specific questions: drawn, written from features and a scenario, freed of what they give away, judged, and kept if new."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

import numpy as np

from personafit._errors import UserError
from personafit._hashing import draw, hash_text
from personafit.factory.asking import Generation, Target, Unfit, verdict
from personafit.factory.bench import Bench, RequestBatch
from personafit.factory.duplicates import NearDuplicates
from personafit.factory.prompts import PROMPTS, PromptTemplate
from personafit.factory.questions.blocks import DROPPED, ENOUGH, REVIEWER, SPECIFIC, BlockMember, Keeping
from personafit.factory.questions.rules import leaks, question_reader
from personafit.factory.questions.scenarios import (
    Example,
    Scenario,
    Topics,
    categories,
    example_for,
    template_question,
)
from personafit.factory.quota import Quota
from personafit.factory.sections import QuestionsSection
from personafit.store import Product

WRITE = PROMPTS["questions.write"]
SHORT = PROMPTS["questions.short"]
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
LEAK, LIKENESS, TOPIC = "rule:leaks-1", "rule:near-duplicates", "rule:topic-1"
NEAREST = 3  # scenarios, one of which a small model's question must be about
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
    template: bool = False
    rephrased: bool = False

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

    def __init__(self, section: QuestionsSection, people: Sequence[int], seed: int, take: int) -> None:
        """`people` are the numbers of people by split, in the order they come."""
        self._section, self._seed, self._take = section, seed, take
        self._names = list(section.shares)
        shuffle = np.random.default_rng(int(hash_text("categories", str(seed), str(take))[:16], 16))
        parts = []
        for count in people:
            counts = category_counts(count * section.specific, section.shares)
            part = np.repeat(
                np.arange(len(self._names), dtype=np.uint8), [counts[name] for name in self._names]
            )
            parts.append(shuffle.permutation(part))
        self._categories = np.concatenate(parts)

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


def first_ask(draft: QuestionDraft, prompt: PromptTemplate, section: QuestionsSection) -> Target:
    """A question from features, a scenario and an example."""
    language, example, scenario = draft.language, draft.example, draft.scenario
    shown = next(one for one in categories()[example.category].scenarios if one.name == example.scenario)
    return Target(
        draft.key,
        prompt,
        language,
        {
            "example": example.text,
            "example_features": "\n".join(f"- {text}" for text in example.features),
            "example_scenario": shown.title(language),
            "features": draft.known,
            "scenario": scenario.title(language),
            "category": categories()[scenario.category].title(language),
        },
        kind="question",
        read=question_reader(language, section.shortest, section.longest, example.text),
        about=draft.member.person.id,
        parents=(draft.member.person.id, example.id),
        max_tokens=120,
    )


def second_ask(draft: QuestionDraft, prompt: PromptTemplate, section: QuestionsSection) -> Target:
    """The same in other words, which must not give anything away."""
    plain = question_reader(draft.language, section.shortest, section.longest)
    text, person = draft.text, draft.member.person

    def read(reply: str) -> str:
        said = plain(reply)
        if leak := next(leaks(said, person), None):
            raise Unfit(f"it still says '{leak}'", f"仍然说出了“{leak}”")
        if said == text:
            raise Unfit("nothing was changed", "没有任何改动")
        return said

    return Target(
        f"{draft.key}/{prompt.name.rpartition('.')[2]}",
        prompt,
        draft.language,
        {
            "question": text,
            "leaks": told(draft) or "; ".join(known for _, known in draft.features),
            "scenario": draft.scenario.title(draft.language),
        },
        kind="question",
        read=read,
        about=person.id,
        parents=(draft.product,),
        max_tokens=120,
    )


def check(draft: QuestionDraft, pass_name: str) -> Target:
    """A verdict on how it strikes one."""
    return verdict(
        f"{draft.key}/{pass_name}",
        CHECK,
        draft.language,
        {
            "features": draft.known,
            "scenario": draft.scenario.title(draft.language),
            "question": draft.text,
        },
        CHECKED,
        about=draft.member.person.id,
        parents=(draft.product,),
    )


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
        self,
        bench: Bench,
        section: QuestionsSection,
        drawing: QuestionSampler,
        known: NearDuplicates,
        keeping: Keeping,
        topics: Topics,
    ) -> None:
        self._bench, self._section, self._drawing, self._topics = bench, section, drawing, topics
        self._known, self._keeping = known, keeping
        self._writer, self._checker = bench.model("writer"), bench.model("checker")
        self._proven = False

    async def make(self, block: Sequence[BlockMember]) -> None:
        """As many as are asked for, for everyone of a block."""
        missing = [(member, number) for member in block for number in range(self._section.specific)]
        attempts = dict.fromkeys(((member.place, number) for member, number in missing), 0)
        quota = Quota("specific questions", len(missing))
        while numbers := quota.round():
            each = ceil(len(numbers) / len(missing))
            drafts = []
            for member, number in missing:
                first = attempts[member.place, number]
                attempts[member.place, number] += each
                drafts += [self._drawing.draft(member, number, first + more) for more in range(each)]
            passed = await self._written(drafts, quota)
            passed = await self._silent(passed, quota)
            passed = await self._natural(passed, quota)
            filled = self._settled(passed, quota)
            missing = [one for one in missing if (one[0].place, one[1]) not in filled]
            self._prove(quota)

    def _prove(self, quota: Quota) -> None:
        """Stop at once where a model brings nothing, or one and the same thing."""
        if self._section.asks == "whole" and not self._proven and quota.tried >= ENOUGH_TO_TELL:
            if quota.kept <= 1:
                most = max(quota.reasons, key=lambda reason: quota.reasons[reason])
                raise UserError(
                    f"specific questions: of {quota.tried:,} by {self._writer.name} {quota.kept} could be kept (most often: "
                    f'{most}); name a stronger writer, or set asks = "short" in [questions].',
                    code=1,
                )
            self._proven = True

    async def _written(self, drafts: Iterable[QuestionDraft], quota: Quota) -> list[QuestionDraft]:
        """Drafts with words: the writer's, or, for small models, ours from the second attempt on."""
        asked, passed = [], []
        for draft in drafts:
            if self._section.asks == "short" and draft.attempt:
                passed.append(self._from_template(draft))
            else:
                asked.append(draft)
        prompt = WRITE if self._section.asks == "whole" else SHORT
        answers = await self._ask(asked, lambda draft: first_ask(draft, prompt, self._section), "writing")
        for draft, answer in zip(asked, answers, strict=True):
            if not took(draft, answer):
                self._out(draft, f"could not be used: {answer.reason}", self._writer.name, quota)
            elif not self._off_subject(draft) or not self._out(
                draft, f"off the subject: {draft.scenario.name}", TOPIC, quota
            ):
                passed.append(draft)
        dropped = self._keeping.review.dropped
        return [
            draft
            for draft in passed
            if not (dropped(draft.key) and self._out(draft, DROPPED, REVIEWER, quota))
        ]

    def _off_subject(self, draft: QuestionDraft) -> bool:
        """Whether a small model, whose verdict on it says little, has lost the thread."""
        if self._section.asks == "whole":
            return False
        return draft.scenario not in self._topics.nearest([draft.text], draft.language)[0][:NEAREST]

    async def _silent(self, drafts: Sequence[QuestionDraft], quota: Quota) -> list[QuestionDraft]:
        """Drafts that do not tell who is asking; those that do are put in other words once."""
        passed, telling = [], []
        for draft in drafts:
            leak = told(draft)
            if leak and not draft.template:
                telling.append(draft)
            elif not leak or not self._out(draft, f"gives away: {leak}", LEAK, quota):
                passed.append(draft)
        return passed + await self._again(telling, REPHRASE, quota, "rephrasing")

    async def _natural(self, drafts: Sequence[QuestionDraft], quota: Quota) -> list[QuestionDraft]:
        """Drafts somebody could have said; those that sound odd are put in other words and judged once more."""
        passed = [draft for draft in drafts if draft.template]
        odd, telling = [], []
        judged = [draft for draft in drafts if not draft.template]
        for draft, letter in await self._verdicts(judged, "check", quota):
            if letter == AWKWARD:
                odd.append(draft)
            elif letter == TELLING and not draft.rephrased:
                telling.append(draft)
            elif letter not in FAULTS or not self._out(draft, FAULTS[letter], self._checker.name, quota):
                passed.append(draft)
        second = await self._again(odd, REWRITE, quota, "rewriting")
        second += await self._again(telling, REPHRASE, quota, "rephrasing")
        for draft, letter in await self._verdicts(second, "check-2", quota):
            if letter not in FAULTS or not self._out(
                draft, f"{FAULTS[letter]}: also in other words", self._checker.name, quota
            ):
                passed.append(draft)
        return passed

    async def _verdicts(
        self, drafts: Sequence[QuestionDraft], pass_name: str, quota: Quota
    ) -> list[tuple[QuestionDraft, str]]:
        """Each with the checker's letter; a person's word counts more, and what cannot be judged is out."""
        answers = await self._ask(drafts, lambda draft: check(draft, pass_name), "checking")
        found = []
        for draft, answer in zip(drafts, answers, strict=True):
            draft.verdict = answer.product or None
            if answer.text is not None:
                found.append((draft, answer.text))
            elif not self._out(draft, f"could not be judged: {answer.reason}", self._checker.name, quota):
                found.append((draft, CHECKED[0]))
        return found

    async def _again(
        self, drafts: Sequence[QuestionDraft], prompt: PromptTemplate, quota: Quota, label: str
    ) -> list[QuestionDraft]:
        """Drafts in other words, which must not give anything away."""
        answers = await self._ask(drafts, lambda draft: second_ask(draft, prompt, self._section), label)
        passed = []
        for draft, answer in zip(drafts, answers, strict=True):
            leak = told(draft)
            reason = f"gives away: {leak}" if leak else f"{label} failed: {answer.reason}"
            if took(draft, answer):
                draft.rephrased = True
                passed.append(draft)
            elif not self._out(draft, reason, LEAK if leak else self._writer.name, quota):
                passed.append(draft)
        return passed

    def _settled(self, drafts: Sequence[QuestionDraft], quota: Quota) -> set[tuple[int, int]]:
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
                        self._keeping.reject(quota, draft.key, draft.member, draft.text, ENOUGH, LIKENESS)
                elif place in wave:
                    later.append(draft)
                else:
                    wave[place] = draft
            twins = self._known.add([(draft.key, draft.text) for draft in wave.values()])
            for (place, draft), twin in zip(wave.items(), twins, strict=True):
                if twin is not None and self._out(draft, f"near-duplicate of: {twin}", LIKENESS, quota):
                    continue
                filled.add(place)
                quota.keep()
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

    def _out(self, draft: QuestionDraft, reason: str, by: str, quota: Quota) -> bool:
        """Whether a draft is rejected for a reason: not if it has words and a person wants to keep them."""
        if draft.text and self._keeping.review.kept(draft.key):
            return False
        self._keeping.reject(quota, draft.key, draft.member, draft.text, reason, by)
        return True

    def _from_template(self, draft: QuestionDraft) -> QuestionDraft:
        draft.text = template_question(draft.scenario, draft.language, draft.key)
        draft.template, draft.maker = True, TEMPLATE
        draft.parents = [draft.member.person.id]
        return draft

    async def _ask(
        self, drafts: Sequence[QuestionDraft], wanted: Callable[[QuestionDraft], Target], label: str
    ) -> list[Generation]:
        model = self._checker if label == "checking" else self._writer
        return list(
            await self._bench.ask(RequestBatch(model, lambda: map(wanted, drafts), len(drafts), label))
        )
