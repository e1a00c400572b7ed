"""Wrong choices of a rater, drawn into a coding study: what a person needs to say why each went wrong.

The draw is seeded and spread over people, so that nobody's profile dominates it; the study is a JSONL file and a CSV of the same
rows with an empty `code` column. Why a model erred is for a person to say: the rules' guess is a hint and no code.
"""

from pathlib import Path
from typing import Any

import polars as pl
from sqlalchemy import select

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.kinds.choice_scores import RunScores
from personafit.reports.calibration import has_truth
from personafit.reports.failure_rules import MODES
from personafit.reports.failures import answer_failures, find_rater
from personafit.store import Store, export_frame
from personafit.store import tables as t

CODES = (
    "misread-persona",
    "distracted-by-noise",
    "helpfulness-against-personalization",
    "several-right-answers",
    "other",
)
COLUMNS = (
    "item",
    "tier",
    "person",
    "person_text",
    "question",
    "answer_0",
    "answer_1",
    "gold",
    "choice",
    "rater",
    "view",
    "reply",
    "reasoning",
    "guess",
    "code",
    "codes",
)


def draw_errors(
    store: Store, scores: RunScores, rater: str | None, n: int, tier: str | None = None, seed: int = 0
) -> pl.DataFrame:
    """At most n items on which the rater chose against gold over both orders, one person after the other in turn.

    A tie is no choice and is not drawn. `gold` and `choice` are indices of the answers, `person_text` is what the rater saw.
    """
    if not has_truth(scores):
        raise UserError(
            f"{scores.run.name} has no gold that says which answer is right, so no choice is wrong."
        )
    if n < 1:
        raise UserError(f"--draw takes a number of at least 1, not {n}.")
    who = find_rater(scores, rater)
    answers = answer_failures(store, scores, who)
    wrong = answers.filter(
        pl.col("choice").is_not_null()
        & pl.col("gold").is_in(["0", "1"])
        & (pl.col("choice") != pl.col("gold"))
    )
    if tier is not None:
        wrong = wrong.filter(pl.col("tier") == _known_tier(scores, tier))
    drawn = _draw(wrong.filter(pl.col("answer") == pl.col("choice")), n, seed)
    other = wrong.filter(pl.col("answer") != pl.col("choice")).select("item", pl.col("text").alias("other"))
    frame = drawn.join(other, on="item", maintain_order="left").join(
        _asks(store, scores, who, drawn["item"].to_list()), on="item", how="left", maintain_order="left"
    )
    first = pl.col("choice") == "0"
    seen = [pl.when(pl.col(m).is_not_null()).then(pl.lit(f"{m}: ") + pl.col(m)) for m in MODES]
    return frame.with_columns(
        pl.lit(None, pl.String).alias("tier") if "tier" not in frame.columns else pl.col("tier"),
        pl.col("prompt").alias("question"),
        pl.when(first).then("text").otherwise("other").alias("answer_0"),
        pl.when(first).then("other").otherwise("text").alias("answer_1"),
        pl.lit(who["name"]).alias("rater"),
        pl.lit(scores.headline_view).alias("view"),
        pl.concat_str(seen, separator="; ", ignore_nulls=True).alias("guess"),
        pl.lit("").alias("code"),
        pl.lit(" | ".join(CODES)).alias("codes"),
    ).select(COLUMNS)


def errors_study(
    store: Store,
    scores: RunScores,
    n: int,
    folder: Path,
    tier: str | None = None,
    rater: str | None = None,
    seed: int = 0,
) -> list[str]:
    """Draw wrong choices into a study below the folder; returns what was drawn and what to do with it, in sentences."""
    frame, who = draw_errors(store, scores, rater, n, tier, seed), find_rater(scores, rater)["name"]
    where = f" on {tier}" if tier else ""
    if frame.is_empty():
        return [f"{who} made no wrong choice{where}: there is nothing to code."]
    paths = write_study(frame, folder / f"errors-{tier or 'all'}")
    fewer = "" if len(frame) == n else f" (all there are; {n} were asked for)"
    return [
        f"{len(frame)} wrong choices of {who}{where}{fewer}, from {frame['person'].n_unique()} people.",
        f"Fill `code` with one of {', '.join(CODES)}: {paths[1]} (the same rows in {paths[0].name})",
    ]


def write_study(frame: pl.DataFrame, folder: Path) -> list[Path]:
    """The study as `errors.jsonl` and `errors.csv`; a coder fills `code` with one of `codes`."""
    paths = [folder / "errors.jsonl", folder / "errors.csv"]
    for path in paths:
        if path.exists():
            raise UserError(
                f"{path} is there already and may hold somebody's codes; choose another folder with --out."
            )
    try:
        for path in paths:
            export_frame(frame, path)
    except OSError as error:
        raise UserError(f"{folder} cannot be written ({error.strerror}).") from error
    return paths


def _known_tier(scores: RunScores, tier: str) -> str:
    known = sorted(scores.items["tier"].drop_nulls().unique()) if "tier" in scores.items.columns else []
    if tier not in known:
        said = f"there are {', '.join(known)}" if known else "its items have none"
        raise UserError(f"--tier {tier}: no item of {scores.run.name} is of that tier; {said}.")
    return tier


def _draw(wrong: pl.DataFrame, n: int, seed: int) -> pl.DataFrame:
    """The first error of everyone before the second of anyone; who and which come by hash."""
    lots = pl.Series("lot", [hash_text("errors", item, str(seed)) for item in wrong["item"]], dtype=pl.String)
    ranked = wrong.with_columns(lots).sort("lot")
    turn = pl.int_range(pl.len()).over("person").alias("turn")
    return ranked.with_columns(turn).sort("turn", "lot").head(n).drop("turn", "lot")


def _asks(store: Store, scores: RunScores, rater: dict[str, Any], items: list[str]) -> pl.DataFrame:
    """Per item what the rater was shown of the person, and all it replied and thought, an order each."""
    rows = scores.answers.filter(
        (pl.col("rater") == rater["fingerprint"])
        & (pl.col("view") == scores.headline_view)
        & (pl.col("target") == "")
        & pl.col("item").is_in(items)
    ).select("item", "job", "ask", "context", "order", "sample")
    query = select(t.asks.c.job, t.asks.c.id, t.asks.c.reply, t.asks.c.reasoning).where(
        t.asks.c.rater == rater["fingerprint"]
    )
    replies = [tuple(row) for row in store.rows_among(query, t.asks.c.item, items)]
    schema = dict.fromkeys(("job", "ask", "reply", "reasoning"), pl.String)
    said = pl.DataFrame(replies, schema, orient="row")
    told = store.texts({context for context in rows["context"] if context})
    joined = rows.join(said, on=["job", "ask"], how="left").sort("item", "order", "sample")
    head = pl.when(pl.col("order") == "").then(pl.lit("")).otherwise("[order " + pl.col("order") + "]\n")
    return (
        joined.with_columns(
            (head + pl.col("reply")).alias("reply"),
            (head + pl.col("reasoning")).alias("reasoning"),
            pl.col("context").replace_strict(told, default="", return_dtype=pl.String).alias("person_text"),
        )
        .group_by("item", maintain_order=True)
        .agg(
            pl.col("person_text").first(),
            pl.col("reply").drop_nulls().str.join("\n\n"),
            pl.col("reasoning").drop_nulls().str.join("\n\n"),
        )
    )
