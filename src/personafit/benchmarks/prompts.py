"""The questions of a benchmark without its answers: what a system is asked when it is the one under test."""

from collections.abc import Iterator

from personafit.benchmarks.benchmark import Benchmark, BenchmarkInfo, Ungraded
from personafit.people import Person
from personafit.store import Item, Product


class Prompts(Ungraded):
    """Each distinct (person, question) of another benchmark, once."""

    becomes = "choice"
    """The kind of item that a system's answers make of them."""

    def __init__(self, source: Benchmark) -> None:
        self._source = source
        self.info = BenchmarkInfo(
            name=f"{source.info.name}-questions",
            version=source.info.version,
            licence=source.info.licence,
            language=source.info.language,
            layout=[],
        )

    def people(self) -> Iterator[Person]:
        """The source's people."""
        return self._source.people()

    def products(self) -> Iterator[Product]:
        """None: they are about to be made."""
        yield from ()

    def items(self) -> Iterator[Item]:
        """The questions."""
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
