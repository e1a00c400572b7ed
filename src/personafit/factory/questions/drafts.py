"""Attempts at specific questions: what each starts from, all of it drawn, and what models are asked about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from personafit._hashing import draw, hash_text
from personafit.factory.asking import Generation, Target, Unfit, verdict
from personafit.factory.prompts import PROMPTS, PromptTemplate
from personafit.factory.questions.blocks import BlockMember
from personafit.factory.questions.config import QuestionsSection
from personafit.factory.questions.rules import leaks, question_reader
from personafit.factory.questions.scenarios import Example, Scenario, categories, example_for


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
    if answer.text is None or answer.product is None or answer.maker is None:
        return False
    draft.text, draft.product, draft.maker = answer.text, answer.product, answer.maker
    draft.parents = list(answer.target.parents)
    return True
