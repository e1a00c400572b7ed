"""People with tasks in a benchmark folder: people.jsonl, tasks.jsonl and, if there is one, ontology.json."""

from collections.abc import Iterator
from pathlib import Path

from personafit._errors import UserError, located
from personafit._hashing import hash_text
from personafit._names import as_name
from personafit.benchmarks.benchmark import BenchmarkInfo, Controls
from personafit.benchmarks.folder import read_info
from personafit.benchmarks.folder_records import FolderRecords
from personafit.benchmarks.hub.copies import data_folder
from personafit.benchmarks.lines import read_object
from personafit.benchmarks.personalens.reader import PersonaLens
from personafit.benchmarks.personalens.repairs import Complain, refuse
from personafit.benchmarks.personalens.tasks import TaskBenchmark
from personafit.people import Person, Task

STARTER = Path(__file__).parents[1] / "starter" / "dialogues"


class FolderTasks(TaskBenchmark):
    """The people and tasks of a folder; faults, which name file, line and field, go to `complain`."""

    def __init__(self, folder: Path, name: str | None = None, complain: Complain = refuse) -> None:
        super().__init__()
        self._folder = folder
        for file in ("people.jsonl", "tasks.jsonl"):
            if not (folder / file).is_file():
                raise UserError(f"{folder} has no {file}; dialogues need people.jsonl and tasks.jsonl.")
        self._records = FolderRecords(folder, complain)
        if (folder / "benchmark.toml").is_file():
            self.info = read_info(folder / "benchmark.toml")
            self.info.layout = [["tasks"], ["domain"]]
            self.info.metrics["closed_values"] = self.closed_values
        else:
            version = hash_text((folder / "people.jsonl").read_bytes(), (folder / "tasks.jsonl").read_bytes())
            self.info = BenchmarkInfo(
                name=name or as_name(folder.resolve().name),
                version=version[:8],
                layout=[["tasks"], ["domain"]],
                controls=Controls(views=[], raters=[]),
                metrics={"closed_values": self.closed_values},
            )

    @property
    def closed_values(self) -> dict[str, tuple[str, ...]]:
        """Facet path to the values it can have, where ontology.json lists them."""
        path = self._folder / "ontology.json"
        if not path.is_file():
            return {}
        values: dict[str, tuple[str, ...]] = {}
        for domain, attributes in read_object(path).items():
            for name, attribute in attributes.items() if isinstance(attributes, dict) else ():
                listed = attribute.get("values") if isinstance(attribute, dict) else None
                if not isinstance(listed, list) or not all(isinstance(value, str) for value in listed):
                    raise UserError(
                        f"{located(path, None, f'{domain}.{name}.values')} must be a list of texts."
                    )
                values[f"{domain}.{name}"] = tuple(listed)
        return values

    def users(self) -> Iterator[tuple[Person, list[Task]]]:
        """Each person with their tasks, in the order of the files."""
        tasks: dict[str, list[Task]] = {}
        for task in self._records.tasks():
            tasks.setdefault(task.person, []).append(task)
        for person in self._records.people():
            yield person, tasks.get(person.id, [])

    def notes(self) -> list[str]:
        """Where the folder comes from."""
        return [self.info.description] if self.info.description else []


def open_tasks(data: Path | None, complain: Complain = refuse) -> TaskBenchmark:
    """The people and tasks that --data names: the published layout, a benchmark folder, or `starter`."""
    data = data_folder("personalens", data)
    if data is None:
        raise UserError(
            "personalens needs --data FOLDER, a copy of the published data (with res/ and data/) or a folder with "
            "people.jsonl and tasks.jsonl; `personafit data get personalens` fetches the one, --data starter takes the "
            "small set that is shipped."
        )
    if str(data) == "starter" and not data.is_dir():
        return FolderTasks(STARTER, "starter-dialogues", complain)
    if not data.is_dir():
        raise UserError(f"--data {data}: there is no such folder.")
    if (data / "tasks.jsonl").is_file():
        return FolderTasks(data, complain=complain)
    return PersonaLens(data, complain)
