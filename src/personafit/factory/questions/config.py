"""`[questions]`: how many for each person, about what, and where general ones come from."""

from collections.abc import Iterator
from typing import Literal, Self

from pydantic import Field, model_validator

from personafit.factory.config import BuildConfig, ConfigSection, meant
from personafit.factory.people.config import PeopleSection
from personafit.factory.questions.scenarios import categories, published_shares, read_pool

ROUNDING = 0.005  # by how much shares may miss 1: the published ones are rounded


class QuestionsSection(ConfigSection):
    """What the questions step is asked for."""

    specific: int = Field(20, ge=0, le=500, description="Questions made from each person's features.")
    general: int = Field(15, ge=0, le=500, description="Questions matched to each person from the pool.")
    training: bool = Field(False, description="Also for the people of [people] training, from a pool apart.")
    asks: Literal["whole", "short"] = Field(
        "whole",
        description="What the writer cannot do is asked anew, or, for small models, done by our templates.",
    )
    shares: dict[str, float] = Field(
        default_factory=published_shares,
        description="Share of each category among specific questions; as published if left out.",
    )
    features: int = Field(3, ge=1, le=20, description="Features shown for each specific question.")
    pool: list[str] = Field(
        default_factory=list,
        description="JSONL files with `text`, or text with a question in each line; empty takes our small pool.",
    )
    judged: int = Field(
        3000, ge=1, description="Questions of the pool that are judged; of larger pools a sample."
    )
    reuse: int = Field(6, ge=1, description="Most people who are given the same question of the pool.")
    shortest: int = Field(4, ge=1, description="Fewest characters of a question.")
    longest: int = Field(240, ge=10, description="Most characters of a question.")
    similarity: float = Field(
        0.85, gt=0, le=1, description="Cosine from which two questions are near-duplicates; 1 compares words."
    )

    @model_validator(mode="after")
    def _shares_add_up(self) -> Self:
        for name, share in self.shares.items():
            if name not in categories():
                raise ValueError(f"shares: there is no category '{name}'; {meant(name, list(categories()))}")
            if share < 0:
                raise ValueError(f"shares.{name} = {share:g} is less than nothing")
        total = sum(self.shares.values())
        if abs(total - 1) > ROUNDING:
            raise ValueError(f"shares add up to {total:.4g}, not to 1")
        return self

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.specific + self.general == 0:
            raise ValueError("specific and general are both 0: there is nothing to ask")
        if self.shortest > self.longest:
            raise ValueError(f"shortest = {self.shortest} is more than longest = {self.longest}")
        return self

    def faults(self, config: BuildConfig) -> Iterator[str]:
        """Nobody to train on, or pools that are not there or empty."""
        people = config.sections.get("people")
        if self.training and isinstance(people, PeopleSection) and people.training == 0:
            yield "training = true, but there is nobody to train on: set training in [people]"
        paths = [config.place(named) for named in self.pool]
        for path in paths:
            if not path.is_file():
                yield f"pool: there is no file {path}"
        if self.general and next(read_pool(paths), None) is None:
            yield f"pool: there is no question in {', '.join(self.pool)}; give one in each line, or set general = 0"
