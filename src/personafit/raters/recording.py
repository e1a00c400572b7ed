"""What a model said in a run, as lines for `replay:`: the same run can then be read again anywhere, without the model."""

import re
from typing import Any

import orjson
from sqlalchemy import select

from personafit._errors import UserError
from personafit.contexts import MADE, made_key
from personafit.items.reading import replay_key
from personafit.models import LIKELIHOOD
from personafit.store import RunRecord, Status, Store
from personafit.store import tables as t

# One ask about several answers keeps what was said about each under such a line.
_ABOUT = re.compile(r"(?:^|\n\n)\[answer (\d)\]\n")


def recording(store: Store, run: RunRecord) -> list[dict[str, Any]]:
    """One row for each reply of the run's one model; asks that failed or were refused are left out."""
    rater = _model_of(run)
    query = (
        select(
            t.asks.c.job,
            t.asks.c.generation,
            t.asks.c.item,
            t.asks.c.view,
            t.asks.c.order,
            t.asks.c.sample,
            t.asks.c.reply,
            t.asks.c.reasoning,
            t.judgments.c.extra,
        )
        .select_from(
            t.run_jobs.join(t.asks, t.asks.c.job == t.run_jobs.c.job).join(
                t.judgments, t.judgments.c.ask == t.asks.c.id
            )
        )
        .where(
            t.run_jobs.c.run == run.id,
            t.asks.c.rater == rater,
            t.asks.c.reply.is_not(None),
            t.asks.c.status.in_((Status.OK, Status.UNPARSED)),
            t.judgments.c.target == "",
            t.judgments.c.parse == 0,
        )
        .order_by(t.asks.c.item, t.asks.c.view, t.asks.c.order, t.asks.c.sample, t.asks.c.generation)
    )
    rows = {row["job"]: row for row in store.frame(query).iter_rows(named=True)}  # the last generation counts
    lines = {
        line["key"]: line for row in rows.values() for line in _lines(row)
    }  # views share what was not told
    return [*lines.values(), *_made(store, run)]


def _made(store: Store, run: RunRecord) -> list[dict[str, Any]]:
    """The replies that went into what raters were told: memories filtered, profiles induced."""
    ask = t.asks.c
    query = (
        select(ask.job, ask.item, ask.question, ask.order, ask.reply, ask.reasoning, t.products.c.about)
        .select_from(
            t.run_jobs.join(t.asks, ask.job == t.run_jobs.c.job).join(
                t.products, t.products.c.id == ask.context
            )
        )
        .where(t.run_jobs.c.run == run.id, ask.question.in_(MADE), ask.status != Status.FAILED)
        .order_by(ask.item, ask.question, t.products.c.about, ask.order, ask.generation)
    )
    lines = {}
    for row in store.frame(query).iter_rows(named=True):
        line = {
            "key": made_key(row["item"], row["question"], row["about"], row["order"]),
            "reply": row["reply"],
        }
        lines[row["job"]] = line | ({"reasoning": row["reasoning"]} if row["reasoning"] else {})
    return list(lines.values())


def _model_of(run: RunRecord) -> str:
    found = [
        (rater["name"], rater["fingerprint"])
        for rater in run.config.get("raters", [])
        if rater["kind"] in ("llm", "replay")
    ]
    if len(found) != 1:
        named = ", ".join(name for name, _ in found) or "none"
        raise UserError(f"{run.name} must have one model among its raters to be recorded; it has {named}.")
    return str(found[0][1])


def _lines(row: dict[str, Any]) -> list[dict[str, Any]]:
    scores = (orjson.loads(row["extra"]) if row["extra"] else {}).get("letters")
    if row["order"]:
        line = {"key": _key(row, row["order"]), "reply": row["reply"]}
        line |= {"reasoning": row["reasoning"]} if row["reasoning"] else {}
        return [line | ({"letter_scores": scores} if scores else {})]
    if (
        scores
    ):  # each answer was weighed, with the person under its number and without under its number and a word
        return [_weighed(row, *name.split(" "), likelihood=score) for name, score in scores.items()]
    # After the text before the first mark, numbers and texts take turns; of two replies about one answer the last counts.
    parts = _ABOUT.split(row["reply"])[1:]
    said = dict(zip(parts[::2], parts[1::2], strict=True))
    return [{"key": _key(row, index), "reply": reply} for index, reply in said.items()]


def _weighed(
    row: dict[str, Any], index: str, view: str | None = None, *, likelihood: float
) -> dict[str, Any]:
    key = replay_key(row["item"], view or row["view"], index, row["sample"])
    return {"key": key, "reply": "", "letter_scores": {LIKELIHOOD: likelihood}}


def _key(row: dict[str, Any], order: str) -> str:
    return replay_key(row["item"], row["view"], order, row["sample"])
