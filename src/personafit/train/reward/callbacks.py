"""Trainer callbacks: learning curves, progress messages, stopping on a signal, and checkpoint throttling.

A checkpoint holds the weights and twice as much for the optimiser: 18 GB for a model of 1.5 billion weights, which can take longer to write
than a fast device needs to train.
"""

import csv
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from transformers import TrainerCallback

EVALUATED = "eval_"
ACCURACY = f"{EVALUATED}accuracy"
SHARE = 0.1  # greatest share of the time spent on writing
QUICK = 1.0  # seconds; checkpoints that are faster to write are always written
BYTES, BYTES_A_SECOND = 12, 1e9  # a weight and its two moments; assumed disk speed until measured


class Curves(TrainerCallback):
    """Writes curves.csv from the trainer's log, which is restored with a checkpoint, whenever something is logged."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def on_log(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Write one line per logged step; values not logged at a step are empty."""
        if not state.is_world_process_zero:
            return
        rows: dict[float, dict[str, float]] = {}
        for entry in state.log_history:
            if "loss" in entry or any(name.startswith(EVALUATED) for name in entry):
                rows.setdefault(entry["step"], {}).update(entry)
        names = sorted({name for row in rows.values() for name in row} - {"step", "epoch"})
        with (self._folder / "curves.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, ["step", *names], extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows[step] for step in sorted(rows))

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Write the file once more."""
        self.on_log(args, state, control)


class Progress(TrainerCallback):
    """Reports progress: the loss, the reward of GRPO (0 is a constant answer, 1 the majority label), and accuracy."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Report one line for the log entry."""
        logs = logs or {}
        parts = [f"{name} {logs[name]:.3f}" for name in ("reward", "loss") if name in logs]
        for name, value in logs.items():
            if name.startswith(ACCURACY):
                tier = name.removeprefix(ACCURACY).strip("_").replace("_", " ") or "held out"
                parts.append(f"{tier} {100 * value:.1f} %")
        if parts and state.is_world_process_zero:
            self._say(f"Step {state.global_step:,} of {state.max_steps:,}: {', '.join(parts)}.")


class StopOnSignal(TrainerCallback):
    """On an interrupt, finishes the step, writes a checkpoint and stops; a second interrupt stops at once."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.stopped = False
        self._say = say

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Install the signal handlers, unless several processes are training."""
        if args.world_size == 1:
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, self._stop)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Request a checkpoint and the end of training after an interrupt."""
        if self.stopped and state.global_step < state.max_steps:
            control.should_save = control.should_training_stop = True

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Restore the default signal handlers."""
        if args.world_size == 1:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self.stopped:
            raise KeyboardInterrupt
        self.stopped = True
        self._say("Interrupted: the current step is finished and saved; interrupt again to stop at once.")


class SparingCheckpoints(TrainerCallback):
    """Skips a checkpoint if writing it would take more than a tenth of the time since the last one."""

    def __init__(self) -> None:
        self._cost = 0.0
        self._last = self._began = time.monotonic()

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        """Estimate the time to write a checkpoint from the number of trained weights."""
        trained = sum(weights.numel() for weights in model.parameters() if weights.requires_grad)
        self._cost = trained * BYTES / BYTES_A_SECOND
        self._last = time.monotonic()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Decide whether to save; the first process decides for all, since they write together."""
        self._began = time.monotonic()
        if control.should_save:
            worth_it = [self._cost < QUICK or time.monotonic() - self._last >= self._cost / SHARE]
            if args.world_size > 1:
                torch.distributed.broadcast_object_list(worth_it, src=0)
            control.should_save = worth_it[0]

    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Restart the clock, since writing follows a step's evaluation."""
        self._began = time.monotonic()

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Record how long writing took."""
        self._last = time.monotonic()
        self._cost = self._last - self._began
