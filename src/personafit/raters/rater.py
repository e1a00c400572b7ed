"""What a rater is: someone who answers a question about an item, with a fingerprint of all that shapes the answer."""

from dataclasses import dataclass, field
from typing import Any, Protocol

from personafit._hashing import content_hash
from personafit.engine.ask import Exchange
from personafit.items import ChoiceQuestion, Shown
from personafit.items.reading import Part, choice_of
from personafit.models import ChatRequest
from personafit.store import RaterRecord


@dataclass(slots=True)
class Verdict(Exchange):
    """A rater's answer to one ask, and what it took."""

    calls: int = 1
    label: str | None = None
    value: float | None = None
    letter_scores: dict[str, float] | None = None
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


__all__ = ["AnyRater", "Part", "Rater", "Verdict", "choice_of", "rater_record"]
