"""Builds a benchmark from nothing: a line of steps from a config file to a benchmark folder.

`step.py` tells how to add a step.
"""

from personafit.factory.asking import Generation, Maker, Target, Unfit, chosen, plain
from personafit.factory.bench import Batch, Bench, Stopped
from personafit.factory.config import BuildConfig, Section, read_config
from personafit.factory.line import Built, build, estimate
from personafit.factory.prompts import Prompt
from personafit.factory.quota import Quota
from personafit.factory.step import Expected, Step

__all__ = [
    "Batch",
    "Bench",
    "BuildConfig",
    "Built",
    "Expected",
    "Generation",
    "Maker",
    "Prompt",
    "Quota",
    "Section",
    "Step",
    "Stopped",
    "Target",
    "Unfit",
    "build",
    "chosen",
    "estimate",
    "plain",
    "read_config",
]
