"""`hf:PATH`: a causal language model on this machine, by the transformers library: a folder or a name on the hub.

Where letters are asked for, one look at the next token tells how likely each is, so generative reward models and judges that
name a letter cost one pass. Otherwise the model writes.
"""

import asyncio
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.models.chat import ChatReply, ChatRequest, Message, Unanswerable, Unusable, one_line
from personafit.models.spec import Spec
from personafit.models.weights import NEEDS, source_of, switch, weights_hash

_THOUGHT = re.compile(r"^\s*(?:<think>)?(.*?)</think>|^\s*<think>(.*)\Z", re.DOTALL)
_OPENS = ("<think>", "<|thinking|>")


class LocalModel:
    """A chat model whose weights are here."""

    max_concurrency = 1
    price = (0.0, 0.0)

    def __init__(self, spec: Spec) -> None:
        spec.allow(("trust", "think"))
        self.name = spec.text
        self._trust = switch(spec, "trust")
        # Templates of models that may reason first take this; others ignore it.
        self._template = {"enable_thinking": switch(spec, "think")} if "think" in spec.options else {}
        self.source = source_of(spec)
        self.endpoint = f"hf:{self.source}"
        self._tokenizer = self._read_tokenizer(spec)
        self.settings: dict[str, Any] = {
            "kind": "hf",
            "weights": weights_hash(self.source),
            "template": hash_text(str(self._tokenizer.chat_template)),
            "think": spec.options.get("think"),
        }
        self._model: Any = None
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="hf")

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Answer one request on the model's own thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._worker, self._chat, request)

    async def close(self) -> None:
        """Free the model's memory."""
        self._worker.shutdown(wait=True, cancel_futures=True)
        self._model = None

    def _chat(self, request: ChatRequest) -> ChatReply:
        if self._model is None:
            self._model = self._load()
        prompt = self._prompt(request.messages)
        room = getattr(self._model.config, "max_position_embeddings", None)
        if room is not None and len(prompt) >= room:
            raise Unanswerable(
                f"{self.name} reads at most {room:,} tokens, and this prompt has {len(prompt):,}."
            )
        try:
            if request.letters and (reply := self._letters(prompt, request.letters)) is not None:
                return reply
            most = request.max_tokens if room is None else min(request.max_tokens, room - len(prompt))
            return self._write(prompt, request, most)
        except (RuntimeError, MemoryError) as error:  # running out of memory is one
            raise Unanswerable(f"{self.name} cannot answer ({one_line(error)}).") from error

    def _prompt(self, messages: Sequence[Message]) -> list[int]:
        try:
            text = self._tokenizer.apply_chat_template(
                list(messages), tokenize=False, add_generation_prompt=True, **self._template
            )
        except Exception as error:  # chat templates are programs
            raise Unusable(f"{self.name}: its chat template cannot be used ({one_line(error)}).") from error
        tokens: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return tokens

    def _letters(self, prompt: list[int], letters: tuple[str, ...]) -> ChatReply | None:
        """How likely the reply is to begin with each letter; None where the model is about to think first."""
        import torch

        with torch.inference_mode():
            logits = self._model(input_ids=self._tensor(prompt), use_cache=False).logits[0, -1].float()
        scores = torch.log_softmax(logits, dim=-1)
        likeliest = self._tokenizer.decode([int(scores.argmax())])
        if likeliest.strip() in _OPENS:
            return None
        found: dict[str, float] = {}
        for letter in letters:
            tokens = self._tokens_of(letter)
            if not tokens:
                return None
            found[letter] = float(torch.logsumexp(scores[tokens], dim=0))
        if not all(map(_finite, found.values())):
            raise Unanswerable(f"{self.name} gives no finite score to the letters.")
        return ChatReply(text=likeliest, letter_scores=found, tokens_in=len(prompt), tokens_out=1)

    def _tokens_of(self, letter: str) -> list[int]:
        """The single tokens that say the letter, with a space before it or without."""
        found = set()
        for text in (letter, f" {letter}"):
            tokens = self._tokenizer(text, add_special_tokens=False)["input_ids"]
            if len(tokens) == 1 and self._tokenizer.decode(tokens).strip() == letter:
                found.add(int(tokens[0]))
        return sorted(found)

    def _write(self, prompt: list[int], request: ChatRequest, most: int) -> ChatReply:
        import torch

        given = self._tensor(prompt)
        sampled = request.temperature > 0
        settings: dict[str, Any] = {"temperature": request.temperature} if sampled else {}
        ends = self._ends()
        with torch.random.fork_rng(), torch.inference_mode():
            torch.manual_seed(request.seed or 0)
            out = self._model.generate(
                input_ids=given,
                attention_mask=torch.ones_like(given),
                max_new_tokens=most,
                do_sample=sampled,
                pad_token_id=ends[0] if ends else 0,
                **settings,
            )
        written = out[0, len(prompt) :].tolist()
        text = self._tokenizer.decode(written, skip_special_tokens=True)
        thought = _THOUGHT.match(text)
        reasoning = (thought[1] or thought[2] or "").strip() if thought else None
        text = text[thought.end() :] if thought else text
        return ChatReply(
            text=text.strip(),
            reasoning=reasoning or None,
            cut=len(written) >= most and written[-1] not in ends,
            tokens_in=len(prompt),
            tokens_out=len(written),
            tokens_reasoning=len(self._tokenizer(reasoning)["input_ids"]) if reasoning else 0,
        )

    def _ends(self) -> list[int]:
        ends = self._model.generation_config.eos_token_id
        if ends is None:
            ends = self._tokenizer.eos_token_id
        return [] if ends is None else list(ends) if isinstance(ends, list | tuple) else [int(ends)]

    def _tensor(self, tokens: list[int]) -> Any:
        import torch

        return torch.tensor([tokens], device=self._model.device)

    def _read_tokenizer(self, spec: Spec) -> Any:
        try:
            from transformers import AutoTokenizer
        except ImportError:
            raise UserError(f"{spec.text}: {NEEDS}.") from None
        try:
            tokenizer: Any = AutoTokenizer.from_pretrained(self.source, trust_remote_code=self._trust)
        except (OSError, ValueError, KeyError, TypeError, ImportError, AttributeError) as error:
            raise UserError(f"{spec.text}: its tokenizer cannot be read ({one_line(error)}).") from error
        if not tokenizer.chat_template:
            raise UserError(f"{spec.text}: its tokenizer has no chat template, so it is no model to talk to.")
        return tokenizer

    def _load(self) -> Any:
        import torch
        from transformers import AutoModelForCausalLM

        gpu = torch.cuda.is_available()
        try:
            model: Any = AutoModelForCausalLM.from_pretrained(
                self.source, dtype="bfloat16" if gpu else "float32", trust_remote_code=self._trust
            )
            return model.to("cuda" if gpu else "cpu").eval()
        except (OSError, ValueError, RuntimeError, ImportError, KeyError, AttributeError) as error:
            raise Unusable(f"{self.name}: the weights cannot be loaded ({one_line(error)}).") from error


def _finite(value: float) -> bool:
    return abs(value) < float("inf")  # false for nan too
