"""`[studies]`: who votes, how many of them, on how many pairs, and whose people are set apart."""

from collections.abc import Iterator
from typing import Literal, Self

from pydantic import Field, model_validator

from personafit.factory.answers.config import AnswersSection
from personafit.factory.config import BuildConfig, ConfigSection
from personafit.factory.people.config import PeopleSection

FEWEST_RATERS = 3


class StudiesSection(ConfigSection):
    """What the two studies are asked for."""

    voters: Literal["people", "simulated"] = Field(
        "people", description="Who votes: people, in the labelling app, or simulated raters."
    )
    raters: int = Field(9, ge=FEWEST_RATERS, le=99, description="Raters of each item.")
    votes: list[str] = Field(
        default_factory=list, description="Files of people's votes, as `personafit label export` writes them."
    )
    pairs: int = Field(2, ge=1, le=20, description="Pairs drawn from the answers to each question.")
    balanced: bool = Field(
        True, description="Leave out pairs until length, 'you', markup and names tell nothing."
    )
    validation: float = Field(0.2, ge=0, lt=1, description="Share of the people set apart for validation.")

    @model_validator(mode="after")
    def _odd(self) -> Self:
        if self.raters % 2 == 0:
            raise ValueError(f"raters = {self.raters} can split evenly; an odd number has a majority")
        if self.votes and self.voters == "simulated":
            raise ValueError('votes are people\'s: set voters = "people", or leave votes out')
        return self

    def faults(self, config: BuildConfig) -> Iterator[str]:
        """Too few raters, files that are not there, nothing to judge, nobody to set apart."""
        named = config.models.raters
        if self.voters == "simulated" and named and len(named) < self.raters:
            yield (
                f"raters = {self.raters}, but [models] raters names {len(named)}: name {self.raters - len(named)} more, set raters "
                "lower, or leave [models] raters out for our own simulated raters"
            )
        for path in self.votes:
            if not config.place(path).is_file():
                yield f"votes: there is no file {config.place(path)}"
        answers = config.sections.get("answers")
        if not isinstance(answers, AnswersSection):
            yield "there is nothing to judge: add a section [answers]"
            return
        makers = min(answers.makers, len(config.models.pool()))
        left = (
            makers * answers.each + min(answers.improved, 2 * makers) + min(answers.degraded, 2 * makers) - 2
        )
        if self.pairs > left // 2:
            yield (
                f"pairs = {self.pairs}, but an answer is shown in one pair only, and {left} answers to each question are left "
                f"beside the Easy pair: that makes {left // 2}; ask for more answers in [answers]"
            )
        people = config.sections.get("people")
        if isinstance(people, PeopleSection) and self.validation and people.quota < 2:
            yield "validation needs two people or more: set quota in [people], or validation = 0"
