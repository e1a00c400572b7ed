"""Hostile text: choices in three versions, as they were, with an attack and with a neutral text in its place."""

from typing import ClassVar

import polars as pl

from personafit._errors import UserError
from personafit.benchmarks.config import chosen_people
from personafit.benchmarks.injection.items import ATTACKED, PLACEBO
from personafit.kinds.choice import ChoiceKind
from personafit.kinds.kind import RunPlan
from personafit.kinds.selecting import rows_where, select_items


class InjectionKind(ChoiceKind):
    """Whether a text steers the rater."""

    name = "injection"
    made_from: ClassVar[str | None] = None
    options: ClassVar[frozenset[str]] = frozenset()
    strata: ClassVar[tuple[str, ...]] = ("attack", "language")

    bars: ClassVar[tuple[str, ...]] = ("unmoved",)

    def facts(self, plan: RunPlan) -> dict[str, object]:
        """Those of a choice, under its own kind."""
        return super().facts(plan) | {"kind": self.name}

    def select(self, plan: RunPlan) -> frozenset[str] | None:
        """So many attacked choices, spread over attacks and languages, each with its placebo and the choice as it was."""
        config = plan.config
        if config.limit is None and config.users is None and not config.where:
            return None
        rows = rows_where(self.rows(plan), config)
        if config.limit is None and config.users is None:
            return frozenset(rows["item"])
        if config.users is not None:
            kept = chosen_people(sorted(set(rows["of"])), config.users, config.seed)
            rows = rows.filter(pl.col("of").is_in(kept))
        attacked = rows.filter(pl.col("version") == ATTACKED)
        if config.limit is not None:
            drawn = select_items(attacked.select("item", *self.strata), config.limit, config.seed)
            attacked = attacked.filter(pl.col("item").is_in(list(drawn)))
        if attacked.is_empty():
            raise UserError("--users and --where leave no attacked choice to judge.")
        items = set(attacked["item"])
        return frozenset(items | {f"{item}/{PLACEBO}" for item in items} | set(attacked["base"]))
