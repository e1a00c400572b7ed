"""The benchmark protocol: items about people, gold, controls, published scores, licence and metrics."""

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, Protocol, TypeVar

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from personafit._errors import UserError
from personafit._hashing import hash_stream
from personafit.people import Person
from personafit.store import FORGOTTEN_NOTE, Item, Judgment, Product, RaterRecord, Store
from personafit.store.records import original_of

BATCH = 2000

T = TypeVar("T")

_CONTEXT = AliasChoices("context", "view")
"""Older folders say `view`; stores keep that name, so that data set ids do not change."""


class Controls(BaseModel):
    """What is run beside every rater, so that a score says what remains."""

    model_config = ConfigDict(extra="forbid")

    contexts: list[str] = Field(
        default_factory=lambda: ["none", "wrong:profile"],
        validation_alias=AliasChoices("contexts", "views"),
        serialization_alias="views",
        description="Control contexts.",
    )
    raters: list[str] = Field(
        default_factory=lambda: ["rule:length", "rule:overlap"], description="Control raters."
    )


class Published(BaseModel):
    """A published score, quoted with its source; never measured by us."""

    model_config = ConfigDict(extra="forbid")

    model: str = Field(description="The model as the source calls it.")
    source: str = Field(description="Paper and table.")
    context: str = Field(
        "profile",
        validation_alias=_CONTEXT,
        serialization_alias="view",
        description="What the model was told.",
    )
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
    context: str = Field(
        "profile",
        validation_alias=_CONTEXT,
        serialization_alias="view",
        description="The context whose scores are the headline.",
    )
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
        """Return the info as text, as it enters the hash of a data set."""
        return self.model_dump_json(exclude={"kind"} if self.kind is None else None, by_alias=True)

    def stored(self) -> dict[str, Any]:
        """Return the info as stored, under the names used in stores."""
        return self.model_dump(by_alias=True)


class Benchmark(Protocol):
    """A source of people, products, items and gold. Readers without gold, published scores or notes inherit empty ones."""

    info: BenchmarkInfo

    def people(self) -> Iterator[Person]:
        """Iterate over the people the items refer to, and others who may serve as the wrong person."""

    def products(self) -> Iterator[Product]:
        """Iterate over the answers."""

    def items(self) -> Iterator[Item]:
        """Iterate over the items to judge."""

    def gold(self) -> Iterator[Judgment]:
        """Iterate over the right answers, with votes and tiers if known."""
        yield from ()

    def published(self) -> list[Published]:
        """Return the scores others have published on it."""
        return []

    def notes(self) -> list[str]:
        """Return notes on repairs and oddities found while reading, one sentence each."""
        return []


class HeldBenchmark(Benchmark):
    """A benchmark whose records are in memory."""

    def __init__(
        self,
        info: BenchmarkInfo,
        people: Iterable[Person],
        items: Iterable[Item],
        products: Iterable[Product] = (),
        notes: Iterable[str] = (),
    ) -> None:
        self.info = info
        self._people, self._items, self._products = list(people), list(items), list(products)
        self._notes = list(notes)

    def people(self) -> Iterator[Person]:
        return iter(self._people)

    def products(self) -> Iterator[Product]:
        return iter(self._products)

    def items(self) -> Iterator[Item]:
        return iter(self._items)

    def notes(self) -> list[str]:
        return self._notes


def ingest(store: Store, benchmark: Benchmark) -> str:
    """Store a benchmark unless it is stored already; return the id of the data set, its name and a hash of its content."""
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
    info = benchmark.info.stored()
    info |= {"published": [row.model_dump(by_alias=True) for row in benchmark.published()]}
    info |= {"notes": benchmark.notes(), "forgotten": len(forgotten)}
    store.begin_dataset(dataset, benchmark.info.name, info)
    known: set[str] = set()
    for people in _batches(benchmark.people()):
        known |= {person.id for person in people}
        store.add_people(dataset, people)
    for products in _batches(benchmark.products()):
        store.add_products(products)
    for items in _batches(enumerate(benchmark.items())):
        for _, item in items:
            if item.person not in known:
                raise UserError(
                    f"Item {item.id} of {benchmark.info.name} is about '{item.person}', who is not among its people."
                )
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


