"""The weights of a reward model: a folder or a name on the hub, what it says of itself, and how it is loaded.

A folder that `personafit train reward` made says in personafit.json how people were rendered when it was trained; with
another rendering its scores would mean something else.
"""

from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError  # nosec B403 # what is no tensor in a .bin file is refused with it
from typing import Any

import orjson

from personafit._errors import UserError
from personafit.models import Spec, Unusable, one_line
from personafit.models.weights import NEEDS, source_of, switch, weights_hash

MAX_TOKENS = 4096


@dataclass(frozen=True)
class Weights:
    """A reward model that was found, not yet loaded."""

    spec: Spec
    source: str
    """Folder or hub name."""
    trust: bool
    tokenizer: Any
    config: Any
    adapter: bool
    trained: dict[str, Any] | None
    """What personafit.json says, where our own training made the folder."""

    @property
    def max_tokens(self) -> int:
        """The most tokens of one answer with all before it: as asked for, as trained, or what the model can read."""
        if "max_tokens" in self.spec.options:
            return int(self.spec.number("max_tokens", MAX_TOKENS, least=16))
        trained = ((self.trained or {}).get("settings") or {}).get("max_tokens")
        if isinstance(trained, int):
            return trained
        return min(MAX_TOKENS, getattr(self.config, "max_position_embeddings", None) or MAX_TOKENS)

    @property
    def fingerprint(self) -> str:
        """Hash of weights, configuration and tokenizer."""
        return weights_hash(self.source, getattr(self.config, "_commit_hash", None))

    def load(self) -> Any:
        """The model on the best device there is: half precision on a GPU, full precision on a CPU."""
        import torch
        from transformers.utils import logging

        logging.disable_progress_bar()  # a run has its own
        device = "cuda" if torch.cuda.is_available() else "cpu"
        settings = {"dtype": precision(), "trust_remote_code": self.trust}
        try:
            model = self._merged(settings) if self.adapter else self._whole(settings)
            return model.to(device).eval()
        except UnpicklingError as error:
            raise Unusable(
                f"{self.spec.text}: the weights cannot be loaded (they hold more than numbers)."
            ) from error
        except (OSError, ValueError, RuntimeError, ImportError, KeyError, AttributeError) as error:
            raise Unusable(f"{self.spec.text}: the weights cannot be loaded ({one_line(error)}).") from error

    def _whole(self, settings: dict[str, Any]) -> Any:
        from transformers import AutoModel, AutoModelForSequenceClassification

        made_for_it = "AutoModelForSequenceClassification" in getattr(self.config, "auto_map", {})
        if self.trust and getattr(self.config, "auto_map", None) and not made_for_it:
            return AutoModel.from_pretrained(self.source, **settings)  # a reward model in its own code
        model, report = AutoModelForSequenceClassification.from_pretrained(
            self.source, output_loading_info=True, **settings
        )
        if report["missing_keys"]:  # a head that nobody trained would score at random
            missing = ", ".join(sorted(report["missing_keys"])[:3])
            raise ValueError(f"it has no trained {missing}, so it is no reward model")
        return model

    def _merged(self, settings: dict[str, Any]) -> Any:
        from peft import AutoPeftModelForSequenceClassification

        model = AutoPeftModelForSequenceClassification.from_pretrained(self.source, num_labels=1, **settings)
        return model.merge_and_unload()


def find_weights(spec: Spec) -> Weights:
    """The model a spec names, as far as its configuration and tokenizer go; errors are one sentence."""
    if not spec.name:
        raise UserError(f"{spec.text}: name a folder, as in reward:PATH, or a server, as in reward:NAME@URL.")
    trust = switch(spec, "trust")
    source = source_of(spec)
    adapter = (Path(source) / "adapter_config.json").is_file()
    config, tokenizer = _read(spec, source, trust, adapter)
    made = getattr(config, "architectures", None) or []
    if not adapter and any(name.endswith(("ForCausalLM", "LMHeadModel")) for name in made):
        raise UserError(
            f"{spec.text}: it writes text and scores none; as a judge that names letters it is hf:{spec.name}."
        )
    labels = getattr(config, "num_labels", 1)
    if not adapter and not getattr(config, "auto_map", None) and labels != 1:
        raise UserError(f"{spec.text}: it gives {labels} numbers per text; a reward model gives one.")
    return Weights(spec, source, trust, tokenizer, config, adapter, _trained(spec, Path(source)))


def precision() -> str:
    """The number format that suits the device; part of a fingerprint, as scores move with it."""
    import torch

    if not torch.cuda.is_available():
        return "float32"
    return "bfloat16" if torch.cuda.is_bf16_supported() else "float16"


def _read(spec: Spec, source: str, trust: bool, adapter: bool) -> tuple[Any, Any]:
    try:
        from transformers import AutoConfig, AutoTokenizer
    except ImportError:
        raise UserError(f"{spec.text}: {NEEDS}.") from None
    try:
        base = source
        if adapter:
            base = orjson.loads((Path(source) / "adapter_config.json").read_bytes())[
                "base_model_name_or_path"
            ]
        config = AutoConfig.from_pretrained(base, trust_remote_code=trust)
        has_own = not adapter or any(
            (Path(source) / name).is_file() for name in ("tokenizer.json", "tokenizer.model")
        )
        return config, AutoTokenizer.from_pretrained(source if has_own else base, trust_remote_code=trust)
    except (OSError, ValueError, KeyError, TypeError, ImportError, AttributeError) as error:
        said = one_line(error)
        if not trust and "trust_remote_code" in str(error):
            said = "it brings code of its own; if you trust it, add ,trust=yes"
        raise UserError(f"{spec.text}: the model cannot be read ({said}).") from error


def _trained(spec: Spec, folder: Path) -> dict[str, Any] | None:
    path = folder / "personafit.json"
    if not path.is_file():
        return None
    try:
        said = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise UserError(f"{spec.text}: {path} cannot be read ({one_line(error)}).") from error
    if not isinstance(said, dict):
        raise UserError(f"{spec.text}: {path} must be a JSON object.")
    return said
