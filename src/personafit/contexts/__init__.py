"""Contexts: texts about a person for a model or rater. A new context is one file and one line in `CONTEXTS` (or an entry point).

The model that makes a context is named after `@`, as in `induced@openai:MODEL`; without it, the run's own model is used, which the
caller passes to `make_context`.
"""

import re
from collections.abc import Callable

from personafit._errors import UserError
from personafit._plugins import find_plugin
from personafit.contexts.context import (
    SUM,
    WAYS,
    Context,
    ContextBuilder,
    People,
    TaskItem,
    Unmade,
    task_item,
)
from personafit.contexts.making import (
    MADE,
    context_fingerprint,
    default_model,
    made_key,
    made_notes,
    make_contexts,
    makers,
)
from personafit.contexts.profile import (
    AttributesContext,
    WrongContext,
    attributes_context,
    dis_context,
    none_context,
    profile_context,
)
from personafit.models import Model, make_model

ContextFactory = Callable[[str, People, int], ContextBuilder]
"""Makes a builder from the argument after the name, the people and a seed."""


def _history_context(argument: str, people: People, seed: int) -> ContextBuilder:
    from personafit.contexts.memories import history_context

    return history_context(argument, people)


def _python_context(argument: str, people: People, seed: int) -> ContextBuilder:
    from personafit.contexts.function import python_context

    return python_context(argument)


CONTEXTS: dict[str, ContextFactory] = {
    "none": none_context,
    "profile": profile_context,
    "attributes": attributes_context,
    "history": _history_context,
    "python": _python_context,
}
"""Registry: kind of context → builder factory."""


def make_context(name: str, people: People, seed: int, model: str | None = None) -> ContextBuilder:
    """Make the builder for a name such as `profile`, `profile:Preference`, `D+I` or `wrong:profile`.

    `model` is the spec of the model for contexts that need one and do not name it, such as `induced`.
    """
    if name.startswith("wrong:"):
        return WrongContext(make_context(name.removeprefix("wrong:"), people, seed, model), people, seed)
    if is_remembered(name):
        return _remembered_context(name, people, model)
    if re.match(r"[DIS](?:$|\+)", name):
        return dis_context(name, people)
    kind, _, argument = name.partition(":")
    if kind in CONTEXTS:
        return CONTEXTS[kind](argument, people, seed)
    if (found := find_plugin("contexts", kind)) is not None:
        built: ContextBuilder = found(argument, people, seed)
        return built
    raise UserError(
        f"Unknown context '{name}'; there are {', '.join(one for one in CONTEXTS if one != 'python')}, memory, "
        "memory+filter[:profile], induced, sums of D, I and S, python:MODULE:OBJECT and wrong:CONTEXT."
    )


PLAIN = (
    "none, profile[:FIELDS], attributes:all, history[:budget=N], memory[:k=N,by=WAY,budget=N], sums of D, I and S, or wrong: "
    "before one of them"
)
"""The contexts that `is_plain` accepts, for messages."""

_OPTION = rf"(?:(?:k|budget)=[0-9]{{1,9}}|by=(?:{'|'.join(WAYS)}))"
_PLAIN = re.compile(
    r"(?:wrong:)?(?:none|profile(?::[^\x00-\x1f]*)?|history(?::budget=[0-9]{1,9})?"
    rf"|memory(?::{_OPTION}(?:,{_OPTION})*)?"
    # The last three are context names of runs on attributes only.
    rf"|{SUM}|attributes:all|attributes:human|attributes|attribute-alone)"
)


def is_plain(name: str) -> bool:
    """Return whether data may name this context."""
    return _PLAIN.fullmatch(name) is not None


# Options may contain the address of an embedder, and so an @.
_MEMORY = re.compile(r"memory(?::(.*?))?(?:(\+filter(?::profile)?)(?:@(.+))?)?")
_INDUCED = re.compile(r"induced(?:@(.+))?")


def is_remembered(name: str) -> bool:
    """Return whether a name is a context made from memories: `memory...` or `induced...`."""
    return re.match(r"(?:memory|induced)(?:$|[:+@])", name) is not None


def _remembered_context(name: str, people: People, model: str | None) -> ContextBuilder:
    """Make the builder of a `memory` or `induced` context; `model` is the spec to use if the name has none."""
    from personafit.contexts.filtering import BY_PROFILE, SUFFIX, FilteredContext
    from personafit.contexts.induction import InducedContext
    from personafit.contexts.memories import MemoryContext, check_people, memory_settings

    if induced := _INDUCED.fullmatch(name):
        check_people(people, name)
        return InducedContext(_model(name, induced[1] or model), induced[1])
    match = _MEMORY.fullmatch(name)
    if match is None:
        raise UserError(
            f"'{name}' is not a context; write memory[:k=3,by=hybrid], memory[:OPTIONS]{SUFFIX}[{BY_PROFILE}][@MODEL] or "
            "induced[@MODEL]; plain memory needs no model."
        )
    argument, filtered, named = match.groups()
    check_people(people, name)
    settings = memory_settings(argument or "", name)
    if filtered:
        by_profile = filtered.endswith(BY_PROFILE)
        return FilteredContext(settings, people, _model(name, named or model), named, by_profile)
    return MemoryContext(settings, people)


def _model(name: str, spec: str | None) -> Model:
    if spec is None:
        raise UserError(
            f"{name} needs a model to make it, and this run names none: write {name}@MODEL, such as {name}@openai:gpt-4.1-mini."
        )
    return make_model(spec)


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
