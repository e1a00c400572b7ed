"""What questions are about, and questions of ours: eight categories with their scenarios, examples of manner, and the pool.

The pool of general questions is ours, small, or that of the user's files.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Self

from pydantic import Field, model_validator

from personafit._hashing import draw
from personafit.benchmarks.lines import read_lines, required_text
from personafit.build.asking import language_of
from personafit.build.config import BuildConfig, ConfigSection, meant
from personafit.build.corpus import text_lines
from personafit.build.people import PeopleSection
from personafit.build.prompts import DATA, read_toml
from personafit.people import Person
from personafit.store import Product

OWN, OTHER = "pool:personafit-1", "other"
FILES = tuple(DATA / name for name in ("scenarios.toml", "examples.jsonl", "pool.jsonl"))
ROUNDING = 0.005  # by how much shares may miss 1: the published ones are rounded


class Scenario(NamedTuple):
    """One kind of occasion on which somebody asks."""

    category: str
    name: str
    titles: Mapping[str, str]
    """How it is called, by language."""
    templates: Mapping[str, list[str]]
    """Questions of ours for it, by language."""


class Category(NamedTuple):
    """One of the eight kinds of question."""

    titles: Mapping[str, str]
    published: str
    """Its name in Table 5 of PersonaFeedback."""
    share: float
    """Its share there, from 0 to 1."""
    scenarios: tuple[Scenario, ...]


@cache
def _tree() -> dict[str, Any]:
    return read_toml(DATA / "scenarios.toml")


@cache
def categories() -> dict[str, Category]:
    """The categories by name, in the order of their published shares."""
    found = {}
    for row in _tree()["category"]:
        scenarios = tuple(
            Scenario(
                row["name"],
                one["name"],
                {"en": one["name"], "zh": one["zh"]},
                {"en": one["ask"], "zh": one["wen"]},
            )
            for one in row["scenario"]
        )
        published, percent = row["published"]
        found[row["name"]] = Category({"en": row["en"], "zh": row["zh"]}, published, percent / 100, scenarios)
    return found


def published_shares() -> dict[str, float]:
    """The shares of Table 5; rounded there, they miss 1 by a ten-thousandth."""
    return {name: category.share for name, category in categories().items()}


def template_question(scenario: Scenario, language: str, *key: str | int) -> str:
    """A question of ours for a scenario, drawn by the key."""
    gap = {"en": "when", "zh": "shi"}[language]
    wordings, fillings = scenario.templates[language], _tree()[gap]
    wording = wordings[draw("template", *key, among=len(wordings))]
    return wording.replace(f"{{{gap}}}", fillings[draw("filling", *key, among=len(fillings))])


class Example(NamedTuple):
    """One question, whose it is, and what it came from."""

    id: str
    language: str
    features: tuple[str, ...]
    category: str
    scenario: str
    text: str


@cache
def examples() -> tuple[Example, ...]:
    """All of them, in the order of the file."""
    found = []
    for _, row in read_lines(DATA / "examples.jsonl"):
        for number, one in enumerate(row["questions"], 1):
            features = tuple(row["features"][place] for place in one["features"])
            about = (one["category"], one["scenario"], one["text"])
            found.append(Example(f"{row['id']}/{number}", row["language"], features, *about))
    return tuple(found)


class QuestionsSection(ConfigSection):
    """What the questions step is asked for."""

    specific: int = Field(20, ge=0, le=500, description="Questions made from each person's features.")
    general: int = Field(15, ge=0, le=500, description="Questions matched to each person from the pool.")
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
    similarity: float = Field(
        0.85, gt=0, le=1, description="Cosine from which two questions are near-duplicates; 1 compares words."
    )

    @model_validator(mode="after")
    def _possible(self) -> Self:
        for name, share in self.shares.items():
            if name not in categories():
                raise ValueError(f"shares: there is no category '{name}'; {meant(name, list(categories()))}")
            if share < 0:
                raise ValueError(f"shares.{name} = {share:g} is less than nothing")
        total = sum(self.shares.values())
        if abs(total - 1) > ROUNDING:
            raise ValueError(f"shares add up to {total:.4g}, not to 1")
        if self.specific + self.general == 0:
            raise ValueError("specific and general are both 0: there is nothing to ask")
        return self

    def faults(self, config: BuildConfig) -> Iterator[str]:
        """Pools that are not there or empty."""
        yield from config.missing("pool", *self.pool)
        if self.general and next(read_pool([config.place(named) for named in self.pool]), None) is None:
            yield f"pool: there is no question in {', '.join(self.pool)}; give one in each line, or set general = 0"


def expected_questions(config: BuildConfig) -> int:
    """Questions of the benchmark, from the config alone."""
    asked = config.section(QuestionsSection)
    return config.section(PeopleSection).quota * (asked.specific + asked.general)


class KeptQuestion(NamedTuple):
    """A question of somebody, with where it comes from."""

    key: str
    """Names it in the review queue."""
    person: Person
    number: int
    """Which of the person's questions of its half, from 0."""
    product: Product
    half: str
    """specific or general."""
    category: str
    scenario: str
    features: tuple[str, ...] = ()
    """Ids or paths of what it was made from."""
    example: str | None = None
    verdict: str | None = None
    """Id of the checker's word on it."""


class PoolQuestion(NamedTuple):
    """One question of a pool."""

    text: str
    language: str
    source: str
    """The file and line it is from."""
    category: str = OTHER
    """What the file says, if it does."""
    scenario: str = ""


def read_pool(paths: Sequence[Path]) -> Iterator[PoolQuestion]:
    """All questions of the files, or ours where there are none."""
    for path in paths or FILES[-1:]:
        name = path.name if paths else OWN
        if path.suffix == ".jsonl":
            for number, row in read_lines(path):
                text = " ".join(required_text(row, "text", path, number).split())
                about = (row.get("category") or OTHER, row.get("scenario") or "")
                if not row.get(
                    "objective"
                ):  # has one right answer; in our file so that the others keep their lines
                    yield PoolQuestion(text, language_of(text), f"{name}#{number}", *map(str, about))
        else:
            for number, line in enumerate(text_lines(path, "pool"), 1):
                if text := " ".join(line.split()):
                    yield PoolQuestion(text, language_of(text), f"{name}#{number}")
