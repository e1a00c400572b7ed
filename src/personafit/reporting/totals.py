"""A run added up: what every table, figure and result is computed from, whatever the number of items.

The run is read a page at a time in the order of persons, and once more in the order of prompts where prompts recur (a
run of moderate size is kept for that instead of being read again). Of each page only sums are kept: by rater, view, system and slice, over people, over prompts and over both. Apart from those
there are the items that the report's browser shows, of which there is a largest number.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
import polars as pl

from personafit.reporting.cluster_sums import (
    EVERY_SYSTEM,
    SYSTEM,
    ClusterSums,
    Key,
    System,
    Where,
)
from personafit.reporting.judged_run import WON, JudgedRun, is_restraint
from personafit.reporting.sample import Sample
from personafit.statistics import choice_scores
from personafit.statistics.clusters import ClusteredSums, Clusters
from personafit.store import UNMADE, RunRecord, Status, Store, any_prompt_recurs, run_pages

NOBODY = ""  # stands for rater and view where a sum is over items, asked or not
HELD = 400_000  # scored rows kept for the second order: some 60 MB
ERRORS_COUNTED = 1_000  # different sentences of what went wrong, per run


@dataclass
class RunTotals(JudgedRun):
    """The sums of a run."""

    items: int = 0
    people: int = 0
    seen: dict[tuple[System, Where], int] = field(default_factory=dict)
    """Systems and slices that occur, each with its first place in the source."""
    names: set[str] = field(default_factory=set)
    """The slices any item has."""
    sums: dict[Key, dict[str, ClusteredSums]] = field(default_factory=dict)
    lengths: dict[Where, pl.DataFrame] = field(default_factory=dict)
    """For win rates with length held equal, which no sums can give: person, prompt, score and difference in length of all items, none
    where an answer was not made."""
    statuses: dict[tuple[str, str], int] = field(default_factory=dict)
    """(rater, status) to the number of asks that ended so."""
    errors: dict[tuple[str, str, str], int] = field(default_factory=dict)
    """(rater, status, sentence) to how often it was met."""
    sample: Sample = field(default_factory=Sample)

    def of(
        self, rater: str, view: str, metric: str, where: Where = (), system: System = (None, None)
    ) -> ClusteredSums:
        """One column of scores, added up."""
        return self.sums.get((rater, view, system, where), {}).get(metric, ClusteredSums())

    def count(self, where: Where = (), system: System = (None, None)) -> ClusteredSums:
        """The items of a slice, answered or not."""
        return self.of(NOBODY, NOBODY, "all", where, system)

    def answered(self, rater: str, view: str) -> int:
        """How many asks brought an answer, over all systems."""
        return int(self.of(rater, view, "answered", (), EVERY_SYSTEM).people.total)

    def asked(self, rater: dict[str, Any], view: str) -> int:
        """How many asks there are under a view; nobody can be mistaken for a person whose language nobody shares."""
        items = self.items
        if view.startswith("wrong:"):
            items -= self.run.config.get("without_wrong", 0)
        return int(items * rater["orders"] * self.run.config["samples"])

    @property
    def systems(self) -> list[System]:
        """The systems whose answers were judged, as they come in the source; one without a name where none is named."""
        found = {system: place for (system, where), place in self.seen.items() if not where}
        return sorted(found, key=lambda system: found[system]) or [(None, None)]

    def slices(self, system: System) -> list[Where]:
        """The slices that one system's items fall in, the whole first, each layout in the order of the source."""
        found: list[Where] = [()]
        for layout in self.info["layout"]:
            places = {
                where: place
                for (one, where), place in self.seen.items()
                if one == system and where and [name for name, _ in where] == layout
            }
            found += sorted(places, key=lambda where: places[where])
        return found

    def slice_rows(self, layout: Sequence[str]) -> list[dict[str, str]]:
        """The values that occur together under these names, in the order of the source."""
        places: dict[Where, int] = {}
        for (_, where), place in self.seen.items():
            if where and [name for name, _ in where] == list(layout):
                places[where] = min(place, places.get(where, place))
        return [dict(where) for where in sorted(places, key=lambda where: places[where])]


