"""The sections of a build file, and what is checked of them before anything is spent.

`[build]` and `[models]` are in `config.py`; every other section brings the steps that it is about (`STEPS` in `step.py`).
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from math import ceil
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from personafit.benchmarks import BENCHMARKS
from personafit.build.candidates import INTERESTS_DRAWN, LEAVES, Elements, elements
from personafit.build.config import MOST_ANSWERERS, TEMPLATE, BuildConfig, ConfigSection, config_of, meant
from personafit.build.corpus import LONGEST, read_corpus
from personafit.build.questions.scenarios import categories, published_shares, read_pool
from personafit.build.tasks.ontology import (
    OUR_TASKS,
    OURS,
    Ontology,
    TaskTemplate,
    read_definitions,
    read_ontology,
)


class PeopleSection(ConfigSection):
    """What the people step is asked for."""

    quota: int = Field(20, ge=1, description="People of the benchmark.")
    training: int = Field(
        0, ge=0, description="Further people for training pairs, none of them in the benchmark."
    )
    seeds: str = Field("", description="JSONL file of your own seed profiles; empty takes ours.")
    fields: list[str] = Field(
        default_factory=lambda: list(LEAVES),
        description="Fields the writer puts into words; the others stay as drawn.",
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
        """Seeds that are not there, lists that leave nothing to be drawn, and shares that cannot add up to everyone."""
        yield from _missing(config, "seeds", self.seeds)
        known = elements_of(config)
        for language in config.build.elements:
            yield from known[language].faults() if language in known else ()
        lists = known.values()
        for key, each, what, counts in (
            ("max_share", 1, "fields of work", [len(one.fields_of_work) for one in lists]),
            ("max_share", 1, "regions", [len(one.regions) for one in lists]),
            ("max_share", 1, "decades of age", [len({ten for one in lists for ten in one.decades})]),
            (
                "max_interest_share",
                INTERESTS_DRAWN,
                "interests",
                [len(one.tables["interests"]) for one in lists],
            ),
        ):
            share, count = getattr(self, key), min(counts) * len(counts)  # languages take turns
            if ceil(share * self.total) * count < each * self.total:
                yield (
                    f"{key} = {share:g} cannot be kept: there are {count} {what}, and {each} for everyone "
                    f"{'is' if each == 1 else 'are'} needed; set at least {ceil(100 * each / count) / 100:.2f}"
                )


def elements_of(config: BuildConfig) -> dict[str, Elements]:
    """What people are drawn from in each language of a build: the user's file, or ours."""
    own = config.build.elements
    return {
        language: Elements(config.place(own[language])) if language in own else elements(language)
        for language in config.build.languages
    }


LOOKED_AT = 1_000  # entries of each file, to see whether there are enough


class MemoriesSection(ConfigSection):
    """What the memories and features steps are asked for."""

    per_person: int = Field(12, ge=1, le=200, description="Memories of each person.")
    corpora: list[str] = Field(
        default_factory=list,
        description="JSONL files with `text`, or plain text with an empty line between entries; empty lets the writer write.",
    )
    sampled: int = Field(6, ge=1, description="Memories drawn for the profiler to infer features from.")
    features: int = Field(3, ge=1, le=20, description="Features inferred of each person.")

    def faults(self, config: BuildConfig) -> Iterator[str]:
        """Quotas that no corpus or person can fill, and corpora with nothing in them."""
        if self.sampled > self.per_person:
            yield f"sampled = {self.sampled} is more than the {self.per_person} memories a person has"
        if self.features > self.sampled:
            yield f"features = {self.features} is more than the {self.sampled} memories they are inferred from"
        yield from _missing(config, "corpora", *self.corpora)
        if self.corpora:
            paths = [config.place(name) for name in self.corpora]
            texts = {entry.text for path in paths for entry in islice(read_corpus(path), LOOKED_AT)}
            named = ", ".join(self.corpora)
            if not texts:
                yield f"corpora: there is nothing to remember in {named}; give entries of 1 to {LONGEST} characters"
            elif len(texts) < self.per_person:
                yield (
                    f"per_person = {self.per_person} is more than the {len(texts)} different entries of 1 to {LONGEST} characters in "
                    f"{named}"
                )


ROUNDING = 0.005  # by how much shares may miss 1: the published ones are rounded


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
        return self

    def faults(self, config: BuildConfig) -> Iterator[str]:
        """Pools that are not there or empty."""
        yield from _missing(config, "pool", *self.pool)
        if self.general and next(read_pool([config.place(named) for named in self.pool]), None) is None:
            yield f"pool: there is no question in {', '.join(self.pool)}; give one in each line, or set general = 0"


class AnswersSection(ConfigSection):
    """What the answers step is asked for."""

    words: int = Field(120, ge=8, le=2000, description="Length asked for, in words or Chinese characters.")
    makers: int = Field(
        MOST_ANSWERERS,
        ge=1,
        le=MOST_ANSWERERS,
        description="Models of the pool, drawn, that answer each question.",
    )
    features: int = Field(4, ge=1, le=20, description="Features that bear on the question, told for A1.")
    masked: float = Field(0.8, gt=0, lt=1, description="Share of the profile that is masked for A2.")
    improved: int = Field(1, ge=0, le=4, description="Answers to each question that are made better.")
    degraded: int = Field(1, ge=0, le=4, description="Answers to each question that are made worse.")

    def faults(self, config: BuildConfig) -> Iterator[str]:
        """Nothing that is answered."""
        if "questions" not in config.sections:
            yield "there is nothing to answer: add a section [questions]"


