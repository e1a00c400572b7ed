"""Whatever answers: an embedded model, an endpoint, a function, a recording. Add a kind with one line below."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from personafit._errors import UserError
from personafit.models.chat import (
    LIKELIHOOD,
    ChatReply,
    ChatRequest,
    Message,
    Model,
    ModelError,
    Transient,
    Unanswerable,
    Unusable,
    one_line,
)
from personafit.models.functions import (
    PYTHON_OPTIONS,
    call,
    code_hash,
    load_instance,
    load_object,
)
from personafit.models.placing import current_place
from personafit.models.spec import Spec, parse_spec


def _made_by(target: str) -> Callable[[Spec], Model]:
    """Makes models of a class whose module is imported when the first is made."""

    def make(spec: Spec) -> Model:
        module, _, name = target.partition(":")
        model: Model = getattr(import_module(module), name)(spec)
        return model

    return make


MODELS: dict[str, Callable[[Spec], Model]] = {
    "embedded": _made_by("personafit.models.embedded:EmbeddedModel"),
    "hf": _made_by("personafit.models.local:LocalModel"),
    "inspect": _made_by("personafit.models.inspect_provider:InspectModel"),
    "openai": _made_by("personafit.models.openai:OpenAIModel"),
    "python": _made_by("personafit.models.functions:FunctionModel"),
    "replay": _made_by("personafit.models.replay:ReplayModel"),
}
"""Kind of spec to what makes the model."""


def is_fixed(model: Model) -> bool:
    """Whether a model's fingerprint covers what it answers: a recording, or weights known by their content.

    What answers behind an endpoint, and what a function calls, can change unseen.
    """
    kind = model.settings.get("kind")
    return kind in ("canned", "embedded", "replay") or (
        kind == "hf" and Path(model.endpoint.removeprefix("hf:")).is_dir()
    )


def make_model(spec: str | Spec) -> Model:
    """The model a spec names."""
    spec = parse_spec(spec) if isinstance(spec, str) else spec
    if spec.kind not in MODELS:
        raise UserError(
            f"'{spec.text}' names no model; kinds are {', '.join(MODELS)}, as in openai:MODEL@URL."
        )
    model, place = MODELS[spec.kind](spec), current_place()
    return model if place is None else place.model(spec, model)


__all__ = [
    "LIKELIHOOD",
    "MODELS",
    "PYTHON_OPTIONS",
    "ChatReply",
    "ChatRequest",
    "Message",
    "Model",
    "ModelError",
    "Spec",
    "Transient",
    "Unanswerable",
    "Unusable",
    "call",
    "code_hash",
    "is_fixed",
    "load_instance",
    "load_object",
    "make_model",
    "one_line",
    "parse_spec",
]
