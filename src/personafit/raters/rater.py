"""What a rater is: someone who answers a question about an item, with a fingerprint of all that shapes the answer."""

from dataclasses import dataclass, field
from typing import Any, Protocol

from personafit._hashing import content_hash
from personafit.items import ChoiceQuestion, Shown
from personafit.models import ChatRequest
from personafit.store import TIE, RaterRecord, Status


@dataclass(frozen=True, slots=True)
class Part:
    """One of several answers in a verdict: about an aspect, an attribute, a turn, or another item of the same list."""

    target: str
    label: str | None
    value: float | None
    scores: list[float] = field(default_factory=list)
    item: str | None = None
    """The item it is about, where one ask shows several; None for the item asked about."""
    status: Status | None = None
    """How this part ended, where that differs from the whole."""


@dataclass(slots=True)
class Verdict:
    """A rater's answer to one ask, and what it took."""

    status: Status = Status.OK
    label: str | None = None
    value: float | None = None
    reply: str | None = None
    reasoning: str | None = None
    detail: str | None = None
    letter_scores: dict[str, float] | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_reasoning: int = 0
    cost: float = 0.0
    calls: int = 1
    parts: list[Part] = field(default_factory=list)
    """Further answers to the same ask, such as one per aspect; `label` and `value` are the answer to the question."""
    answers_whole: bool = True
    """False where the parts are all there is, as in a list of which each entry is an item of its own."""


class AnyRater(Protocol):
    """Who answers, whatever is asked."""

    @property
    def record(self) -> RaterRecord:
        """Who it is, with its fingerprint."""

    @property
    def endpoint(self) -> str:
        """Raters of one endpoint share its limit on calls at once."""

    @property
    def max_concurrency(self) -> int:
        """The most calls at once."""

    @property
    def price(self) -> tuple[float, float] | None:
        """USD per million tokens in and out; None when unknown."""

    async def close(self) -> None:
        """Release what it holds."""


class Rater(AnyRater, Protocol):
    """Who chooses between answers."""

    @property
    def order_matters(self) -> bool:
        """False for raters that score each answer by itself; True asks both orders."""

    async def rate(self, shown: Shown, question: ChoiceQuestion) -> Verdict:
        """Answer the question about what is shown."""

    def request(self, shown: Shown, question: ChoiceQuestion) -> ChatRequest | None:
        """The model call that would be made, for estimates; None when none is."""


def rater_record(name: str, kind: str, settings: dict[str, Any]) -> RaterRecord:
    """The record of a rater; the fingerprint is a hash of kind and settings, not of the name."""
    return RaterRecord(fingerprint=content_hash([kind, settings]), name=name, kind=kind, settings=settings)


def choice_of(scores: list[float]) -> tuple[str, float]:
    """Label and margin of a choice by scores: the best product's index or a tie; the margin is product 0's lead."""
    best = max(scores)
    leaders = [index for index, score in enumerate(scores) if score == best]
    margin = scores[0] - max(scores[1:]) if len(scores) > 1 else 0.0
    return (str(leaders[0]) if len(leaders) == 1 else TIE), margin
