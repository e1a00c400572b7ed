"""How often a run is kept: at tenths of it, but never so that most of its time goes into writing.

A checkpoint holds the weights and twice as much for the optimiser: 18 GB for a model of 1.5 billion weights, which a fast device trains
for less time than a disk needs to take them in.
"""

import time
from typing import Any

from transformers import TrainerCallback

SHARE = 0.1  # of the time, at most, for writing
QUICK = 1.0  # seconds; what is written faster is always written
BYTES, BYTES_A_SECOND = 12, 1e9  # a weight and two moments of it; how fast a disk is until it has shown it


class SparingCheckpoints(TrainerCallback):
    """Leaves a checkpoint out when writing it would take more than a tenth of the time since the last one."""

    def __init__(self) -> None:
        self._cost = 0.0
        self._last = self._began = time.monotonic()

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        """Guess what writing takes from what is trained."""
        trained = sum(weights.numel() for weights in model.parameters() if weights.requires_grad)
        self._cost = trained * BYTES / BYTES_A_SECOND
        self._last = time.monotonic()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Decide, the first process for all: they write together."""
        self._began = time.monotonic()
        if control.should_save:
            control.should_save = _agreed(self._worth_it(), args.world_size)

    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """What comes after a step's evaluation is the writing."""
        self._began = time.monotonic()

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Remember how long it took."""
        self._last = time.monotonic()
        self._cost = self._last - self._began

    def _worth_it(self) -> bool:
        return self._cost < QUICK or time.monotonic() - self._last >= self._cost / SHARE


def _agreed(decision: bool, processes: int) -> bool:
    """The first process's decision."""
    if processes == 1:
        return decision
    import torch

    said = [decision]
    torch.distributed.broadcast_object_list(said, src=0)
    return said[0]
