"""Builds a benchmark from nothing: a line of steps from a config file to a benchmark folder.

`step.py` tells how to add a step.
"""

from personafit.factory.asking import Generation, Maker, Target, Unfit, chosen, plain
from personafit.factory.bench import Bench, RequestBatch, Stopped
from personafit.factory.config import BuildConfig, ConfigSection
from personafit.factory.line import Built, build, estimate
from personafit.factory.prompts import PromptTemplate
from personafit.factory.quota import Quota
from personafit.factory.sections import read_config
from personafit.factory.step import BuildStep, ExpectedAsks

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
