"""What a rater is: someone who answers questions about items, with a fingerprint of all that shapes the answer."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from personafit._hashing import content_hash
from personafit.items.reading import Question, Shown, Verdict
from personafit.models import ChatRequest
from personafit.store import RaterRecord


class Rater(ABC):
    """Who answers. The attributes say how it is asked; those of a rater that calls no model are the defaults."""

    record: RaterRecord
    """Who it is, with its fingerprint."""
    questions: tuple[Question, ...]
    """What it is asked about each item."""
    kinds: ClassVar[tuple[str, ...] | None] = None
    """Kinds of item that it can judge; None for any."""
    endpoint: str = "here"
    """Raters of one endpoint share its limit on calls at once."""
    max_concurrency: int = 1
    """The most calls at once."""
    price: tuple[float, float] | None = (0.0, 0.0)
    """USD per million tokens in and out; None when unknown."""
    order_matters: bool = False
    """Whether it sees the answers side by side, so that both orders are asked."""
    most_parts: int | None = None
    """How many attributes of a list it gets at once; None for all."""
    needs_prompt: bool = False
    """Whether it has nothing to go by without the person's prompt."""
    samples: int = 1
    """How often it is asked the same, where that is the rater's to say."""
    fitted_on: frozenset[str] = frozenset()
    """Marks of the people or prompts that it was fitted on: its score on them is no evidence."""

    @abstractmethod
    async def rate(self, shown: Shown) -> Verdict:
        """Answer the question about what is shown: one answer for each part."""

    def request(self, shown: Shown) -> ChatRequest | None:
        """The model call that would be made, for estimates; None when none is."""
        return None

    async def close(self) -> None:  # noqa: B027  # most have nothing to release
        """Release what it holds."""


def rater_record(name: str, kind: str, settings: dict[str, Any]) -> RaterRecord:
    """The record of a rater; the fingerprint is a hash of kind and settings, not of the name."""
    return RaterRecord(fingerprint=content_hash([kind, settings]), name=name, kind=kind, settings=settings)
