"""`hf:PATH`: a causal language model on this machine, by the transformers library: a folder or a name on the hub.

If letters are requested, one forward pass gives the probability of each as the next token, so generative reward models and judges
that name a letter cost one pass. A given reply is scored in one pass too. Otherwise the model generates. With `,batch=N` up to N
waiting requests of one kind share a pass, which makes good use of a GPU.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.models.chat import (
    LIKELIHOOD,
    ChatReply,
    ChatRequest,
    Message,
    Unanswerable,
    Unusable,
    one_line,
)
from personafit.models.spec import Spec
from personafit.models.weights import NEEDS, Batcher, loading, source_of, switch, weights_hash

_THOUGHT = re.compile(r"^\s*+(?:<think>)?+(.*?)</think>|^\s*+<think>(.*)\Z", re.DOTALL)
_OPENS = ("<think>", "<|thinking|>")


class LocalModel:
    """A causal language model of the transformers library on this machine."""

    price = (0.0, 0.0)

    def __init__(self, spec: Spec) -> None:
        spec.allow(("trust", "think", "batch"))
        self.name = spec.text
        self.max_concurrency = _batch(spec)
        self._trust = switch(spec, "trust")
        # Templates of reasoning models take this; others ignore it.
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
        self._batches = Batcher(self._answers, self.max_concurrency, _kind)

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Answer one request on the model's own thread, batched with others that wait."""
        return await self._batches.submit(request)

    async def close(self) -> None:
        await self._batches.close()
        self._model = None

    def _answers(self, requests: Sequence[ChatRequest]) -> list[ChatReply | Exception]:
        """Answer a batch of requests of one kind; the entry of a failed request is its error."""
        if self._model is None:
            self._model = self._load()
        prompts = [self._prompt(request.messages) for request in requests]
        room = self._room()
        found: list[ChatReply | Exception] = [
            Unanswerable(f"{self.name} reads at most {room:,} tokens, and this prompt has {len(prompt):,}.")
            for prompt in prompts
        ]
        left = [place for place, prompt in enumerate(prompts) if len(prompt) < room]
        if left:
            try:
                replies = self._together([requests[at] for at in left], [prompts[at] for at in left])
            except (RuntimeError, MemoryError) as error:  # running out of memory is a RuntimeError
                replies = [Unanswerable(f"{self.name} cannot answer ({one_line(error)}).")] * len(left)
            for place, reply in zip(left, replies, strict=True):
                found[place] = reply
        return found

    def _together(
        self, requests: Sequence[ChatRequest], prompts: Sequence[list[int]]
    ) -> Sequence[ChatReply | Exception]:
        passes = Passes(self._model, self._ends())
        first = requests[0]
        if first.weighed:
            return self._weigh(passes, requests, prompts)
        if first.letters:
            scores = passes.next_scores(prompts)
            replies = [
                self._letters(row, prompt, first.letters) for row, prompt in zip(scores, prompts, strict=True)
            ]
            return [
                reply if reply is not None else self._write(passes, [request], [prompt])[0]
                for reply, request, prompt in zip(replies, requests, prompts, strict=True)
            ]
        return self._write(passes, requests, prompts)

    def _weigh(
        self, passes: "Passes", requests: Sequence[ChatRequest], prompts: Sequence[list[int]]
    ) -> list[ChatReply | Exception]:
        """Return the mean log-probability of each given reply's tokens."""
        replies = [self._tokenizer(one.weighed, add_special_tokens=False)["input_ids"] for one in requests]
        pairs = list(zip(prompts, replies, strict=True))
        fit = [pair for pair in pairs if pair[1] and len(pair[0]) + len(pair[1]) <= self._room()]
        values = iter(passes.likelihoods(fit) if fit else [])
        found: list[ChatReply | Exception] = []
        for prompt, reply in pairs:
            tokens = len(prompt) + len(reply)
            if not reply or tokens > self._room():
                long = f"{tokens:,} tokens are more than {self.name} reads."
                found.append(Unanswerable(long if reply else "an empty text has no likelihood."))
            elif not math.isfinite(value := next(values)):
                found.append(Unanswerable(f"{self.name} gives no finite score to the text."))
            else:
                found.append(ChatReply(text="", letter_scores={LIKELIHOOD: value}, tokens_in=tokens))
        return found

    def _prompt(self, messages: Sequence[Message]) -> list[int]:
        try:
            text = self._tokenizer.apply_chat_template(
                list(messages), tokenize=False, add_generation_prompt=True, **self._template
            )
        except Exception as error:  # chat templates are programs and may raise anything
            raise Unusable(f"{self.name}: its chat template cannot be used ({one_line(error)}).") from error
        tokens: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return tokens

    def _letters(
        self, scores: Any, prompt: list[int], letters: tuple[str, ...]
    ) -> ChatReply | Exception | None:
        """Return the log-probability that the reply begins with each letter; None if it is about to reason first or lacks a token for one."""
        import torch

        likeliest = self._tokenizer.decode([int(scores.argmax())])
        if likeliest.strip() in _OPENS:
            return None
        found: dict[str, float] = {}
        for letter in letters:
            tokens = self._tokens_of(letter)
            if not tokens:
                return None
            found[letter] = float(torch.logsumexp(scores[tokens], dim=0))
        if not all(map(math.isfinite, found.values())):
            return Unanswerable(f"{self.name} gives no finite score to the letters.")
        return ChatReply(text=likeliest, letter_scores=found, tokens_in=len(prompt), tokens_out=1)

    def _tokens_of(self, letter: str) -> list[int]:
        """Return the single tokens that spell the letter, with or without a leading space."""
        found = set()
        for text in (letter, f" {letter}"):
            tokens = self._tokenizer(text, add_special_tokens=False)["input_ids"]
            if len(tokens) == 1 and self._tokenizer.decode(tokens).strip() == letter:
                found.add(int(tokens[0]))
        return sorted(found)

    def _write(
        self, passes: "Passes", requests: Sequence[ChatRequest], prompts: Sequence[list[int]]
    ) -> list[ChatReply]:
        left = self._room() - max(map(len, prompts))
        limits = [int(min(request.max_tokens, left)) for request in requests]
        written = passes.write(prompts, limits, requests[0].temperature, requests[0].seed or 0)
        return [self._reply(prompt, one) for prompt, one in zip(prompts, written, strict=True)]

    def _reply(self, prompt: list[int], written: "ReplyTokens") -> ChatReply:
        text = self._tokenizer.decode(written.tokens, skip_special_tokens=True)
        thought = _THOUGHT.match(text)
        reasoning = (thought[1] or thought[2] or "").strip() if thought else None
        text = text[thought.end() :] if thought else text
        return ChatReply(
            text=text.strip(),
            reasoning=reasoning or None,
            cut=written.cut,
            tokens_in=len(prompt),
            tokens_out=len(written.tokens),
            tokens_reasoning=len(self._tokenizer(reasoning)["input_ids"]) if reasoning else 0,
        )

    def _room(self) -> float:
        """Return the size of the context window in tokens."""
        return getattr(self._model.config, "max_position_embeddings", None) or math.inf

    def _ends(self) -> list[int]:
        ends = self._model.generation_config.eos_token_id
        if ends is None:
            ends = self._tokenizer.eos_token_id
        return [] if ends is None else list(ends) if isinstance(ends, list | tuple) else [int(ends)]

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

        dtype, device = ("bfloat16", "cuda") if torch.cuda.is_available() else ("float32", "cpu")
        with loading(self.name):
            model: Any = AutoModelForCausalLM.from_pretrained(
                self.source, dtype=dtype, trust_remote_code=self._trust
            )
            return model.to(device).eval()


