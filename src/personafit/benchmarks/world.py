"""A tool world as a benchmark: its people, and their requests as items that agents carry out.

`world` is the shipped one. With `--data` it is made of PersonaLens's people, domains and preferences, read from a copy of your own, or
of your own domains: a folder with a TOML file for each.
"""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from personafit._errors import UserError
from personafit._names import as_name
from personafit.benchmarks.benchmark import Benchmark, BenchmarkInfo, Controls
from personafit.people import Person
from personafit.store import Item, Product
from personafit.worlds.building import build
from personafit.worlds.ontology import WorldDomain, read_domain
from personafit.worlds.people import generate
from personafit.worlds.requests import World
from personafit.worlds.sources import personalens, shipped
from personafit.worlds.storage import INSTRUMENT, request_item

PEOPLE = 40  # of a world of one's own domains
ABOUT = (
    "People ask an assistant for something that many offers would do for. It acts through tools, and what it has done is held against "
    "what is true of the person: nobody judges, and an invented booking is no booking."
)


class WorldBenchmark(Benchmark):
    """The people and requests of a world."""

    def __init__(self, world: World, licence: str, source: str) -> None:
        self.world = world
        languages = sorted({resident.language for resident in world.residents.values()})
        self.info = BenchmarkInfo(
            name=world.name,
            version=INSTRUMENT,
            title="World: requests carried out with tools, for people who differ",
            description=f"{ABOUT} {source}",
            licence=licence,
            language=languages,
            metric="success",
            layout=[["level"], ["domain"]],
            controls=Controls(contexts=[], raters=[]),
            kind="episode",
        )

    @cached_property
    def _requests(self) -> list[tuple[Item, Product]]:
        """The requests as items and products, made once: going into a store they are wanted several times."""
        return [request_item(request) for request in self.world.requests.values()]

    def people(self) -> Iterator[Person]:
        """Everyone, as assistants may be told of them."""
        return (resident.person for resident in self.world.residents.values())

    def products(self) -> Iterator[Product]:
        """What makes each request."""
        return (product for _, product in self._requests)

    def items(self) -> Iterator[Item]:
        """The requests."""
        return (item for item, _ in self._requests)


def open_world(data: Path | None) -> WorldBenchmark:
    """The shipped world, or the one made of the domains or the PersonaLens people in a folder."""
    if data is None:
        return WorldBenchmark(shipped(), "as this package", "The shipped people and offers are generated.")
    if files := sorted(data.glob("*.toml")):
        domains = {file.stem: _domain(file) for file in files}
        world = build(as_name(data.resolve().name), generate(domains, PEOPLE, 0), 0)
        return WorldBenchmark(world, "unknown", "Domains are from a folder; people and offers are generated.")
    if not (data / "res").is_dir():
        raise UserError(
            f"{data} holds no world: give --data a folder with a TOML file for each domain, or a copy of PersonaLens (with res/schema.json)."
        )
    from personafit.benchmarks.personalens import PersonaLens

    reader = PersonaLens(data)
    world = personalens(reader.info.metrics["closed_values"], reader.people())
    source = "People, domains and preferences are PersonaLens's (arXiv 2506.09902); offers and requests are generated."
    return WorldBenchmark(world, reader.info.licence, source)


def _domain(file: Path) -> WorldDomain:
    try:
        return read_domain(file.stem, file.read_text(encoding="utf-8"), file)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file} cannot be read ({error}).") from error