def load_totals(store: Store, run: RunRecord) -> RunTotals:
    """Read a run back and add it up."""
    totals = RunTotals(run, store.dataset_info(run.dataset))
    walk = _Walk(store, totals)
    recurs = any_prompt_recurs(store, run.dataset)
    rows = store.count_items(run.dataset) * (len(totals.raters) * len(totals.views) + 1)
    held: list[pl.DataFrame] | None = [] if recurs and rows <= HELD else None
    by_person = walk.sums("person", ("person", "prompt"), held)
    by_prompt = None
    if recurs:
        by_prompt = walk.sums("prompt", ("prompt",)) if held is None else walk.sums_of(held, "prompt")
    totals.sums = _joined(by_person, by_prompt)
    return totals


class _Walk:
    def __init__(self, store: Store, totals: RunTotals) -> None:
        self._store = store
        self._totals = totals
        info = totals.info
        layouts = [tuple(layout) for layout in info["layout"]]
        self._win = info["metric"] == "win_rate"
        self._parts = list(dict.fromkeys([(), *layouts, ("expect", "against") if self._win else ("expect",)]))
        self._layouts = layouts
        self._names = sorted({name for names in self._parts for name in names} | set(SYSTEM))

    def sums(
        self, by: str, clusters: tuple[str, ...], held: list[pl.DataFrame] | None = None
    ) -> list[ClusterSums]:
        """Read the run once and add it up by the clusters that this order can close; pages go into `held`."""
        first = by == "person"
        parts = self._empty(by, clusters)
        last_person = None
        pages = run_pages(self._store, self._totals.run, self._totals.info["gold"], by)
        for page, answers in pages:
            items = self._sliced(page)
            if items.is_empty():
                continue
            scored = self._scored(items, answers)
            if first:
                self._note_items(items, last_person)
                self._note_answers(items, answers)
                self._totals.sample.add(self._totals, page, scored, answers)
                last_person = items["person"][-1]
                if self._win:
                    self._note_lengths(scored)
            coded = self._coded(scored)
            for part in parts:
                part.add(coded, coded[by][-1])
            if held is not None:
                held.append(coded)
        self._totals.sample.prune(self._totals)
        return parts

    def sums_of(self, held: list[pl.DataFrame], by: str) -> list[ClusterSums]:
        """Add up pages that are held by another kind of cluster."""
        parts = self._empty(by, (by,))
        if held:
            scored = pl.concat(held, how="diagonal")  # a page whose items lack a slice lacks its column
            for part in parts:
                part.add(scored, scored[by][-1])
        return parts

    def _empty(self, by: str, clusters: tuple[str, ...]) -> list[ClusterSums]:
        parts = [ClusterSums(names, SYSTEM, by, clusters) for names in self._parts]
        return [*parts, ClusterSums((), (), by, clusters)]

    def _sliced(self, page: pl.DataFrame) -> pl.DataFrame:
        slices = [orjson.loads(text) for text in page["slices"]]
        self._totals.names.update(*slices)
        if page["tier"].null_count() < len(page):
            self._totals.names.add("tier")
        columns = [
            pl.Series(name, [row.get(name) for row in slices], dtype=pl.String)
            for name in self._names
            if name != "tier" or any("tier" in row for row in slices)
        ]
        options = pl.Series("option_count", [len(orjson.loads(text)) for text in page["products"]])
        kept = page.drop("slices", "products").with_columns(*columns, options)
        if not self._win:
            return kept.with_columns(pl.lit(None, pl.Float64).alias("length_difference"))
        pairs = [orjson.loads(text) for text in page["products"]]
        lengths = self._store.lengths({product for pair in pairs for product in pair})
        longer = pl.Series(
            [float(lengths[p[0]] - lengths[p[1]]) if len(p) == 2 else None for p in pairs], dtype=pl.Float64
        )
        made = pl.Series([UNMADE not in row for row in slices], dtype=pl.Boolean)
        tested = pl.when(made).then(pl.when(pl.col("gold") == "0").then(1.0).otherwise(-1.0))
        return kept.with_columns((tested * longer).alias("length_difference"))

    def _scored(self, items: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
        """A row per rater, view and item that has asks, and one of nobody per item."""
        joined = answers.select(
            "position", "rater", "view", "order", "sample", "status", "label", "value"
        ).join(items.select("position", "gold", "option_count"), on="position", how="inner")
        scored = choice_scores(joined, ("rater", "view", "position")).drop("asked")
        bare = scored.select("rater", "view", "position", "accuracy")
        none = bare.filter(pl.col("view") == "none").select("rater", "position", none="accuracy")
        wrong = bare.select("rater", "position", "view", wrong="accuracy").with_columns(
            pl.col("view").str.strip_prefix("wrong:"), is_wrong=pl.col("view").str.starts_with("wrong:")
        )
        wrong = wrong.filter("is_wrong").drop("is_wrong")
        scored = (
            scored.join(none, on=["rater", "position"], how="left")
            .join(wrong, on=["rater", "position", "view"], how="left")
            .with_columns(
                kept=(pl.col("debiased") >= 0.5).cast(pl.Float64),
                over_none=pl.col("accuracy") - pl.col("none"),
                over_wrong=pl.col("accuracy") - pl.col("wrong"),
                answered=pl.col("answered").cast(pl.Float64),
                all=pl.lit(None, pl.Float64),
            )
            .drop("none", "wrong")
        )
        nobody = items.select("position", rater=pl.lit(NOBODY), view=pl.lit(NOBODY), all=pl.lit(1.0))
        whole = pl.concat([scored, nobody], how="diagonal").join(
            items.drop("item", "gold", "option_count"), on="position", how="inner"
        )
        uncounted = ["over_none", "over_wrong", *(WON if self._win else ())]
        return whole.with_columns(pl.when(~is_restraint()).then(pl.col(uncounted)))

    def _coded(self, scored: pl.DataFrame) -> pl.DataFrame:
        """What tells rows apart as numbers and categories: grouping by them is faster than by texts."""
        return scored.with_columns(
            pl.col("person", "prompt").hash(),
            pl.col("rater", "view", *(set(self._names) & set(scored.columns))).cast(pl.Categorical),
        )

    def _note_items(self, items: pl.DataFrame, last_person: str | None) -> None:
        totals = self._totals
        totals.items += len(items)
        totals.people += items["person"].n_unique() - (items["person"][0] == last_person)
        for names in ((), *self._layouts):
            places = items.drop_nulls(names).group_by(*SYSTEM, *names).agg(pl.col("position").min())
            for system, given, *values, place in places.iter_rows():
                key = (system, given), tuple(zip(names, values, strict=True))
                totals.seen[key] = min(place, totals.seen.get(key, place))

    def _note_answers(self, items: pl.DataFrame, answers: pl.DataFrame) -> None:
        for rater, status, count in answers.group_by("rater", "status").len().iter_rows():
            self._totals.statuses[rater, status] = self._totals.statuses.get((rater, status), 0) + count
        failed = answers.filter((pl.col("status") != Status.OK.value) & pl.col("detail").is_not_null())
        places = items.select("position").with_row_index("place")
        failed = failed.join(places, on="position", how="left", maintain_order="left").sort(
            "place", maintain_order=True
        )
        errors = self._totals.errors
        counted = failed.group_by("rater", "status", pl.col("detail").str.slice(0, 400), maintain_order=True)
        for *key, count in counted.len().iter_rows():
            rater, status, detail = key
            if (rater, status, detail) in errors or len(errors) < ERRORS_COUNTED:
                errors[rater, status, detail] = errors.get((rater, status, detail), 0) + count

    def _note_lengths(self, scored: pl.DataFrame) -> None:
        columns = ("rater", "view", *SYSTEM, "accuracy", "length_difference")
        for names in self._layouts:
            clusters = pl.col("person", "prompt").hash()
            rows = scored.drop_nulls([*names, "accuracy"]).select(*columns, *names, clusters)
            for values, part in rows.group_by(names):
                where = tuple((name, str(value)) for name, value in zip(names, values, strict=True))
                before = self._totals.lengths.get(where)
                part = part.drop(names)
                self._totals.lengths[where] = part if before is None else pl.concat([before, part])


def _joined(
    by_person: list[ClusterSums], by_prompt: list[ClusterSums] | None
) -> dict[Key, dict[str, ClusteredSums]]:
    """The sums of both walks side by side; where no prompt recurs, a prompt is a person and prompt."""
    people, pairs = _of_kind(by_person, "person"), _of_kind(by_person, "person+prompt")
    prompts = pairs if by_prompt is None else _of_kind(by_prompt, "prompt")
    ranges = {key: row for part in by_person for key, row in part.ranges().items()}
    return {
        key: {
            metric: ClusteredSums(found, prompts[key][metric], pairs[key][metric], squares, low, high)
            for metric, found in metrics.items()
            for low, high, squares in [ranges[key][metric]]
        }
        for key, metrics in people.items()
    }


def _of_kind(parts: Sequence[ClusterSums], kind: str) -> dict[Key, dict[str, Clusters]]:
    return {key: row for part in parts for key, row in part.rows(kind).items()}
