"""Builds a benchmark from nothing: a line of steps from a config file to a benchmark folder.

`step.py` tells how to add a step.
"""

from personafit.build.asking import Generation, Maker, Target, Unfit, chosen, plain
from personafit.build.bench import Bench, RequestBatch, Stopped
from personafit.build.config import BuildConfig, ConfigSection
from personafit.build.line import Built, build, estimate
from personafit.build.prompts import PromptTemplate
from personafit.build.quota import Quota
from personafit.build.sections import read_config
from personafit.build.step import BuildStep, ExpectedAsks

__all__ = [
    "Bench",
    "BuildConfig",
    "BuildStep",
    "Built",
    "ConfigSection",
    "ExpectedAsks",
    "Generation",
    "Maker",
    "PromptTemplate",
    "Quota",
    "RequestBatch",
    "Stopped",
    "Target",
    "Unfit",
    "build",
    "chosen",
    "estimate",
    "plain",
    "read_config",
]
