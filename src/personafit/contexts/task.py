"""A dialogue task as an item: contexts about a task need to know its domains and its situation."""

from functools import cached_property

from personafit.people import Task
from personafit.store import Item, Product


class TaskItem(Item):
    """The item of a task, with the task at hand."""

    task: Task

    @cached_property
    def product(self) -> Product:
        """The task in full, as it is stored."""
        return task_product(self.task)


def task_product(task: Task) -> Product:
    """A task as it is stored."""
    return Product(kind="task", text=task.model_dump_json(), maker=task.id, about=task.person)


def task_item(task: Task) -> TaskItem:
    """The item of a task; its id is person and task."""
    product = task_product(task)
    item = TaskItem(
        id=f"{task.person}/{task.id}",
        kind="task",
        person=task.person,
        prompt=task.intent,
        products=[product.id],
        group=f"{task.person}/{task.id}",
        slices={"tasks": task.kind, "domain": " + ".join(task.domains)},
        task=task,
    )
    item.__dict__["product"] = product  # made already: the cached property need not make it again
    return item
