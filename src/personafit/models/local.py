"""`hf:PATH`: a causal language model on this machine, by the transformers library: a folder or a name on the hub.

Where letters are asked for, one look at the next token tells how likely each is, so generative reward models and judges that
name a letter cost one pass. A given reply is weighed in one pass too. Otherwise the model writes. With `,batch=N` up to N
requests of one kind that wait at the same time share a pass, which is what makes a GPU worth its price.
"""

import asyncio
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pickle import UnpicklingError  # nosec B403 # what is no tensor in a .bin file is refused with it
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
from personafit.models.local_passes import Passes, ReplyTokens
from personafit.models.spec import Spec
from personafit.models.weights import NEEDS, source_of, switch, weights_hash

_THOUGHT = re.compile(r"^\s*(?:<think>)?(.*?)</think>|^\s*<think>(.*)\Z", re.DOTALL)
_OPENS = ("<think>", "<|thinking|>")

Waiting = tuple[ChatRequest, asyncio.Future[ChatReply]]


class LocalModel:
    """A chat model whose weights are here."""

    price = (0.0, 0.0)

    def __init__(self, spec: Spec) -> None:
        spec.allow(("trust", "think", "batch"))
        self.name = spec.text
        self.max_concurrency = _batch(spec)
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
        self._waiting: list[Waiting] = []
        self._busy: asyncio.Task[None] | None = None
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="hf")

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Answer one request on the model's own thread, together with others that wait."""
        future: asyncio.Future[ChatReply] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        if self._busy is None or self._busy.done():
            self._busy = asyncio.create_task(self._serve())
        return await future

    async def close(self) -> None:
        """Free the model's memory."""
        self._worker.shutdown(wait=True, cancel_futures=True)
        self._model = None

    async def _serve(self) -> None:
        """Take what waits, as many of one kind as fit, until nothing does."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(0)  # whoever asks at the same moment comes along
        while self._waiting:
            kind = _kind(self._waiting[0][0])
            batch = [waiting for waiting in self._waiting if _kind(waiting[0]) == kind][
                : self.max_concurrency
            ]
            self._waiting = [waiting for waiting in self._waiting if waiting not in batch]
            batch = [waiting for waiting in batch if not waiting[1].done()]
            if not batch:
                continue
            try:
                replies = await loop.run_in_executor(self._worker, self._answers, [one for one, _ in batch])
            except BaseException as error:
                for _, future in batch:
                    if not future.done():
                        future.set_exception(error)
                if not isinstance(error, Exception):
                    raise
                continue
            for (_, future), reply in zip(batch, replies, strict=True):
                if future.done():
                    continue
                if isinstance(reply, Exception):
                    future.set_exception(reply)
                else:
                    future.set_result(reply)

    def _answers(self, requests: Sequence[ChatRequest]) -> list[ChatReply | Exception]:
        """A reply to each request, or why there is none; all are of one kind."""
        if self._model is None:
            self._model = self._load()
        prompts: list[list[int]] = []
        found: dict[int, ChatReply | Exception] = {}
        for place, request in enumerate(requests):
            prompts.append(self._prompt(request.messages))
            if (room := self._room()) is not None and len(prompts[-1]) >= room:
                found[place] = Unanswerable(
                    f"{self.name} reads at most {room:,} tokens, and this prompt has {len(prompts[-1]):,}."
                )
        left = [place for place in range(len(requests)) if place not in found]
        if left:
            try:
                replies = self._together(
                    [requests[place] for place in left], [prompts[place] for place in left]
                )
                found.update(zip(left, replies, strict=True))
            except (RuntimeError, MemoryError) as error:  # running out of memory is one
                sentence = f"{self.name} cannot answer ({one_line(error)})."
                found.update((place, Unanswerable(sentence)) for place in left)
        return [found[place] for place in range(len(requests))]

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
        self, passes: Passes, requests: Sequence[ChatRequest], prompts: Sequence[list[int]]
    ) -> list[ChatReply | Exception]:
        """How likely each given reply is, by the mean over its tokens."""
        replies = [self._tokenizer(one.weighed, add_special_tokens=False)["input_ids"] for one in requests]
        room = self._room()
        found: list[ChatReply | Exception] = []
        fit = [
            bool(reply) and (room is None or len(prompt) + len(reply) <= room)
            for prompt, reply in zip(prompts, replies, strict=True)
        ]
        chosen = [place for place, fits in enumerate(fit) if fits]
        values = iter(
            passes.likelihoods([prompts[place] for place in chosen], [replies[place] for place in chosen])
            if chosen
            else []
        )
        for prompt, reply, fits in zip(prompts, replies, fit, strict=True):
            if not fits:
                long = f"{len(prompt) + len(reply):,} tokens are more than {self.name} reads."
                found.append(Unanswerable(long if reply else "an empty text has no likelihood."))
            elif not _finite(value := next(values)):
                found.append(Unanswerable(f"{self.name} gives no finite score to the text."))
            else:
                tokens = len(prompt) + len(reply)
                found.append(ChatReply(text="", letter_scores={LIKELIHOOD: value}, tokens_in=tokens))
        return found

    def _prompt(self, messages: Sequence[Message]) -> list[int]:
        try:
            text = self._tokenizer.apply_chat_template(
                list(messages), tokenize=False, add_generation_prompt=True, **self._template
            )
        except Exception as error:  # chat templates are programs
            raise Unusable(f"{self.name}: its chat template cannot be used ({one_line(error)}).") from error
        tokens: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return tokens

    def _letters(
        self, scores: Any, prompt: list[int], letters: tuple[str, ...]
    ) -> ChatReply | Exception | None:
        """How likely the reply is to begin with each letter; None where the model is about to think first."""
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
        if not all(map(_finite, found.values())):
            return Unanswerable(f"{self.name} gives no finite score to the letters.")
        return ChatReply(text=likeliest, letter_scores=found, tokens_in=len(prompt), tokens_out=1)

    def _tokens_of(self, letter: str) -> list[int]:
        """The single tokens that say the letter, with a space before it or without."""
        found = set()
        for text in (letter, f" {letter}"):
            tokens = self._tokenizer(text, add_special_tokens=False)["input_ids"]
            if len(tokens) == 1 and self._tokenizer.decode(tokens).strip() == letter:
                found.add(int(tokens[0]))
        return sorted(found)

    def _write(
        self, passes: Passes, requests: Sequence[ChatRequest], prompts: Sequence[list[int]]
    ) -> list[ChatReply]:
        room = self._room()
        limits = [request.max_tokens for request in requests]
        if room is not None:
            left = room - max(map(len, prompts))
            limits = [min(limit, left) for limit in limits]
        written = passes.write(prompts, limits, requests[0].temperature, requests[0].seed or 0)
        return [self._reply(prompt, one) for prompt, one in zip(prompts, written, strict=True)]

    def _reply(self, prompt: list[int], written: ReplyTokens) -> ChatReply:
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

    def _room(self) -> int | None:
        room: int | None = getattr(self._model.config, "max_position_embeddings", None)
        return room

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

        gpu = torch.cuda.is_available()
        try:
            model: Any = AutoModelForCausalLM.from_pretrained(
                self.source, dtype="bfloat16" if gpu else "float32", trust_remote_code=self._trust
            )
            return model.to("cuda" if gpu else "cpu").eval()
        except UnpicklingError as error:
            raise Unusable(
                f"{self.name}: the weights cannot be loaded (they hold more than numbers)."
            ) from error
        except (OSError, ValueError, RuntimeError, ImportError, KeyError, AttributeError) as error:
            raise Unusable(f"{self.name}: the weights cannot be loaded ({one_line(error)}).") from error


def _finite(value: float) -> bool:
    return abs(value) < float("inf")  # false for nan too


def _kind(request: ChatRequest) -> tuple[Any, ...]:
    """Requests alike in this can share a pass; what is drawn at random goes by itself, so that its seed means something."""
    alone = id(request) if request.temperature > 0 and not request.letters and not request.weighed else 0
    reach = 0 if request.weighed or request.letters else request.max_tokens.bit_length()
    return (bool(request.weighed), request.letters, reach, alone)


def _batch(spec: Spec) -> int:
    given = spec.options.get("batch", "1")
    if not given.isdecimal() or int(given) < 1:
        raise UserError(f"{spec.text}: batch is a number of requests, 1 or more, not '{given}'.")
    return int(given)
