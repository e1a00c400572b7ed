"""People with tasks as a benchmark: each task is an item, and the only product of the item is the task in full."""

from abc import ABC, abstractmethod
from collections.abc import Iterator

from personafit.benchmarks.benchmark import BenchmarkInfo, Ungraded
from personafit.benchmarks.personalens.repairs import Repairs
from personafit.contexts import TaskItem, task_item
from personafit.people import Person, Task
from personafit.store import Product


class TaskBenchmark(Ungraded, ABC):
    """Base of readers that give people with tasks."""

    info: BenchmarkInfo

    def __init__(self) -> None:
        self.repairs = Repairs()
        self._all: list[tuple[Person, list[Task]]] | None = None

    @property
    @abstractmethod
    def closed_values(self) -> dict[str, tuple[str, ...]]:
        """Facet path to the values it can have, for those that come from a list."""

    @abstractmethod
    def users(self) -> Iterator[tuple[Person, list[Task]]]:
        """Each person with their tasks."""

    def _once(self) -> list[tuple[Person, list[Task]]]:
        """Everyone with their tasks, read once and kept: going into a store they are wanted several times."""
        if self._all is None:
            self._all = list(self.users())
        return self._all

    def tasks(self) -> Iterator[Task]:
        """All tasks, by person."""
        for _, tasks in self._once():
            yield from tasks

    def people(self) -> Iterator[Person]:
        """Everyone."""
        for person, _ in self._once():
            yield person

    def products(self) -> Iterator[Product]:
        """The tasks in full."""
        for item in self.items():
            yield item.product

    def items(self) -> Iterator[TaskItem]:
        """The tasks as items."""
        return (task_item(task) for task in self.tasks())
