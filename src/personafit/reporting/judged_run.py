"""What is known of a run in which raters chose, however its answers are read: its record and its benchmark's words."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from personafit.store import RunRecord


@dataclass
class JudgedRun(ABC):
    """A run, its raters and its views."""

    run: RunRecord
    info: dict[str, Any]
    """What the benchmark says of itself."""

    @property
    def raters(self) -> list[dict[str, Any]]:
        """The raters of the run, those asked for first."""
        raters: list[dict[str, Any]] = self.run.config["raters"]
        return raters

    @property
    def headline_view(self) -> str:
        """The view whose scores count."""
        return headline_view(self.views, self.info)

    @property
    def views(self) -> list[str]:
        """The views of the run."""
        views: list[str] = self.run.config["views"]
        return views

    @abstractmethod
    def slice_rows(self, layout: Sequence[str]) -> list[dict[str, str]]:
        """The values that occur together under these names, in the order of the source."""


RESTRAINT = "generic"
WON = ("accuracy", "debiased")
"""Scores that count as wins where the metric is a win rate."""


def is_restraint() -> pl.Expr:
    """Whether an item's good answer is the less personal one: it counts in restraint, and not in win rate or lift."""
    return pl.col("expect").eq_missing(pl.lit(RESTRAINT))


def headline_view(views: Sequence[str], info: Mapping[str, Any]) -> str:
    """The benchmark's own view where it is there, or else the first that is no control."""
    if info["view"] in views:
        return str(info["view"])
    return next((view for view in views if view != "none" and not view.startswith("wrong:")), views[0])
