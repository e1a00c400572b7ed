"""Attention along the paths of a packed row: block-sparse kernels on a GPU, segment by segment on a CPU.

Models of the transformers library look up attention functions by name; ours are registered there. The block mask of each length
is one object whose tensors are overwritten, so that compiled layers see the same object and are compiled once.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.nn.attention.flex_attention import BlockMask, flex_attention
from torch.nn.functional import scaled_dot_product_attention

from personafit.models.reward.packing import BLOCK, Blocks, Ints, TokenRow, blocks_of, segments

BLOCKS = "personafit_blocks"
PATHS = "personafit_paths"


def register() -> None:
    """Register the attention functions with transformers."""
    from transformers import AttentionInterface

    AttentionInterface.register(BLOCKS, _block_attention)
    AttentionInterface.register(PATHS, _path_attention)


def _block_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: Any,
    scaling: float | None = None,
    softcap: float | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Block-sparse attention; fast if the layer around it is compiled."""

    cap: Any = softcap

    def capped(score: Any, _batch: Any, _head: Any, _query: Any, _key: Any) -> Any:
        return cap * torch.tanh(score / cap)

    out = flex_attention(
        query.to(value.dtype),  # under mixed precision rotary embedding returns a wider type
        key.to(value.dtype),
        value,
        score_mod=capped if softcap else None,
        block_mask=attention_mask,
        scale=scaling,
        enable_gqa=query.shape[1] != key.shape[1],
    )
    assert isinstance(out, torch.Tensor)
    return out.transpose(1, 2).contiguous(), None


def _path_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: Any,
    scaling: float | None = None,
    path_segments: "Sequence[Segment]" = (),
    sliding_window: int | None = None,
    softcap: float | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Attention segment by segment: each attends to its ancestors and itself, and nothing else is computed."""
    grouped = query.shape[1] != key.shape[1]
    query, key = query.to(value.dtype), key.to(value.dtype)
    parts = []
    for segment in path_segments:
        keys, values = key[:, :, segment.seen], value[:, :, segment.seen]
        mask = segment.mask if sliding_window is None else segment.near(sliding_window)
        queries = query[:, :, segment.start : segment.stop]
        if softcap:
            parts.append(_capped_attention(queries, keys, values, mask, scaling, softcap))
        else:
            parts.append(
                scaled_dot_product_attention(
                    queries, keys, values, attn_mask=mask, scale=scaling, enable_gqa=grouped
                )
            )
    return torch.cat(parts, dim=2).transpose(1, 2).contiguous(), None


def _capped_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor,
    scaling: float | None,
    softcap: float,
) -> torch.Tensor:
    """Attention with soft-capped scores, as in Gemma 2; torch has no kernel for it."""
    groups = query.shape[1] // key.shape[1]
    key, value = (one.repeat_interleave(groups, dim=1) for one in (key, value))
    scale = scaling if scaling is not None else query.shape[-1] ** -0.5
    scores = softcap * torch.tanh(query @ key.transpose(-1, -2) * scale / softcap)
    return torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1) @ value


class Segment:
    """A segment of a row on one path, with the indices of all tokens it may attend to."""

    def __init__(self, row: TokenRow, start: int, stop: int, ancestors: Ints) -> None:
        seen = np.concatenate([ancestors, np.arange(start, stop)])
        self.start, self.stop = start, stop
        self.seen = torch.from_numpy(seen)
        self._distances = torch.from_numpy(row.positions[start:stop, None] - row.positions[None, seen])
        self.mask = self._distances >= 0

    def near(self, window: int) -> torch.Tensor:
        """Return the mask without keys farther away than a window."""
        return self.mask & (self._distances < window)


def path_segments(row: TokenRow) -> list[Segment]:
    """Return the segments of a row."""
    return [Segment(row, *stretch) for stretch in segments(row)]


class TreeMask:
    """The block mask for rows of one length, overwritten for each row."""

    def __init__(self, length: int, device: torch.device, window: int | None = None) -> None:
        count = length // BLOCK
        self.length = length
        self._ends = torch.zeros(length, dtype=torch.int32, device=device)
        self._positions = torch.zeros(length, dtype=torch.int32, device=device)
        ends, positions = self._ends, self._positions
        reach: Any = window

        def sees(_batch: Any, _head: Any, query: Any, key: Any) -> Any:
            return (key <= query) & (query < ends[key])

        def sees_near(_batch: Any, _head: Any, query: Any, key: Any) -> Any:
            near = positions[query] - positions[key] < reach
            return (key <= query) & (query < ends[key]) & near

        def numbers() -> torch.Tensor:
            return torch.zeros((1, 1, count), dtype=torch.int32, device=device)

        def places() -> torch.Tensor:
            return torch.zeros((1, 1, count, count), dtype=torch.int32, device=device)

        self.mask = BlockMask(
            (length, length),
            numbers(), places(), numbers(), places(),
            numbers(), places(), numbers(), places(),
            (BLOCK, BLOCK),
            sees if window is None else sees_near,
        )  # fmt: skip
        self._window = window

    def set(self, row: TokenRow) -> None:
        """Set the mask to a row; padding tokens attend only to themselves."""
        ends = np.arange(1, self.length + 1)
        ends[: len(row)] = row.ends
        _overwrite(self._ends, ends.astype(np.int32))
        if self._window is not None:
            positions = np.zeros(self.length, dtype=np.int32)
            positions[: len(row)] = row.positions
            _overwrite(self._positions, positions)
        # A full block may extend beyond a window, so then every cell is checked.
        self._fill(blocks_of(ends, wholes=self._window is None))

    def _fill(self, blocks: Blocks) -> None:
        mask = self.mask
        for numbers, places, (count, listed) in (
            (mask.kv_num_blocks, mask.kv_indices, blocks.partial),
            (mask.full_kv_num_blocks, mask.full_kv_indices, blocks.full),
            (mask.q_num_blocks, mask.q_indices, blocks.partial_by_key),
            (mask.full_q_num_blocks, mask.full_q_indices, blocks.full_by_key),
        ):
            assert numbers is not None
            assert places is not None
            _overwrite(numbers[0, 0], count)
            _overwrite(places[0, 0], listed)


def _overwrite(tensor: torch.Tensor, values: np.ndarray) -> None:
    """Copy without waiting: from pinned memory the copy is queued behind whatever still reads the old values."""
    source = torch.from_numpy(values)
    tensor.copy_(source.pin_memory() if tensor.is_cuda else source, non_blocking=True)
