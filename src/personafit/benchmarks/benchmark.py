"""What a benchmark is: items about people, gold, controls, published figures, licence, and how scores add up."""

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from personafit._hashing import hash_stream
from personafit.benchmarks.forgotten import WithoutForgotten
from personafit.people import Person
from personafit.store import Item, Judgment, Product, RaterRecord, Store

BATCH = 2000

T = TypeVar("T")


class Controls(BaseModel):
    """What is run beside every rater, so that a score says what remains."""

    model_config = ConfigDict(extra="forbid")

    views: list[str] = Field(
        default_factory=lambda: ["none", "wrong:profile"], description="Control contexts."
    )
    raters: list[str] = Field(
        default_factory=lambda: ["rule:length", "rule:overlap"], description="Control raters."
    )


class Published(BaseModel):
    """One published score, quoted with its source; never ours."""

    model_config = ConfigDict(extra="forbid")

    model: str = Field(description="The model as the source calls it.")
    source: str = Field(description="Paper and table.")
    view: str = Field("profile", description="What the model was told.")
    family: str | None = Field(None, description="Model family, such as Qwen2.5.")
    size: float | None = Field(None, description="Parameters in billions, where known.")
    kind: str = Field(description="reasoning, chat, open-source, reward or trained reward.")
    scores: dict[str, float] = Field(description="Slice, such as general/hard, to percent.")


class BenchmarkInfo(BaseModel):
    """What a benchmark says of itself: the contents of `benchmark.toml`."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(description="Short name, as in reports.")
    version: str = Field(description="Changes whenever the data do.")
    title: str = Field("", description="A line for people.")
    description: str = Field("", description="What it is and who labelled it.")
    licence: str = Field("unknown", description="Licence of the data.")
    language: list[str] = Field(default_factory=list, description="Languages of the texts.")
    gold: str = Field("author", description="Name of the gold rater that counts.")
    metric: str = Field("accuracy", description="The headline metric.")
    view: str = Field("profile", description="The view whose scores are the headline.")
    layout: list[list[str]] = Field(
        default_factory=lambda: [["tier"]],
        description="Slices to report by, each a list of names: [['half', 'tier'], ['half']].",
    )
    splits: dict[str, list[str]] = Field(default_factory=dict, description="Names to lists of person ids.")
    controls: Controls = Field(default_factory=lambda: Controls.model_validate({}), description="Controls.")
    metrics: dict[str, Any] = Field(default_factory=dict, description="Further settings of metrics.")
    coverage_bar: float = Field(0.95, description="A run below this coverage fails.")
    kind: str | None = Field(
        None, description="Kind of the items, where they do not say it themselves, such as injection."
    )

    def identity(self) -> str:
        """What the info adds to the hash of a data set."""
        return self.model_dump_json(exclude={"kind"} if self.kind is None else None)


class Benchmark(Protocol):
    """A source of people, products, items and gold."""

    info: BenchmarkInfo

    def people(self) -> Iterator[Person]:
        """Everyone the items refer to, and others who may stand in as the wrong person."""

    def products(self) -> Iterator[Product]:
        """The answers."""

    def items(self) -> Iterator[Item]:
        """What is judged."""

    def gold(self) -> Iterator[Judgment]:
        """The right answers, with votes and tiers where known."""

    def published(self) -> list[Published]:
        """Scores others have published on it."""

    def notes(self) -> list[str]:
        """What was repaired or found odd while reading, a sentence each."""


class Ungraded:
    """The part of a benchmark that says nothing: for questions nobody has answered yet, or nobody knows the answer to."""

    def gold(self) -> Iterator[Judgment]:
        """None: nobody knows."""
        yield from ()

    def published(self) -> list[Published]:
        """None."""
        return []

    def notes(self) -> list[str]:
        """None."""
        return []


def ingest(store: Store, benchmark: Benchmark) -> str:
    """Put a benchmark into the store once, and return the id of the data set: its name and a hash of its content."""
    fingerprint = hash_stream(
        chain(
            [benchmark.info.identity()],
            (person.version for person in benchmark.people()),
            (f"{item.id}={item.hash}={item.slices}" for item in benchmark.items()),
            (
                f"{gold.item}={gold.rater}={gold.target}={gold.label}={gold.value}={gold.extra}"
                for gold in benchmark.gold()
            ),
        )
    )
    dataset = f"{benchmark.info.name}@{fingerprint[:12]}"
    if store.has_dataset(dataset):
        return dataset
    forgotten: set[str] = set()
    for ids in _batches(person.id for person in benchmark.people()):
        forgotten |= store.forgotten(ids)
    if forgotten:
        benchmark = WithoutForgotten(benchmark, forgotten)
    info = benchmark.info.model_dump() | {"published": [row.model_dump() for row in benchmark.published()]}
    info |= {"notes": benchmark.notes(), "forgotten": len(forgotten)}
    store.begin_dataset(dataset, benchmark.info.name, info)
    for people in _batches(benchmark.people()):
        store.add_people(dataset, people)
    for products in _batches(benchmark.products()):
        store.add_products(products)
    for items in _batches(enumerate(benchmark.items())):
        store.add_items(dataset, items)
    raters: set[str] = set()
    for gold in _batches(benchmark.gold()):
        raters |= {row.rater for row in gold}
        store.add_judgments(row.model_copy(update={"ask": f"{dataset}#{row.rater}"}) for row in gold)
    store.add_raters(RaterRecord(fingerprint=name, name=name, kind="gold") for name in sorted(raters))
    store.finish_dataset(dataset)
    return dataset


def _batches(rows: Iterable[T]) -> Iterator[list[T]]:
    iterator = iter(rows)
    while batch := list(islice(iterator, BATCH)):
        yield batch
