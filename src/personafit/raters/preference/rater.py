"""What a preference rater is: someone who marks two answers against each other, attribute by attribute."""

from typing import Protocol

from personafit.items.preference import Compared
from personafit.models import ChatRequest
from personafit.raters.rater import Verdict
from personafit.store import RaterRecord


class PreferenceRater(Protocol):
    """Who answers."""

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

    @property
    def order_matters(self) -> bool:
        """False for raters that look at each answer by itself; True asks both orders."""

    @property
    def question(self) -> str:
        """`preference`, or `mention` for those who say whether an answer names an attribute."""

    async def judge(self, compared: Compared) -> Verdict:
        """One part per attribute, its target the attribute's product; a part with a value and no label is a difference of
        scores, for the report to put on the scale."""

    def request(self, compared: Compared) -> ChatRequest | None:
        """The model call that would be made, for estimates; None when none is."""

    async def close(self) -> None:
        """Release what it holds."""
