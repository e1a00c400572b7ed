"""What a causal language model does with several prompts at once: weigh letters, weigh given replies, write.

Prompts are padded on the left, so that what is asked about ends at the same place in every row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ReplyTokens:
    """The tokens of one reply, and whether the limit cut it off."""

    tokens: list[int]
    cut: bool


class Passes:
    """A loaded model and the passes that are made through it."""

    def __init__(self, model: Any, ends: Sequence[int]) -> None:
        self._model = model
        self._ends = list(ends)

    def next_scores(self, prompts: Sequence[Sequence[int]]) -> Any:
        """The log-probabilities of the token after each prompt: a row for each, over the vocabulary."""
        import torch

        with torch.inference_mode():
            logits = self._logits(prompts, 1)[:, -1]
            return torch.log_softmax(logits.float(), dim=-1)

    def likelihoods(self, prompts: Sequence[Sequence[int]], replies: Sequence[Sequence[int]]) -> list[float]:
        """The mean log-probability of each reply's tokens after its prompt."""
        import torch

        found = []
        most = max(map(len, replies))
        with torch.inference_mode():
            rows = [[*prompt, *reply] for prompt, reply in zip(prompts, replies, strict=True)]
            logits = self._logits(rows, most + 1)
            for row, reply in zip(logits, replies, strict=True):
                # The logits at a token are about the one after it.
                scores = torch.log_softmax(row[-len(reply) - 1 : -1].float(), dim=-1)
                wanted = torch.tensor(list(reply), device=scores.device)
                found.append(float(scores.gather(1, wanted[:, None]).mean()))
        return found

    def write(
        self, prompts: Sequence[Sequence[int]], limits: Sequence[int], temperature: float, seed: int
    ) -> list[ReplyTokens]:
        """A reply to each prompt of at most as many tokens as its limit says."""
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
        """A row up to its first end; what follows it is padding."""
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
