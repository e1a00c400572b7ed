"""Scenarios, example questions and question pools: the built-in ones, or the user's files.

Scenarios are categories with occasions for asking; examples are questions with what is known about their asker; a pool is
a file of questions, or of conversations as in ShareGPT and LMSYS-Chat-1M, whose first message is taken.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from personafit._errors import UserError, located
from personafit._hashing import draw
from personafit.benchmarks.lines import read_entries, read_lines, read_parquet, required_text
from personafit.build.asking import language_of
from personafit.build.config import BuildConfig, ConfigSection, meant
from personafit.build.people import PeopleSection
from personafit.build.prompts import DATA, checked, read_toml
from personafit.people import Person
from personafit.store import Product

OWN, OTHER = "pool:personafit-2", "other"
SCENARIOS, EXAMPLES, POOL = (DATA / name for name in ("scenarios.toml", "examples.jsonl", "pool.jsonl"))
ROUNDING = 0.005  # tolerance for the sum of the shares, since the published ones are rounded


class Scenario(BaseModel):
    """An occasion for asking a question."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1)
    zh: str = ""
    ask: list[str] = Field(default_factory=list)
    """Template questions for builds without a writer; `wen` is the same in Chinese."""
    wen: list[str] = Field(default_factory=list)

    def title(self, language: str) -> str:
        return (self.zh if language == "zh" else "") or self.name


class Category(BaseModel):
    """A category of questions."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1)
    en: str = ""
    zh: str = ""
    published: tuple[str, float] | None = None
    """The category's name in Table 5 of PersonaFeedback, and its share there in percent."""
    scenario: list[Scenario] = Field(min_length=1)

    def title(self, language: str) -> str:
        return (self.zh if language == "zh" else self.en) or self.name


class Scenarios(BaseModel):
    """A file of categories."""

    model_config = ConfigDict(extra="forbid")

    when: list[str] = Field(default_factory=lambda: [""])
    """Values for {when} in template questions; `shi` is the same for {shi} in Chinese."""
    shi: list[str] = Field(default_factory=lambda: [""])
    category: list[Category] = Field(min_length=1)

    @property
    def categories(self) -> dict[str, Category]:
        return {one.name: one for one in self.category}

    def shares(self) -> dict[str, float]:
        """Return the published share of each category, or equal shares if any category has none."""
        named = {one.name: one.published[1] / 100 for one in self.category if one.published}
        return (
            named
            if len(named) == len(self.category)
            else dict.fromkeys(self.categories, 1 / len(self.category))
        )

    def template_question(self, scenario: Scenario, language: str, *key: str | int) -> str | None:
        """Return a template question for a scenario, drawn by `key`; None if the file has none."""
        wordings, gap, fillings = (
            (scenario.wen, "shi", self.shi) if language == "zh" else (scenario.ask, "when", self.when)
        )
        if not wordings:
            return None
        wording = wordings[draw("template", *key, among=len(wordings))]
        return wording.replace(f"{{{gap}}}", fillings[draw("filling", *key, among=len(fillings))])


@cache
def read_scenarios(path: Path = SCENARIOS) -> Scenarios:
    """Read the categories of a file."""
    return checked(Scenarios, read_toml(path), str(path))


class Example(NamedTuple):
    """An example question, with the features and scenario it came from."""

    id: str
    language: str
    features: tuple[str, ...]
    scenario: str
    """The scenario as the file words it."""
    text: str


@cache
def examples(path: Path = EXAMPLES) -> tuple[Example, ...]:
    """Read the examples of a file, with one line per person (features and questions) or per question."""
    found = []
    for number, row in read_lines(path):
        asked = row.get("questions") or [row]
        known = row.get("features") or []
        if not isinstance(known, list) or not isinstance(asked, list):
            raise UserError(f"{located(path, number)} needs lists of `features` and `questions`.")
        for place, one in enumerate(asked, 1):
            text = required_text(one, "text", path, number)
            chosen = [known[n] for n in one.get("features") or ()] if row.get("questions") else known
            name = row.get("id") or f"{path.name}#{number}"
            features = tuple(map(str, chosen))
            language = str(row.get("language") or language_of(text))
            found.append(Example(f"{name}/{place}", language, features, str(one.get("scenario") or ""), text))
    return tuple(found)


