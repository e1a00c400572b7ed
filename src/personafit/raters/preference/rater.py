"""What a preference rater is: someone who marks two answers against each other, attribute by attribute."""

from typing import Protocol

from personafit.items.preference import Compared
from personafit.models import ChatRequest
from personafit.raters.rater import AnyRater, Verdict


class PreferenceRater(AnyRater, Protocol):
    """Who marks two answers against each other."""

    @property
    def order_matters(self) -> bool:
        """False for raters that look at each answer by itself; True asks both orders."""

    @property
    def question(self) -> str:
        """`preference`, or `mention` for those who say whether an answer names an attribute."""

    async def rate(self, compared: Compared) -> Verdict:
        """One part per attribute, its target the attribute's product; a part with a value and no label is a difference of
        scores, for the report to put on the scale."""

    def request(self, compared: Compared) -> ChatRequest | None:
        """The model call that would be made, for estimates; None when none is."""
