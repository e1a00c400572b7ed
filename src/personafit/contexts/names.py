"""What the names of contexts mean: which of them data may name, which are sums of D, I and S, and which are made from memories.

The model that makes a context is named after `@`, as in `induced@openai:MODEL`; without it the run's own model is meant, which whoever
makes the builder passes on.
"""

import re

from personafit._errors import UserError
from personafit.contexts.context import ContextBuilder, People
from personafit.contexts.memories import WAYS
from personafit.models import Model, make_model

_PART = r"(?:D|S|I(?:~[a-z]+:[0-9.]+)*)"
SUM = rf"{_PART}(?:\+{_PART})*"
"""What a sum of D, I and S looks like, as a regular expression."""

PLAIN = (
    "none, profile[:FIELDS], attributes:all, history[:budget=N], memory[:k=N,by=WAY,budget=N], sums of D, I and S, or wrong: "
    "before one of them"
)
"""The list in words."""

_OPTION = rf"(?:(?:k|budget)=[0-9]{{1,9}}|by=(?:{'|'.join(WAYS)}))"
_PLAIN = re.compile(
    r"(?:wrong:)?(?:none|profile(?::[^\x00-\x1f]*)?|history(?::budget=[0-9]{1,9})?"
    rf"|memory(?::{_OPTION}(?:,{_OPTION})*)?"
    # The last three are how runs on attributes call what they show; no other run makes them.
    rf"|{SUM}|attributes:all|attributes:human|attributes|attribute-alone)"
)


def is_plain(name: str) -> bool:
    """Whether data may name this context."""
    return _PLAIN.fullmatch(name) is not None


def is_dis(name: str) -> bool:
    """Whether a name is a sum of D, I and S."""
    return re.match(r"[DIS](?:$|[+~])", name) is not None


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
