"""Whatever answers: an embedded model, an endpoint, a function, a recording. Add a kind with one line below."""

from collections.abc import Callable

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
from personafit.models.embedded import EmbeddedModel
from personafit.models.functions import (
    PYTHON_OPTIONS,
    FunctionModel,
    call,
    code_hash,
    load_instance,
    load_object,
)
from personafit.models.inspect_provider import InspectModel
from personafit.models.local import LocalModel
from personafit.models.openai import OpenAIModel
from personafit.models.placing import current_place
from personafit.models.replay import ReplayModel
from personafit.models.spec import Spec, parse_spec

MODELS: dict[str, Callable[[Spec], Model]] = {
    "embedded": EmbeddedModel,
    "hf": LocalModel,
    "inspect": InspectModel,
    "openai": OpenAIModel,
    "python": FunctionModel,
    "replay": ReplayModel,
}
"""Kind of spec to what makes the model."""


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
    "load_instance",
    "load_object",
    "make_model",
    "one_line",
    "parse_spec",
]
