"""`[people]`: how many simulated people, how they are written, and how even they must be."""

from collections.abc import Iterator
from typing import Literal, Self

from pydantic import Field, model_validator

from personafit.factory.config import BuildConfig, Section, meant
from personafit.factory.people.elements import LEAVES, fields_of_work


class PeopleSection(Section):
    """What the people step is asked for."""

    quota: int = Field(20, ge=1, description="People of the benchmark.")
    training: int = Field(
        0, ge=0, description="Further people for training pairs, none of them in the benchmark."
    )
    seeds: str = Field("", description="JSONL file of your own seed profiles; empty takes ours.")
    asks: Literal["whole", "fields"] = Field(
        "whole", description="One ask for a whole profile, or a short one for each field, for small models."
    )
    fields: list[str] = Field(
        default_factory=lambda: list(LEAVES),
        description="Fields the writer puts into words; the others are drawn.",
    )
    max_share: float = Field(
        0.25, gt=0, le=1, description="Most people of one field of work, region or decade of age."
    )
    max_interest_share: float = Field(0.4, gt=0, le=1, description="Most people who share one interest.")
    similarity: float = Field(
        0.9, gt=0, le=1, description="Cosine from which two profiles of the same job are near-duplicates."
    )

    @property
    def total(self) -> int:
        """People of the benchmark and for training."""
        return self.quota + self.training

    @model_validator(mode="after")
    def _known_fields(self) -> Self:
        for name in self.fields:
            if name not in LEAVES:
                raise ValueError(f"fields: there is no field '{name}'; {meant(name, list(LEAVES))}")
        return self

    def faults(self, config: BuildConfig) -> Iterator[str]:
        """Shares that cannot add up to everyone."""
        for language in config.build.languages:
            count = len(fields_of_work(language))
            if self.max_share * count < 1:
                yield (
                    f"max_share = {self.max_share:g} cannot be kept: there are {count} fields of work, and "
                    f"{count} times {self.max_share:g} is less than everyone; set at least {1 / count:.2f}"
                )
