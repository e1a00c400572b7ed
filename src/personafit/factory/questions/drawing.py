"""Which category each specific question is of, and what each attempt at it starts from: all drawn, none from a shared stream."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from personafit._hashing import draw, hash_text
from personafit.factory.questions.blocks import BlockMember
from personafit.factory.questions.config import QuestionsSection
from personafit.factory.questions.examples import Example, example_for
from personafit.factory.questions.scenarios import Scenario, categories


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