def expected_questions(config: BuildConfig) -> int:
    """Questions of the benchmark, from the config alone."""
    asked = config.section(QuestionsSection)
    return config.section(PeopleSection).quota * (asked.specific + asked.general)


FIRST_ANSWERS = 4  # by one model to one question: A1, A2, A3 and one for another person
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
        yield from _missing(config, "votes", *self.votes)
        answers = config.sections.get("answers")
        if not isinstance(answers, AnswersSection):
            yield "there is nothing to judge: add a section [answers]"
            return
        makers = min(answers.makers, len(config.models.pool()))
        left = (
            makers * FIRST_ANSWERS + min(answers.improved, 2 * makers) + min(answers.degraded, 2 * makers) - 2
        )
        if self.pairs > left // 2:
            yield (
                f"pairs = {self.pairs}, but an answer is shown in one pair only, and {left} answers to each question are left "
                f"beside the Easy pair: that makes {left // 2}; ask for more answers in [answers]"
            )
        people = config.sections.get("people")
        if isinstance(people, PeopleSection) and self.validation and people.quota < 2:
            yield "validation needs two people or more: set quota in [people], or validation = 0"


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
        if config.models.pool() == [TEMPLATE] or (not self.questions and config.models.writer == TEMPLATE):
            yield "templates make no training pairs: name a writer, or questions of your own, and answerers"
        if isinstance(people, PeopleSection) and people.training == 0:
            yield "there is nobody to train on: set training in [people], the people who are not in the benchmark"
        yield from _missing(config, "questions", self.questions)
        yield from _missing(config, "mix", self.mix)
        for _, place in self.excluded(config):
            if not place.exists():
                yield f"exclude: there is no benchmark {place}"


class TasksSection(ConfigSection):
    """What the steps of task profiles are asked for."""

    ontology: str = Field("", description="TOML file with domains of your own; empty takes ours.")
    definitions: str = Field("", description="TOML file with tasks of your own; empty takes ours.")
    domains: tuple[int, int] = Field((5, 8), description="Fewest and most domains one person cares about.")
    single: int = Field(6, ge=0, description="Most tasks over one domain for each person.")
    multi: int = Field(2, ge=0, description="Most tasks over several domains for each person.")
    refine: bool = Field(True, description="Let the writer exchange drawn preferences, within their shares.")
    shares: dict[str, dict[str, float]] = Field(
        default_factory=dict, description="Shares of values, as in {'Books.Format' = {'audiobook' = 0.5}}."
    )

    def faults(self, config: BuildConfig) -> Iterator[str]:
        """Quotas that cannot be met, whoever the people are."""
        ontology = open_ontology(config)
        low, high = self.domains
        if not 1 <= low <= high <= len(ontology.domains):
            yield f"domains = [{low}, {high}] must go from 1 to at most {len(ontology.domains)}, the smaller first"
        if self.single == self.multi == 0:
            yield "single and multi are both 0, so nobody would want anything"
        yield from _share_faults(self.shares, ontology)


def open_ontology(config: BuildConfig) -> Ontology:
    """The domains of a build."""
    return read_ontology(task_files(config)[0])


def open_definitions(config: BuildConfig, ontology: Ontology) -> list[TaskTemplate]:
    """The tasks of a build."""
    return read_definitions(ontology, task_files(config)[1])


def task_files(config: BuildConfig) -> list[Path]:
    """Where the domains and the tasks of a build are."""
    section = config.section(TasksSection)
    return [_place(config, section.ontology, OURS), _place(config, section.definitions, OUR_TASKS)]


def _place(config: BuildConfig, named: str, ours: Path) -> Path:
    return config.place(named) if named else ours


def _share_faults(shares: Mapping[str, Mapping[str, float]], ontology: Ontology) -> Iterator[str]:
    paths = ontology.paths()
    for path, wanted in shares.items():
        if path not in paths:
            yield f"shares: there is no attribute '{path}'; {meant(path, paths)}"
            continue
        values = list(ontology.attribute(path).values)
        for value, share in wanted.items():
            if value not in values:
                yield f"shares, {path}: there is no value '{value}'; {meant(value, values)}"
            elif not 0 <= share <= 1:
                yield f"shares, {path}: {value} = {share:g} must be from 0 to 1"
        total = sum(wanted.values())
        if total > 1 + 1e-9 or (set(wanted) == set(values) and total < 1 - 1e-9):
            yield f"impossible quota: the shares of {path} add up to {total:g}, not to 1"


def _missing(config: BuildConfig, key: str, *names: str) -> Iterator[str]:
    """A sentence for each file named by a key that is not there."""
    for path in (config.place(name) for name in names if name):
        if not path.is_file():
            yield f"{key}: there is no file {path}"


SECTIONS: dict[str, type[ConfigSection]] = {
    "people": PeopleSection,
    "memories": MemoriesSection,
    "questions": QuestionsSection,
    "answers": AnswersSection,
    "studies": StudiesSection,
    "pairs": PairsSection,
    "tasks": TasksSection,
}


def read_config(path: Path) -> BuildConfig:
    """The config of a file; the first fault is one sentence that names the key."""
    return config_of(path, SECTIONS)
