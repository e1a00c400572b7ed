"""What a reward model reads: its weights and what they say of themselves, and the tokens of every answer with the same of the person for all.

Weights are a folder or a name on the hub. A folder that `personafit train reward` made says in personafit.json how people were rendered
when it was trained; with another rendering its scores would mean something else.
"""

import asyncio
import copy
import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import orjson

from personafit._errors import UserError
from personafit.contexts import Context
from personafit.items.reading import QuestionSet, Unit, Verdict
from personafit.models import Spec, Unanswerable, one_line
from personafit.models.reward.rendering import PromptRenderer, TooLongError
from personafit.models.weights import NEEDS, loading, source_of, switch, weights_hash
from personafit.people import FacetValue

MAX_TOKENS = 4096


@dataclass(frozen=True)
class Weights:
    """A reward model that was found, not yet loaded."""

    spec: Spec
    source: str  # folder or hub name
    trust: bool
    tokenizer: Any
    config: Any
    adapter: bool
    trained: dict[str, Any] | None  # what personafit.json says, where our own training made the folder

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
        with loading(self.spec.text):
            model = self._merged(settings) if self.adapter else self._whole(settings)
            return model.to(device).eval()

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
            f"{spec.text}: it generates text and is no reward model; to use it as a judge, write hf:{spec.name}."
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
        base, folder = source, Path(source)
        if adapter:
            base = orjson.loads((folder / "adapter_config.json").read_bytes())["base_model_name_or_path"]
        config = AutoConfig.from_pretrained(base, trust_remote_code=trust)
        own = any((folder / name).is_file() for name in ("tokenizer.json", "tokenizer.model"))
        return config, AutoTokenizer.from_pretrained(
            base if adapter and not own else source, trust_remote_code=trust
        )
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


def answer_groups(units: Sequence[Unit]) -> list[list[Unit]]:
    """The answers that stand together for one person and prompt, in their order."""
    return [list(run) for _, run in groupby(units, key=lambda unit: (id(unit.context), unit.prompt))]


def known(context: Context) -> Mapping[str, FacetValue]:
    """Return a context's facets; one without facets becomes a facet per line."""
    if context.facets or not context.text:
        return context.facets
    lines = [line.strip() for line in context.text.splitlines() if line.strip()]
    return {f"Known.{number}": line for number, line in enumerate(lines, 1)}


def settings_for(asks: QuestionSet, settings: dict[str, Any]) -> dict[str, Any]:
    """What a reward model's fingerprint covers; that of preferences scores each answer once for every attribute."""
    by_attribute = asks.by_score.scored_by[:1] == ("pair",)
    return {**settings, "of": "attribute by attribute"} if by_attribute else settings


def keep_scores(verdict: Verdict, scores: Sequence[float], details: Sequence[str | None]) -> list[float]:
    """Store the scores as the reply, with a note on dropped facets, and return them."""
    verdict.reply = orjson.dumps(list(scores)).decode()
    verdict.detail = "; ".join(dict.fromkeys(filter(None, details))) or None
    return list(scores)


OPTIONS = ("trust", "max_tokens")
THREADS = 4


class Readers:
    """Makes tokens of answers for many asks at once; a tokenizer serves one thread, so each thread has its own."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        renderer = _renderer(weights)
        self.settings = {"weights": weights.fingerprint, "rendering": renderer.fingerprint}
        self.fitted_on = frozenset((weights.trained or {}).get("fitted_on", ()))
        self._max_tokens = renderer.max_tokens
        self._threads = ThreadPoolExecutor(min(THREADS, os.cpu_count() or 1), "tokens")
        self._own = threading.local()

    async def tokens(self, group: Sequence[Unit]) -> tuple[list[list[int]], str | None]:
        """The tokens of every answer, and what was left out of the person, if anything; made off the loop."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._tokens, group)

    def close(self) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _tokens(self, group: Sequence[Unit]) -> tuple[list[list[int]], str | None]:
        if not hasattr(self._own, "renderer"):
            tokenizer = copy.deepcopy(self._weights.tokenizer)
            self._own.renderer = PromptRenderer(tokenizer, self._max_tokens)
        prompt, facets = group[0].prompt, known(group[0].context)
        try:
            texts = self._own.renderer.render_together(facets, prompt, [unit.text for unit in group])
        except TooLongError as error:
            name = self._weights.spec.text
            raise Unanswerable(f"{name} cannot read the answers to '{prompt:.60}': {error}.") from error
        dropped = max(text.dropped for text in texts)
        said = f"{dropped} of {len(facets)} facets left out to keep to {self._max_tokens:,} tokens"
        return [text.tokens for text in texts], said if dropped else None


def _renderer(weights: Weights) -> PromptRenderer:
    """How answers are put before the model; a model trained on another rendering is refused."""
    spec = weights.spec
    renderer = PromptRenderer(weights.tokenizer, weights.max_tokens)
    try:
        renderer.render({}, "Which?", "This one.")
    except TooLongError:
        raise UserError(f"{spec.text}: {weights.max_tokens} tokens are too few for any answer.") from None
    except Exception as error:  # chat templates are programs
        raise UserError(f"{spec.text}: its chat template cannot be used ({one_line(error)}).") from error
    trained = (weights.trained or {}).get("rendering", renderer.fingerprint)
    if trained != renderer.fingerprint:
        raise UserError(
            f"{spec.text}: it was trained with another rendering of people ({str(trained)[:8]}, here {renderer.fingerprint[:8]}), so its "
            "scores would mean little; use the version and max_tokens it was trained with."
        )
    return renderer
