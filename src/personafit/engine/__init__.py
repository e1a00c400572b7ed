"""The engine that runs keyed jobs: concurrency, retries, resume, progress, budget. It does not know about raters."""

from personafit.engine.jobs import Job, Lane, LaneReport, Summary, check_budget, together
from personafit.engine.limits import RetryPolicy
from personafit.engine.progress import Bars, ProgressView, Silence
from personafit.engine.runner import Runner
from personafit.engine.signals import STOP, Stop

__all__ = [
    "STOP",
    "Bars",
    "Job",
    "Lane",
    "LaneReport",
    "ProgressView",
    "RetryPolicy",
    "Runner",
    "Silence",
    "Stop",
    "Summary",
    "check_budget",
    "together",
]
