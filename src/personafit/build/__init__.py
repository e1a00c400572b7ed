"""Build a benchmark from scratch: a pipeline of steps that turns a config file into a benchmark folder.

`step.py` explains how to add a step.
"""

from personafit.build.asking import Generation, Target, Unfit
from personafit.build.bench import Bench, Quota, Stopped
from personafit.build.config import EXAMPLE, BuildConfig, ConfigSection
from personafit.build.line import Built, build, estimate, read_config
from personafit.build.prompts import PromptTemplate
from personafit.build.step import BuildStep, ExpectedAsks

__all__ = [
    "EXAMPLE",
    "Bench",
    "BuildConfig",
    "BuildStep",
    "Built",
    "ConfigSection",
    "ExpectedAsks",
    "Generation",
    "PromptTemplate",
    "Quota",
    "Stopped",
    "Target",
    "Unfit",
    "build",
    "estimate",
    "read_config",
]
