"""A tool world as a benchmark: its people, and their requests as items that agents carry out.

Without --data it is the shipped world. With `--data` it is built from PersonaLens's people, domains and preferences, read from your copy,
or from your own domains: a folder with a TOML file for each.
"""

from pathlib import Path

from personafit._errors import UserError
from personafit._names import as_name
from personafit.benchmarks.benchmark import BenchmarkInfo, Controls, HeldBenchmark
from personafit.benchmarks.hub import data_folder
from personafit.worlds.building import build
from personafit.worlds.ontology import WorldDomain, read_domain
from personafit.worlds.people import generate
from personafit.worlds.requests import World
from personafit.worlds.sources import personalens, shipped
from personafit.worlds.storage import INSTRUMENT, request_item

PEOPLE = 40  # people in a world built from a folder of domains
ABOUT = (
    "People ask an assistant for something that many offers would do for. It acts through tools, and what it has done is held against "
    "what is true of the person: nobody judges, and an invented booking is no booking."
)


class WorldBenchmark(HeldBenchmark):
    """The people and requests of a world."""

    def __init__(self, world: World, licence: str, source: str) -> None:
        self.world = world
        languages = sorted({resident.language for resident in world.residents.values()})
        info = BenchmarkInfo(
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
        requests = [request_item(request) for request in world.requests.values()]
        people = (resident.person for resident in world.residents.values())  # as assistants may see them
        super().__init__(info, people, (item for item, _ in requests), (product for _, product in requests))


def open_world(data: Path | None) -> WorldBenchmark:
    """Return the shipped world, or one built from the domains or the PersonaLens people in a folder."""
    if data is None:
        return WorldBenchmark(shipped(), "as this package", "The shipped people and offers are generated.")
    data = data_folder("world", data)
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
        return read_domain(file.stem, file.read_text(encoding="utf-8-sig"), file)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file} cannot be read ({error}).") from error
