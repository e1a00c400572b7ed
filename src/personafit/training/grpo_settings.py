"""What a GRPO run is asked for; light, so that the command line knows its options without loading anything."""

import os
from dataclasses import dataclass
from typing import Literal

from personafit._errors import UserError

Method = Literal["kernel", "grpo"]


@dataclass(frozen=True)
class GrpoSettings:
    """What shapes the result."""

    base: str
    steps: int = 200
    batch: int = 16
    """Questions a step, over all processes."""
    generations: int = 8
    """Replies to each."""
    rate: float | None = None
    lora: bool = False
    seed: int = 0

    @property
    def learning_rate(self) -> float:
        """The rate asked for, or a usual one: an adapter takes a higher one than all weights do."""
        return (1e-5 if self.lora else 1e-6) if self.rate is None else self.rate

    @property
    def batch_here(self) -> int:
        """Questions a step in each process."""
        return self.batch // processes()


def processes() -> int:
    """How many processes a launcher started."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def check(settings: GrpoSettings) -> None:
    """Refuse what cannot be meant, before anything is loaded."""
    for name, value, least in (
        ("--max-steps", settings.steps, 1),
        ("--per-device-batch-size", settings.batch, 1),
        ("--num-generations", settings.generations, 2),
    ):
        if value < least:
            raise UserError(f"{name} must be at least {least}, not {value}.")
    if not 0 < settings.learning_rate < 1:
        raise UserError(f"--learning-rate must lie between 0 and 1, not {settings.learning_rate:g}.")
    if settings.batch % processes():
        raise UserError(
            f"The default of {settings.batch} a step cannot be divided evenly among {processes()} processes; give --per-device-batch-size."
        )
