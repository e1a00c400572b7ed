"""Who is asked for, some people at a time: everything of one block is in memory and nothing else."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from personafit.factory.bench import Bench
from personafit.factory.people.config import PeopleSection
from personafit.factory.people.elements import INTERESTS, LEAVES
from personafit.factory.people.step import TRAINING
from personafit.factory.questions.config import QuestionsSection
from personafit.people import Person, facet_values, select_facets

BENCHMARK_SPLIT, TRAINING_SPLIT = "benchmark", "training"
SOURCES = {"features": "memories", "people": "people"}  # the last step that adds to people, by section
FIRST, BLOCK = 8, 1_000  # people at a time; few at first, so that a model of no use is found out


@dataclass(frozen=True, slots=True)
class BlockMember:
    """One person of a block."""

    place: int
    """Which in the order of all people, from 0."""
    split: str
    person: Person

    @property
    def features(self) -> list[tuple[str, str]]:
        """What was inferred of them, as (id, text); where nothing was, what their own profile says, as (path, text)."""
        inferred = [(one.id, one.text) for one in self.person.attributes]
        if inferred:
            return inferred
        facets = select_facets(self.person.facets, [*LEAVES, INTERESTS])
        return [(path, text) for path, value in facets.items() for text in facet_values({path: value})]


def splits_of(section: QuestionsSection) -> dict[str, str]:
    """The splits questions are made for, each with the stream its people are in."""
    return {BENCHMARK_SPLIT: "people"} | ({TRAINING_SPLIT: TRAINING} if section.training else {})


def source(bench: Bench) -> str:
    """The step whose people are the most fully known."""
    return next(step for step, section in SOURCES.items() if section in bench.config.sections)


def everyone(bench: Bench, section: QuestionsSection) -> Iterator[BlockMember]:
    """All people questions are made for, streamed."""
    place = 0
    for split, stream in splits_of(section).items():
        for person in bench.read(source(bench), Person, stream):
            yield BlockMember(place, split, person)
            place += 1


def blocks(bench: Bench, section: QuestionsSection) -> Iterator[list[BlockMember]]:
    """The same in blocks, a small one first."""
    people, size = everyone(bench, section), FIRST
    while block := list(islice(people, size)):
        yield block
        size = BLOCK


def expected_people(bench: Bench, section: QuestionsSection) -> int:
    """How many people there will be, from the config alone."""
    people = bench.config.section(PeopleSection)
    return people.total if section.training else people.quota
