"""Specific questions: written from features and a scenario, freed of what they give away, judged, and kept if new."""

from collections.abc import Callable, Iterable, Sequence
from math import ceil

from personafit._errors import UserError
from personafit.factory.asking import Generation, Target
from personafit.factory.bench import Bench, RequestBatch
from personafit.factory.duplicates import NearDuplicates
from personafit.factory.prompts import PromptTemplate
from personafit.factory.questions.blocks import DROPPED, ENOUGH, REVIEWER, SPECIFIC, BlockMember, Keeping
from personafit.factory.questions.config import QuestionsSection
from personafit.factory.questions.drafts import (
    AWKWARD,
    CHECKED,
    FAULTS,
    REPHRASE,
    REWRITE,
    SHORT,
    TELLING,
    WRITE,
    QuestionDraft,
    QuestionSampler,
    check,
    first_ask,
    second_ask,
    told,
    took,
)
from personafit.factory.questions.scenarios import Topics, template_question
from personafit.factory.quota import Quota
from personafit.store import Product

TEMPLATE = "template:questions-1"
LEAK, LIKENESS, TOPIC = "rule:leaks-1", "rule:near-duplicates", "rule:topic-1"
NEAREST = 3  # scenarios, one of which a small model's question must be about
ENOUGH_TO_TELL = 10  # attempts by which a model that always says the same is found out


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
        for draft, verdict in await self._verdicts(judged, "check", quota):
            if verdict == AWKWARD:
                odd.append(draft)
            elif verdict == TELLING and not draft.rephrased:
                telling.append(draft)
            elif verdict not in FAULTS or not self._out(draft, FAULTS[verdict], self._checker.name, quota):
                passed.append(draft)
        second = await self._again(odd, REWRITE, quota, "rewriting")
        second += await self._again(telling, REPHRASE, quota, "rephrasing")
        for draft, verdict in await self._verdicts(second, "check-2", quota):
            if verdict not in FAULTS or not self._out(
                draft, f"{FAULTS[verdict]}: also in other words", self._checker.name, quota
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
            draft.verdict = answer.product
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
