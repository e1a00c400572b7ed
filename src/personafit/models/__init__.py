"""Chat models behind one interface: embedded, endpoints, functions, recordings. A new kind is one line in `MODELS`."""

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
    Tool,
    ToolCall,
    Transient,
    Unanswerable,
    Unusable,
    one_line,
)
from personafit.models.spec import Spec, parse_spec

MODELS: dict[str, str] = {
    "embedded": "embedded:EmbeddedModel",
    "hf": "local:LocalModel",
    "inspect": "inspect_provider:InspectModel",
    "openai": "openai:OpenAIModel",
    "python": "functions:FunctionModel",
    "replay": "replay:ReplayModel",
}
"""Registry: spec prefix → module and class of the model; the module is imported when a model of it is first made."""


def is_fixed(model: Model) -> bool:
    """Return whether a model's fingerprint covers its replies: a recording, or weights identified by their content.

    Replies of an endpoint or a user's function can change without notice.
    """
    kind = model.settings.get("kind")
    return kind in ("canned", "embedded", "replay") or (
        kind == "hf" and Path(model.endpoint.removeprefix("hf:")).is_dir()
    )


def make_model(spec: str | Spec) -> Model:
    """Make the model a spec names, in this process or on the model host in use."""
    from personafit.models.placing import current_place

    spec = parse_spec(spec) if isinstance(spec, str) else spec
    if spec.kind not in MODELS:
        raise UserError(
            f"'{spec.text}' names no model; kinds are {', '.join(MODELS)}, as in openai:MODEL@URL."
        )
    model, place = open_model(spec), current_place()
    return model if place is None else place.model(spec, model)


def open_model(spec: Spec) -> Model:
    """Open the model a spec names in this process, whatever `--backend` says."""
    module, _, name = MODELS[spec.kind].partition(":")
    model: Model = getattr(import_module(f"{__name__}.{module}"), name)(spec)
    return model


class OpenModels:
    """Models by spec, each opened at its first use, and closed together."""

    def __init__(self) -> None:
        self._open: dict[str, Model] = {}

    def open(self, spec: str) -> Model:
        if spec not in self._open:
            self._open[spec] = make_model(spec)
        return self._open[spec]

    async def close(self) -> None:
        for model in self._open.values():
            await model.close()


__all__ = [
    "LIKELIHOOD",
    "MODELS",
    "ChatReply",
    "ChatRequest",
    "Message",
    "Model",
    "ModelError",
    "OpenModels",
    "Spec",
    "Tool",
    "ToolCall",
    "Transient",
    "Unanswerable",
    "Unusable",
    "is_fixed",
    "make_model",
    "one_line",
    "open_model",
    "parse_spec",
]
