"""What a relevance rater is: someone who says which attributes matter for a prompt, one at a time or over a list."""

from typing import Protocol

from personafit.items.relevance import Listing
from personafit.models import ChatRequest
from personafit.raters.rater import AnyRater, Verdict


class RelevanceRater(AnyRater, Protocol):
    """Who says which attributes matter."""

    @property
    def by_list(self) -> bool:
        """Whether it gets a whole list at a time, or one attribute."""

    @property
    def most_listed(self) -> int | None:
        """The longest list it gets at once; None for any."""

    @property
    def needs_prompt(self) -> bool:
        """Whether it has nothing to go by without the prompt, so that attribute-alone makes no sense."""

    async def rate(self, listing: Listing) -> Verdict:
        """Say of each attribute whether it matters, as the parts of one verdict; a part with a score and no label is
        for the report to decide, by how many of a list to pick on other prompts."""

    def request(self, listing: Listing) -> ChatRequest | None:
        """The model call that would be made, for estimates; None when none is."""
