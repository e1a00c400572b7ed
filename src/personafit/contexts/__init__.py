"""What someone is told about a person. A new context is one file and one line in `CONTEXTS` (or an entry point)."""

from collections.abc import Callable

from personafit._errors import UserError
from personafit._plugins import find_plugin
from personafit.contexts.context import Context, ContextBuilder, People, TaskItem, Unmade, task_item
from personafit.contexts.making import (
    MADE,
    context_fingerprint,
    default_model,
    made_key,
    made_notes,
    make_contexts,
    makers,
)
from personafit.contexts.memories import history_context
from personafit.contexts.names import PLAIN, is_dis, is_plain, is_remembered, remembered_context
from personafit.contexts.profile import AttributesContext, attributes_context, none_context, profile_context
from personafit.contexts.wrong import WrongContext

ContextFactory = Callable[[str, People, int], ContextBuilder]
"""From what follows the name, the people and a seed to the builder."""

CONTEXTS: dict[str, ContextFactory] = {
    "none": none_context,
    "profile": profile_context,
    "attributes": attributes_context,
    "history": history_context,
}
"""Kind of context to what makes its builder."""


def make_context(name: str, people: People, seed: int, model: str | None = None) -> ContextBuilder:
    """The builder a name such as `profile`, `profile:Preference`, `D+I` or `wrong:profile` stands for.

    `model` makes what needs a model and names none, such as `induced`.
    """
    if name.startswith("wrong:"):
        return WrongContext(make_context(name.removeprefix("wrong:"), people, seed, model), people, seed)
    if is_remembered(name):
        return remembered_context(name, people, model)
    if is_dis(name):
        from personafit.contexts.dis import dis_context

        return dis_context(name, people, seed)
    kind, _, argument = name.partition(":")
    if kind in CONTEXTS:
        return CONTEXTS[kind](argument, people, seed)
    if (found := find_plugin("contexts", kind)) is not None:
        built: ContextBuilder = found(argument, people, seed)
        return built
    raise UserError(
        f"Unknown context '{name}'; there are {', '.join(CONTEXTS)}, memory, memory+filter, induced, "
        "sums of D, I and S, and wrong:CONTEXT."
    )


__all__ = [
    "CONTEXTS",
    "MADE",
    "PLAIN",
    "AttributesContext",
    "Context",
    "ContextBuilder",
    "ContextFactory",
    "People",
    "TaskItem",
    "Unmade",
    "context_fingerprint",
    "default_model",
    "is_plain",
    "is_remembered",
    "made_key",
    "made_notes",
    "make_context",
    "make_contexts",
    "makers",
    "task_item",
]