class QuestionsSection(ConfigSection):
    """Settings of the questions step."""

    specific: int = Field(20, ge=0, le=500, description="Questions made from each person's features.")
    general: int = Field(15, ge=0, le=500, description="Questions matched to each person from the pool.")
    shares: dict[str, float] = Field(
        default_factory=dict,
        description="Share of each category among specific questions; as published if left out.",
    )
    scenarios: str = Field("", description="TOML file with categories and scenarios of your own.")
    offered: int = Field(5, ge=1, description="Scenarios the writer chooses from for each question.")
    examples: str = Field("", description="JSONL file with example questions of your own.")
    features: int = Field(3, ge=1, le=20, description="Features shown for each specific question.")
    pool: list[str] = Field(
        default_factory=list,
        description="Files of questions: JSONL with `text`, text with a question in each line, or conversations as ShareGPT and "
        "LMSYS-Chat-1M have them (.json, .jsonl, .parquet); empty takes our small pool.",
    )
    judged: int = Field(
        3000, ge=1, description="Questions of the pool that are judged; of larger pools a sample."
    )
    reuse: int = Field(6, ge=1, description="Most people who are given the same question of the pool.")
    similarity: float = Field(
        0.85, gt=0, le=1, description="Cosine from which two questions are near-duplicates; 1 compares words."
    )

    def faults(self, config: BuildConfig) -> Iterator[str]:
        yield from config.missing("pool", *self.pool)
        yield from config.missing("scenarios", self.scenarios)
        yield from config.missing("examples", self.examples)
        known, shares = open_scenarios(config).categories, self.shares_of(config)
        for name, share in shares.items():
            if name not in known:
                yield f"shares: there is no category '{name}'; {meant(name, list(known))}"
            if share < 0:
                yield f"shares.{name} = {share:g} is less than nothing"
        if abs(sum(shares.values()) - 1) > ROUNDING:
            yield f"shares add up to {sum(shares.values()):.4g}, not to 1"
        if self.specific + self.general == 0:
            yield "specific and general are both 0: there is nothing to ask"
        for language in config.build.languages if self.specific else ():
            if not any(one.language == language for one in open_examples(config)):
                yield f"examples: {self.examples} has none in '{language}'; add one, or leave `examples` out"
        if self.general and next(read_pool([config.place(named) for named in self.pool]), None) is None:
            yield f"pool: there is no question in {', '.join(self.pool)}; give one in each line, or set general = 0"

    def shares_of(self, config: BuildConfig) -> dict[str, float]:
        return self.shares or open_scenarios(config).shares()


def open_scenarios(config: BuildConfig) -> Scenarios:
    """Return the scenarios of a build: the user's, or the built-in ones."""
    asked = config.sections.get("questions")
    own = asked.scenarios if isinstance(asked, QuestionsSection) else ""
    return read_scenarios(config.own(own, SCENARIOS))


def open_examples(config: BuildConfig) -> tuple[Example, ...]:
    """Return the examples of a build: the user's, or the built-in ones."""
    return examples(config.own(config.section(QuestionsSection).examples, EXAMPLES))


def question_files(config: BuildConfig) -> list[Path]:
    """Return the files that shape the questions of a build."""
    section = config.section(QuestionsSection)
    lists = (config.own(section.scenarios, SCENARIOS), config.own(section.examples, EXAMPLES))
    return [*lists, *(map(config.place, section.pool) if section.pool else [POOL])]


def expected_questions(config: BuildConfig) -> int:
    """Return the number of benchmark questions, from the config alone."""
    asked = config.section(QuestionsSection)
    return config.section(PeopleSection).quota * (asked.specific + asked.general)


class KeptQuestion(NamedTuple):
    """A question that was kept for a person, with its lineage."""

    key: str
    """Identifies the question in the review queue."""
    person: Person
    number: int
    """Index of the question in the person's half, from 0."""
    product: Product
    half: str
    """specific or general."""
    category: str
    scenario: str
    features: tuple[str, ...] = ()
    """Ids or facet paths the question was made from."""
    example: str | None = None
    verdict: str | None = None
    """Id of the checker's verdict on it."""


class PoolQuestion(NamedTuple):
    """A question of a pool."""

    text: str
    language: str
    source: str
    category: str = OTHER
    """The category the file states, if any."""
    scenario: str = ""


ASKERS = ("human", "user")
"""Roles of the user in conversations of ShareGPT and of LMSYS-Chat-1M."""


def read_pool(paths: Sequence[Path]) -> Iterator[PoolQuestion]:
    """Yield the questions of the files, or of the built-in pool if there are none."""
    for path in paths or (POOL,):
        name = path.name if paths else OWN
        for number, row in _rows(path):
            text = " ".join(_asked(row, path, number).split())
            if text:
                about = (row.get("category") or OTHER, row.get("scenario") or "")
                yield PoolQuestion(text, language_of(text), f"{name}#{number}", *map(str, about))


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if path.suffix in (".jsonl", ".gz"):
        yield from read_lines(path)
    elif path.suffix == ".json":
        yield from enumerate((row for _, row in read_entries(path)), 1)
    elif path.suffix == ".parquet":
        yield from read_parquet(path)
    else:
        yield from enumerate(({"text": line} for line in text_lines(path, "pool") if line.strip()), 1)


def text_lines(path: Path, key: str) -> Iterator[str]:
    """Yield the lines of a text file named by a key of the config."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            yield from file
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); check `{key}`.") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8; save it as UTF-8.") from error


def _asked(row: Mapping[str, Any], path: Path, number: int) -> str:
    """Return a row's question: its `text` or `prompt`, or the first turn of its conversation; empty if that is not the user's."""
    turns = next(
        (row[key] for key in ("conversations", "conversation", "messages") if row.get(key) is not None), None
    )
    if turns is None:
        return required_text(row, "prompt" if "prompt" in row and "text" not in row else "text", path, number)
    first = next(iter(turns), None)
    if not isinstance(first, Mapping) or (first.get("from") or first.get("role")) not in ASKERS:
        return ""
    said = first.get("value") or first.get("content")
    return said if isinstance(said, str) else ""
