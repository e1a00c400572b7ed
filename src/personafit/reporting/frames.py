"""A run as polars frames, for whoever wants to go on from there; `.to_pandas()` makes pandas of them."""

import polars as pl

from personafit._errors import UserError
from personafit.reporting.results import Result, load_scores, load_totals, run_results
from personafit.store import RunRecord, Store

_FIELDS = [name for name in Result.__dataclass_fields__ if name != "slice"]
_NUMBERS = {"value": pl.Float64, "low": pl.Float64, "high": pl.Float64, "coverage": pl.Float64}
_COUNTS = {"n": pl.Int64, "people": pl.Int64}


def judgments_frame(store_url: str, run: str) -> pl.DataFrame:
    """One row per judgment of a run, with its rater's name and its item's person, prompt, slices and gold."""
    with Store(store_url) as store:
        scores = load_scores(store, _open(store, run))
    names = {rater["fingerprint"]: rater["name"] for rater in scores.raters}
    frame = scores.answers if scores.parts.is_empty() else pl.concat([scores.answers, scores.parts])
    if frame.is_empty():
        return frame
    frame = frame.with_columns(pl.col("rater").replace(names).alias("rater_name"))
    about = scores.items.rename(
        {name: f"item_{name}" for name in scores.items.columns if name in frame.columns and name != "item"}
    )
    return frame.join(about, on="item", how="left", maintain_order="left")


def results_frame(store_url: str, run: str) -> pl.DataFrame:
    """One row per number of a run, as in results.json; each name of a slice is a column `slice.NAME`."""
    with Store(store_url) as store:
        results = run_results(load_totals(store, _open(store, run)))
    slices = list(dict.fromkeys(name for result in results for name in result.slice))
    schema = {name: _NUMBERS.get(name) or _COUNTS.get(name) or pl.String for name in _FIELDS}
    rows = [
        (*(getattr(result, name) for name in _FIELDS), *(result.slice.get(name) for name in slices))
        for result in results
    ]
    return pl.DataFrame(rows, schema=schema | {f"slice.{name}": pl.String for name in slices}, orient="row")


def _open(store: Store, name: str) -> RunRecord:
    try:
        run = store.run(name)
    except KeyError:
        known = ", ".join(record.name for record in store.runs()[:5]) or "none yet"
        raise UserError(f"There is no run '{name}' in {store.url}; runs there: {known}.") from None
    if "raters" not in run.config:
        raise UserError(f"{run.name} only made answers so far; nobody has judged them.")
    return run