class Narrowed(Benchmark):
    """A benchmark without some of its items and their gold; subclasses decide about people and products."""

    def __init__(self, source: Benchmark, left_out: set[str]) -> None:
        self._source = source
        self._left_out = left_out

    def items(self) -> Iterator[Item]:
        return (item for item in self._source.items() if item.id not in self._left_out)

    def gold(self) -> Iterator[Judgment]:
        return (gold for gold in self._source.gold() if gold.item not in self._left_out)

    def notes(self) -> list[str]:
        return self._source.notes()


class WithoutForgotten(Narrowed):
    """A benchmark without forgotten people: their items, their gold, and answers written for them."""

    def __init__(self, source: Benchmark, forgotten: set[str]) -> None:
        self._count = len(forgotten)
        copies = {
            item.person for item in source.items() if original_of(item.person, item.slices) in forgotten
        }
        self._forgotten = forgotten = forgotten | copies
        splits = {
            name: [person for person in people if person not in forgotten]
            for name, people in source.info.splits.items()
        }
        self.info = source.info.model_copy(update={"splits": splits})
        texts = {product.text for product in source.products() if product.about in forgotten}
        made = {
            product.id
            for product in source.products()
            if product.about in forgotten or (product.about == "wrong" and product.text in texts)
        }
        left, kept, left_out = set[str](), set[str](), set[str]()
        for item in source.items():
            if item.person in forgotten or not made.isdisjoint(item.products):
                left_out.add(item.id)
                left.update(item.products)
            else:
                kept.update(item.products)
        self._unwanted = made | (left - kept)
        super().__init__(source, left_out)

    def people(self) -> Iterator[Person]:
        return (person for person in self._source.people() if person.id not in self._forgotten)

    def products(self) -> Iterator[Product]:
        """Iterate over the products, without those made for forgotten people or used only by dropped items."""
        return (product for product in self._source.products() if product.id not in self._unwanted)

    def published(self) -> list[Published]:
        return self._source.published()

    def notes(self) -> list[str]:
        return [*super().notes(), FORGOTTEN_NOTE.format(self._count)]


class WithAttributes(Narrowed):
    """A benchmark restricted to people with induced attributes."""

    def __init__(self, source: Benchmark, induced: Iterable[Person]) -> None:
        self._induced = {person.id: person.attributes for person in induced if person.attributes}
        self._people = [person for person in source.people() if person.id in self._induced]
        if not self._people:
            raise UserError(
                f"Nobody of {source.info.name} has attributes here: the log's people and the benchmark's must have the same ids."
            )
        super().__init__(source, {item.id for item in source.items() if item.person not in self._induced})
        self.info = source.info.model_copy(update={"name": f"{source.info.name}-induced", "splits": {}})

    def people(self) -> Iterator[Person]:
        """Iterate over people with their true profiles and their induced attributes."""
        for person in self._people:
            yield person.model_copy(update={"attributes": self._induced[person.id]})

    def products(self) -> Iterator[Product]:
        wanted = {product for item in self.items() for product in item.products}
        return (product for product in self._source.products() if product.id in wanted)


class Prompts(Benchmark):
    """Each distinct (person, question) of another benchmark, once."""

    becomes = "choice"
    """The kind of item that a system's answers turn them into."""

    def __init__(self, source: Benchmark) -> None:
        self._source = source
        self.info = BenchmarkInfo(
            name=f"{source.info.name}-questions",
            version=source.info.version,
            licence=source.info.licence,
            language=source.info.language,
            layout=[],
        )

    def tiers(self) -> dict[str, str]:
        """Return the tier of each question whose gold has one; kept out of the items, since it would change their sample."""
        gold = self._source.gold()
        return {row.item: str(row.extra["tier"]) for row in gold if row.extra and row.extra.get("tier")}

    def people(self) -> Iterator[Person]:
        return self._source.people()

    def products(self) -> Iterator[Product]:
        yield from ()

    def items(self) -> Iterator[Item]:
        seen: set[str] = set()
        for item in self._source.items():
            if item.group not in seen:
                seen.add(item.group)
                yield Item(
                    id=item.id,
                    kind="prompt",
                    person=item.person,
                    prompt=item.prompt,
                    products=[],
                    slices=item.slices,
                )
