"""Builds a benchmark from nothing: a line of steps from a config file to a benchmark folder.

`step.py` tells how to add a step.
"""

from personafit.factory.asking import Answer, Maker, Unfit, Wanted, chosen, plain
from personafit.factory.bench import Batch, Bench, Stopped
from personafit.factory.config import BuildConfig, Section, read_config
from personafit.factory.line import Built, build, estimate
from personafit.factory.prompts import Prompt
from personafit.factory.quota import Quota
from personafit.factory.step import Expected, Step

__all__ = [
    "Answer",
    "Batch",
    "Bench",
    "BuildConfig",
    "Built",
    "Expected",
    "Maker",
    "Prompt",
    "Quota",
    "Section",
    "Step",
    "Stopped",
    "Unfit",
    "Wanted",
    "build",
    "chosen",
    "estimate",
    "plain",
    "read_config",
]
