"""How far a judge agrees with people who marked the same dialogues."""

import numpy as np
import polars as pl
from sqlalchemy import select

from personafit.items.dialogue_questions import QUESTIONS_BY_NAME
from personafit.reporting.results import Result
from personafit.statistics import Estimate
from personafit.statistics.agreement import Weights, cohen_kappa
from personafit.store import Status, Store
from personafit.store import tables as t

KAPPAS: tuple[tuple[str, Weights], ...] = (("kappa", "none"), ("kappa_linear", "linear"))
MEDIAN = "against the median of people's votes; `people` is the most voters a dialogue had"


def judge_human_kappa(store: Store, marks: pl.DataFrame, raters: list[dict[str, str]]) -> list[Result]:
    """Cohen's kappa of each judge with the people's median mark, per question; nothing where nobody voted.

    Marks on a scale are weighted linearly as well, since being one off is not being three off. `marks` are the judges' marks,
    one row per dialogue, rater, view and question.
    """
    votes = human_votes(store, sorted(set(marks["item"])))
    found: list[Result] = []
    for rater in raters:
        for question in QUESTIONS_BY_NAME:
            theirs = marks.filter(
                (pl.col("rater") == rater["fingerprint"]) & (pl.col("question") == question),
                pl.col("value").is_not_null(),
            )
            both = theirs.join(votes.filter(pl.col("question") == question), on="item", how="inner")
            for view in both["view"].unique(maintain_order=True):
                part = both.filter(pl.col("view") == view)
                judged = np.rint(part["value"].to_numpy()).astype(np.int64)
                people = np.rint(part["vote"].to_numpy()).astype(np.int64)
                most = max(part["voters"].to_list())
                for metric, weights in KAPPAS:
                    if metric == "kappa_linear" and QUESTIONS_BY_NAME[question].truth:
                        continue
                    figure = cohen_kappa(judged, people, weights)
                    found.append(
                        Result.of(
                            Estimate(figure.value, None, None, len(part), most),
                            metric=metric,
                            rater=rater["name"],
                            view=view,
                            slice={"question": question},
                            fingerprint=rater["fingerprint"],
                            note=figure.note or MEDIAN,
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