def _kind(request: ChatRequest) -> tuple[Any, ...]:
    """Return the key of requests that can share a pass; a sampled reply is generated alone, so that its seed is effective."""
    alone = id(request) if request.temperature > 0 and not request.letters and not request.weighed else 0
    reach = 0 if request.weighed or request.letters else request.max_tokens.bit_length()
    return (bool(request.weighed), request.letters, reach, alone)


def _batch(spec: Spec) -> int:
    given = spec.options.get("batch", "1")
    if not given.isdecimal() or int(given) < 1:
        raise UserError(f"{spec.text}: batch is a number of requests, 1 or more, not '{given}'.")
    return int(given)


@dataclass(frozen=True)
class ReplyTokens:
    """The tokens of one reply, and whether the token limit cut it off."""

    tokens: list[int]
    cut: bool


class Passes:
    """Forward passes through a loaded model for several prompts at once: score letters, score given replies, generate.

    Prompts are padded on the left, so that all end at the same position.
    """

    def __init__(self, model: Any, ends: Sequence[int]) -> None:
        self._model = model
        self._ends = list(ends)

    def next_scores(self, prompts: Sequence[Sequence[int]]) -> Any:
        """Return the log-probabilities of the token after each prompt: a row per prompt, over the vocabulary."""
        import torch

        with torch.inference_mode():
            logits = self._logits(prompts, 1)[:, -1]
            return torch.log_softmax(logits.float(), dim=-1)

    def likelihoods(self, pairs: Sequence[tuple[list[int], list[int]]]) -> list[float]:
        """Return the mean log-probability of each reply's tokens after its prompt."""
        import torch

        found = []
        with torch.inference_mode():
            logits = self._logits(
                [prompt + reply for prompt, reply in pairs], 1 + max(len(reply) for _, reply in pairs)
            )
            for row, (_, reply) in zip(logits, pairs, strict=True):
                # The logits at a token predict the next one.
                scores = torch.log_softmax(row[-len(reply) - 1 : -1].float(), dim=-1)
                wanted = torch.tensor(reply, device=scores.device)
                found.append(float(scores.gather(1, wanted[:, None]).mean()))
        return found

    def write(
        self, prompts: Sequence[Sequence[int]], limits: Sequence[int], temperature: float, seed: int
    ) -> list[ReplyTokens]:
        """Generate a reply to each prompt, of at most `limits` tokens each."""
        import torch

        tokens, mask = self._padded(prompts)
        settings: dict[str, Any] = {"temperature": temperature} if temperature > 0 else {}
        with torch.random.fork_rng(), torch.inference_mode():
            torch.manual_seed(seed)
            out = self._model.generate(
                input_ids=tokens,
                attention_mask=mask,
                max_new_tokens=max(limits),
                do_sample=temperature > 0,
                pad_token_id=self._ends[0] if self._ends else 0,
                **settings,
            )
        rows = out[:, tokens.shape[1] :].tolist()
        return [self._ended(row[:limit], limit) for row, limit in zip(rows, limits, strict=True)]

    def _ended(self, row: list[int], limit: int) -> ReplyTokens:
        """Cut a row after its first end-of-sequence token."""
        for place, token in enumerate(row):
            if token in self._ends:
                return ReplyTokens(row[: place + 1], cut=False)
        return ReplyTokens(row, cut=len(row) >= limit)

    def _logits(self, rows: Sequence[Sequence[int]], last: int) -> Any:
        tokens, mask = self._padded(rows)
        places = (mask.cumsum(dim=1) - 1).clamp(min=0)
        return self._model(
            input_ids=tokens, attention_mask=mask, position_ids=places, use_cache=False, logits_to_keep=last
        ).logits

    def _padded(self, rows: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        import torch

        width = max(map(len, rows))
        filler = self._ends[0] if self._ends else 0
        tokens = [[filler] * (width - len(row)) + list(row) for row in rows]
        mask = [[0] * (width - len(row)) + [1] * len(row) for row in rows]
        device = self._model.device
        return torch.tensor(tokens, device=device), torch.tensor(mask, device=device)
