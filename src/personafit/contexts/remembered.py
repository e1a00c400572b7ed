"""The names of contexts made from memories: `memory`, `memory+filter` and `induced`, with their options and their model.

The model is named after `@`, as in `induced@openai:MODEL`; without it the run's own model is meant, which whoever makes the builder
passes on.
"""

import re

from personafit._errors import UserError
from personafit.contexts.context import ContextBuilder, People
from personafit.models import Model, make_model

# Options may hold the address of an embedder, and so an @ of their own.
_MEMORY = re.compile(r"memory(?::(.*?))?(?:(\+filter)(?:@(.+))?)?")
_INDUCED = re.compile(r"induced(?::([^@]*))?()(?:@(.+))?")


def is_remembered(name: str) -> bool:
    """Whether a name means a context made from memories."""
    return re.match(r"(?:memory|induced)(?:$|[:+@])", name) is not None


def remembered_context(name: str, people: People, model: str | None) -> ContextBuilder:
    """Make the builder; `model` is the spec that is meant where the name has none."""
    from personafit.contexts.filtering import SUFFIX, FilteredContext
    from personafit.contexts.induction import InducedContext, induced_every
    from personafit.contexts.memory import MemoryContext, check_people, memory_settings

    induced = name.startswith("induced")
    match = (_INDUCED if induced else _MEMORY).fullmatch(name)
    if match is None:
        raise UserError(
            f"'{name}' is no context; write memory[:k=3,by=hybrid], memory[:OPTIONS]{SUFFIX}[@MODEL] or "
            "induced[:every=8][@MODEL]; plain memory needs no model."
        )
    argument, filtered, named = match[1] or "", match[2], match[3]
    check_people(people, name)
    if induced:
        every = induced_every(argument, name)
        return InducedContext(_model(name, named or model), every, named)
    settings = memory_settings(argument, name)
    if filtered:
        return FilteredContext(settings, people, _model(name, named or model), named)
    return MemoryContext(settings, people)


def _model(name: str, spec: str | None) -> Model:
    if spec is None:
        raise UserError(
            f"{name} needs a model to make it, and this run names none: write {name}@MODEL, such as {name}@openai:gpt-4.1-mini."
        )
    return make_model(spec)
