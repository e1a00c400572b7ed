"""How far a judge agrees with people who marked the same dialogues."""

import numpy as np
import polars as pl
from sqlalchemy import select

from personafit.items.dialogue_questions import QUESTIONS_BY_NAME
from personafit.reporting.results import Result
from personafit.statistics.agreement_intervals import PairFigure, pair_agreement
from personafit.store import Status, Store
from personafit.store import tables as t

KAPPAS: tuple[tuple[str, PairFigure], ...] = (("kappa", "kappa"), ("kappa_linear", "linear"))


def judge_human_kappa(
    store: Store, marks: pl.DataFrame, dialogues: pl.DataFrame, raters: list[dict[str, str]]
) -> list[Result]:
    """Cohen's kappa of each judge with the people's median mark, per question; nothing where nobody voted.

    Marks on a scale are weighted linearly as well, since being one off is not being three off. `marks` are the judges' marks,
    one row per dialogue, rater, view and question; `dialogues` say whom each dialogue is about and which task it is on (`prompt`):
    intervals cluster by both.
    """
    about = dialogues.select("item", "person", "prompt")
    votes = human_votes(store, sorted(set(marks["item"])))
    found: list[Result] = []
    for rater in raters:
        for question in QUESTIONS_BY_NAME:
            theirs = marks.filter(
                (pl.col("rater") == rater["fingerprint"]) & (pl.col("question") == question),
                pl.col("value").is_not_null(),
            )
            both = theirs.join(votes.filter(pl.col("question") == question), on="item", how="inner")
            both = both.join(about, on="item", how="inner", maintain_order="left")
            for view in both["view"].unique(maintain_order=True):
                part = both.filter(pl.col("view") == view)
                codes = np.rint(part.select("value", "vote").to_numpy()).astype(np.int64)
                voters = max(part["voters"].to_list())
                median = f"against the median of people's votes, at most {voters} to a dialogue"
                for metric, kappa in KAPPAS:
                    if metric == "kappa_linear" and QUESTIONS_BY_NAME[question].truth:
                        continue
                    figure = pair_agreement(
                        codes, part["person"].to_numpy(), part["prompt"].to_numpy(), kappa
                    ).interval(0)
                    found.append(
                        Result.of(
                            figure,
                            metric=metric,
                            rater=rater["name"],
                            view=view,
                            slice={"question": question},
                            fingerprint=rater["fingerprint"],
                            note="; ".join(filter(None, [median, figure.note])),
                        )
                    )
    return found


def human_votes(store: Store, items: list[str]) -> pl.DataFrame:
    """The median of what people said about each dialogue and question, and how many they were."""
    query = (
        select(t.judgments.c.item, t.judgments.c.question, t.judgments.c.value)
        .select_from(t.judgments.join(t.raters, t.raters.c.fingerprint == t.judgments.c.rater))
        .where(
            t.raters.c.kind == "human",
            t.judgments.c.status == Status.OK.value,
            t.judgments.c.target == "",
        )
    )
    schema = {"item": pl.String, "question": pl.String, "value": pl.Float64}
    rows = store.rows_among(query, t.judgments.c.item, items)
    frame = pl.DataFrame([tuple(row) for row in rows], schema, orient="row")
    return frame.group_by("item", "question", maintain_order=True).agg(
        pl.col("value").median().alias("vote"), pl.len().alias("voters")
    )
