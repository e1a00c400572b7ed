"""What someone is told about a person. A new context is one file and one line in `CONTEXTS` (or an entry point)."""

from collections.abc import Callable
from importlib.metadata import entry_points

from personafit._errors import UserError
from personafit.contexts.attributes import AttributesContext, attributes_context
from personafit.contexts.context import Context, ContextBuilder, People
from personafit.contexts.dis import dis_context, is_dis
from personafit.contexts.profile import none_context, profile_context
from personafit.contexts.task import TaskItem, task_item
from personafit.contexts.wrong import WrongContext

ContextFactory = Callable[[str, People, int], ContextBuilder]

CONTEXTS: dict[str, ContextFactory] = {
    "none": none_context,
    "profile": profile_context,
    "attributes": attributes_context,
}


def make_context(name: str, people: People, seed: int) -> ContextBuilder:
    """The builder a name such as `profile`, `profile:Preference`, `D+I` or `wrong:profile` stands for."""
    if name.startswith("wrong:"):
        return WrongContext(make_context(name.removeprefix("wrong:"), people, seed), people, seed)
    if is_dis(name):
        return dis_context(name, people, seed)
    kind, _, argument = name.partition(":")
    if kind in CONTEXTS:
        return CONTEXTS[kind](argument, people, seed)
    for entry in entry_points(group="personafit.contexts", name=kind):
        factory: ContextFactory = entry.load()
        return factory(argument, people, seed)
    raise UserError(
        f"Unknown context '{name}'; there are {', '.join(CONTEXTS)}, sums of D, I and S, and wrong:CONTEXT."
    )


__all__ = [
    "CONTEXTS",
    "AttributesContext",
    "Context",
    "ContextBuilder",
    "ContextFactory",
    "People",
    "TaskItem",
    "make_context",
    "task_item",
]
