"""What is voted on, and the folder that people vote from: `personafit label new STUDY --from FOLDER` takes it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from personafit._hashing import content_hash, draw
from personafit.benchmarks import BenchmarkInfo, Published, write_folder
from personafit.factory.studies.pools import Pool
from personafit.people import Person
from personafit.store import Item, Judgment, Product


@dataclass(frozen=True)
class Ballot:
    """An item with all a rater sees."""

    item: Item
    person: Person
    answers: tuple[dict[str, Any], ...]
    """Rows of the answers, in the order of the item's products."""

    @property
    def texts(self) -> list[str]:
        """The answers in words."""
        return [row["text"] for row in self.answers]


Ballots = Callable[[], Iterator[Ballot]]
"""All of them, made anew each time they are gone through, always the same."""


def ballot(study: str, pool: Pool, answers: Sequence[dict[str, Any]], *seed: str | int) -> Ballot:
    """An item about some answers, in a drawn order; other answers make another item, so that no vote is taken for one on them."""
    name = f"{study}/{pool.id}/{content_hash(sorted(row['id'] for row in answers))[:8]}"
    shown = tuple(sorted(answers, key=lambda row: draw("shown", *seed, name, row["id"], among=2**63)))
    item = Item(
        id=name,
        person=pool.person.id,
        prompt=pool.question["text"],
        products=[row["id"] for row in shown],
        group=pool.id,
        slices=pool.slices,
    )
    return Ballot(item, pool.person, shown)


def write_study(
    folder: Path, name: str, title: str, languages: list[str], ballots: Ballots, count: int
) -> None:
    """A folder of items without gold, that says of no answer who made it or why."""
    write_folder(folder, _Study(name, title, languages, ballots), f"# {title}\n\n{count:,} items.\n")


class _Study:
    """Ballots as a benchmark that nobody has judged yet."""

    def __init__(self, name: str, title: str, languages: list[str], ballots: Ballots) -> None:
        self.info = BenchmarkInfo(name=name, version="1", title=title, language=languages)
        self._ballots = ballots

    def people(self) -> Iterator[Person]:
        """Those the items are about, who come one after the other; what a rater sees is the profile."""
        for _, mine in groupby(self._ballots(), key=lambda one: one.person.id):
            yield next(mine).person

    def products(self) -> Iterator[Product]:
        """The answers."""
        for one in self._ballots():
            for row in one.answers:
                yield Product(id=row["id"], kind="answer", text=row["text"])

    def items(self) -> Iterator[Item]:
        """What is voted on."""
        return (one.item for one in self._ballots())

    def gold(self) -> Iterator[Judgment]:
        """None yet."""
        return iter(())

    def published(self) -> list[Published]:
        """None."""
        return []

    def notes(self) -> list[str]:
        """None."""
        return []
