"""Scores of token sequences by a reward model, in any layout: padded, packed or as trees.

All layouts give the same scores; they differ in how much is computed. The model is any decoder of the transformers library with a
score head; the score of a sequence is the head's output at its last token.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from personafit._errors import UserError
from personafit.models.reward import Layout, attention
from personafit.models.reward.packing import BLOCK, TokenRow, pack_sequences, pack_trees, split

ROW_GPU = 32_768
ROW_CPU = 16_384
RECOMPILES = 64  # eight lengths, with and without gradients, for each kind of layer
LEAST = 8 * BLOCK  # rows for block kernels are multiples of this
PADDED = 16  # sequences in a padded batch, the layout without packing
PACKABLE = {"full_attention", "sliding_attention"}
SLIDING = "sliding_attention"


class RewardScorer:
    """A reward model that scores rows of packed sequences."""

    def __init__(self, model: Any, layout: Layout = "tree", capacity: int | None = None) -> None:
        self.model = model
        self.layout = layout
        self.device = next(model.parameters()).device
        self.blocks = self.device.type == "cuda" and layout != "none"
        self.resize(capacity or (ROW_GPU if self.device.type == "cuda" else ROW_CPU))
        self.say: Callable[[str], None] = _say
        if layout == "none":
            return
        self._refuse_unpackable()
        attention.register()
        model.set_attn_implementation(attention.BLOCKS if self.blocks else attention.PATHS)
        if self.blocks:
            torch._dynamo.config.recompile_limit = max(torch._dynamo.config.recompile_limit, RECOMPILES)
            # Layers sharded over processes gather inside, which cannot be compiled as one graph.
            whole = not torch.distributed.is_initialized()
            for layer in self.decoder.layers:
                layer.compile(dynamic=False, fullgraph=whole)

    @property
    def decoder(self) -> Any:
        """The model without its score head."""
        return self.model.base_model

    def resize(self, capacity: int) -> None:
        """Set the capacity of rows in tokens."""
        # Kernels are compiled per length: eight lengths keep both compilation and padding low.
        self.capacity = -(-capacity // LEAST) * LEAST if self.blocks else capacity
        self.lengths = [self.capacity * eighth // 8 for eighth in range(1, 9)]
        self._masks: dict[tuple[str, int], attention.TreeMask] = {}

    def shrink(self, needed: int) -> None:
        """Halve the rows after running out of memory; `needed` tokens must still fit."""
        half = self.capacity // 2
        if half < max(needed, LEAST if self.blocks else 1):
            raise UserError(
                f"Memory ran out with rows of {self.capacity:,} tokens, and the longest needs {needed:,}; allow fewer "
                "tokens (--max-length), train an adapter (--lora), or use a larger device."
            )
        self.say(f"Memory ran out; going on with rows of {half:,} tokens instead of {self.capacity:,}.")
        self.resize(half)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def rows(self, sequences: Sequence[Sequence[int]], together: int = 1) -> Iterator[TokenRow]:
        """Yield rows of the sequences in the configured layout; each `together` of them stay in one row."""
        if self.layout == "tree":
            return pack_trees(sequences, self.capacity, together)
        return pack_sequences(sequences, self.capacity, together, PADDED if self.layout == "none" else None)

    def score_row(self, row: TokenRow) -> torch.Tensor:
        """Return the scores of the sequences of a row, in the row's order; gradients flow unless disabled."""
        return self.forward(**self.inputs(row))

    def inputs(self, row: TokenRow) -> dict[str, Any]:
        """Return the arguments of `forward` for a row."""
        if self.layout == "none":
            return self._padded(row)
        length = next(size for size in self.lengths if size >= len(row)) if self.blocks else len(row)
        tokens = np.zeros(length, dtype=np.int64)
        positions = np.zeros(length, dtype=np.int64)
        tokens[: len(row)], positions[: len(row)] = row.tokens, row.positions
        return {
            "last": self._moved(row.last),
            "input_ids": self._moved(tokens)[None],
            "position_ids": self._moved(positions)[None],
            **self._seen(row, length),
        }

    def forward(self, last: torch.Tensor, **inputs: Any) -> torch.Tensor:
        """Return the score head's output at the last tokens; a trainer substitutes it for the model's own forward."""
        hidden = self.decoder(use_cache=False, **inputs).last_hidden_state
        scores: torch.Tensor = self.model.score(hidden.flatten(0, 1)[last])[:, 0]
        return scores

    def _padded(self, row: TokenRow) -> dict[str, Any]:
        """Return the sequences of a row as a batch, padded on the right, where earlier tokens do not attend."""
        parts = split(row)
        width = max(map(len, parts))
        tokens = np.zeros((len(parts), width), dtype=np.int64)
        mask = np.zeros((len(parts), width), dtype=np.int64)
        for place, part in enumerate(parts):
            tokens[place, : len(part)], mask[place, : len(part)] = part, 1
        last = np.array([place * width + len(part) - 1 for place, part in enumerate(parts)], dtype=np.int64)
        moved = self._moved
        return {"last": moved(last), "input_ids": moved(tokens), "attention_mask": moved(mask)}

    def _seen(self, row: TokenRow, length: int) -> dict[str, Any]:
        if not self.blocks:
            return {"attention_mask": None, "path_segments": attention.path_segments(row)}
        masks = {}
        for kind in self._kinds():
            if (kind, length) not in self._masks:
                window = self.decoder.config.get_text_config().sliding_window if kind == SLIDING else None
                self._masks[kind, length] = attention.TreeMask(length, self.device, window)
            self._masks[kind, length].set(row)
            masks[kind] = self._masks[kind, length].mask
        return {"attention_mask": masks if len(masks) > 1 else next(iter(masks.values()))}

    def _kinds(self) -> list[str]:
        """Return the kinds of attention in the layers; a model that lists none has one kind throughout."""
        config = self.decoder.config.get_text_config()
        window = getattr(config, "sliding_window", None)
        return sorted(set(getattr(config, "layer_types", None) or [SLIDING if window else "full_attention"]))

    def _refuse_unpackable(self) -> None:
        name = type(self.model).__name__
        if not getattr(self.decoder, "_supports_attention_backend", False) or set(self._kinds()) - PACKABLE:
            raise UserError(
                f"{name} does not let its attention be replaced, so its sequences cannot share a row; use --pack none."
            )

    def _moved(self, values: npt.NDArray[np.int64]) -> torch.Tensor:
        tensor = torch.from_numpy(values)
        if self.device.type == "cuda":
            return tensor.pin_memory().to(self.device, non_blocking=True)
        return tensor.to(self.device)

    @torch.inference_mode()
    def scores(self, sequences: Sequence[Sequence[int]]) -> npt.NDArray[np.float64]:
        """Return a score per sequence, in the order given."""
        scores = torch.empty(len(sequences), dtype=torch.float32, device=self.device)
        while True:
            try:
                for row in self.rows(sequences):
                    scores[self._moved(row.owners)] = self.score_row(row).float()
                return scores.cpu().numpy().astype(np.float64)
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error):
                    raise
            # Outside the handler, so that the memory of the failed row is free again.
            self.shrink(max(map(len, sequences)))


def out_of_memory(error: BaseException) -> bool:
    """Return whether memory ran out: GPU errors have a type for it, CPU errors only wording that differs by system."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return any(words in str(error) for words in ("can't allocate memory", "not enough memory"))


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr)
