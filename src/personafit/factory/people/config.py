"""`[people]`: how many simulated people, how they are written, and how even they must be."""

from collections.abc import Iterator
from math import ceil
from typing import Literal, Self

from pydantic import Field, model_validator

from personafit.factory.config import BuildConfig, ConfigSection, meant
from personafit.factory.people.drawing import INTERESTS_DRAWN, LEAVES, Elements, elements


class PeopleSection(ConfigSection):
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
        """Shares that cannot add up to everyone, and seeds that are not there."""
        if self.seeds and not config.place(self.seeds).is_file():
            yield f"seeds: there is no file {config.place(self.seeds)}"
        known = elements_of(config)
        for language in config.build.elements:
            yield from known[language].faults() if language in known else ()
        lists = known.values()
        for key, what, each, counts in (
            ("max_share", "fields of work", 1, [len(one.fields_of_work) for one in lists]),
            ("max_share", "regions", 1, [len(one.regions) for one in lists]),
            ("max_share", "decades of age", 1, [len({ten for one in lists for ten in one.decades})]),
            (
                "max_interest_share",
                "interests",
                INTERESTS_DRAWN,
                [len(one.tables["interests"]) for one in lists],
            ),
        ):
            # Languages take turns, so that each needs its part of the kinds.
            most, count = ceil(getattr(self, key) * self.total), min(counts) * len(counts)
            if most * count < each * self.total:
                yield (
                    f"{key} = {getattr(self, key):g} cannot be kept: there are {count} {what}, and {count} times "
                    f"{getattr(self, key):g} is less than {'everyone' if each == 1 else f'{each} for everyone'}; set at least "
                    f"{ceil(100 * each / count) / 100:.2f}"
                )


def elements_of(config: BuildConfig) -> dict[str, Elements]:
    """What people are drawn from in each language of a build: the user's file, or ours."""
    own = config.build.elements
    return {
        language: Elements(config.place(own[language])) if language in own else elements(language)
        for language in config.build.languages
    }
