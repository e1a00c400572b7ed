"""`[pairs]`: how many training pairs, against what, mixed with what, and whom they must not be about."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from personafit.benchmarks import BENCHMARKS
from personafit.factory.config import BuildConfig, ConfigSection
from personafit.factory.people.config import PeopleSection

HARD = ("wrong-person", "over-personalized", "degraded")


class PairsSection(ConfigSection):
    """What the pairs step is asked for."""

    per_person: int = Field(2, ge=1, description="Questions for each person of [people] training.")
    questions: str = Field(
        "", description="JSONL file with a `prompt` in each line; empty has the writer ask."
    )
    hard: int = Field(1, ge=0, le=len(HARD), description="Harder negatives for each question, in turn.")
    words: int = Field(120, ge=20, description="Length asked for, in words or characters.")
    mix: str = Field("", description="File in HelpSteer2's layout for pairs that are nobody's.")
    mix_share: float = Field(
        0.2, ge=0, lt=1, description="Their share of all pairs, if the file has as many."
    )
    validation: float = Field(
        0.1, ge=0, lt=1, description="Share of the people whose pairs are for validation."
    )
    similarity: float = Field(
        0.95, gt=0, le=1, description="Cosine from which two pairs are near-duplicates."
    )
    exclude: list[str] = Field(
        default_factory=list,
        description="Benchmarks whose people and questions must not be trained on: a folder, a people.jsonl, or NAME=FOLDER.",
    )

    def excluded(self, config: BuildConfig) -> list[tuple[str, Path]]:
        """The name, empty where none is given, and the place of each benchmark that is kept out."""
        found = []
        for named in self.exclude:
            name, given, place = named.rpartition("=")
            known = bool(given) and name in BENCHMARKS
            found.append((name, config.place(place)) if known else ("", config.place(named)))
        return found

    def faults(self, config: BuildConfig) -> Iterator[str]:
        """Nobody to make pairs for, or files that are not there."""
        people = config.sections.get("people")
        if isinstance(people, PeopleSection) and people.training == 0:
            yield "there is nobody to train on: set training in [people], the people who are not in the benchmark"
        for key, named in (("questions", self.questions), ("mix", self.mix)):
            if named and not config.place(named).is_file():
                yield f"{key}: there is no file {config.place(named)}"
        for _, place in self.excluded(config):
            if not place.exists():
                yield f"exclude: there is no benchmark {place}"
