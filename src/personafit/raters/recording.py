"""Export a model's replies of a run as lines for `replay:`, so that the run can be repeated anywhere without the model."""

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

# One ask about several answers keeps the reply about each answer under such a line.
_ABOUT = re.compile(r"(?:^|\n\n)\[answer (\d)\]\n")


def recording(store: Store, run: RunRecord) -> list[dict[str, Any]]:
    """Return one row for each reply of the run's one model; asks that failed or were refused are left out."""
    models = [one for one in run.config.get("raters", []) if one["kind"] in ("llm", "replay")]
    if len(models) != 1:
        named = ", ".join(one["name"] for one in models) or "none"
        raise UserError(f"{run.name} must have one model among its raters to be recorded; it has {named}.")
    ask, judgment = t.asks.c, t.judgments.c
    query = (
        select(
            ask.job, ask.item, ask.context, ask.order, ask.sample, ask.reply, ask.reasoning, judgment.extra
        )
        .select_from(
            t.run_jobs.join(t.asks, ask.job == t.run_jobs.c.job).join(t.judgments, judgment.ask == ask.id)
        )
        .where(
            t.run_jobs.c.run == run.id,
            ask.rater == models[0]["fingerprint"],
            ask.reply.is_not(None),
            ask.status.in_((Status.OK, Status.UNPARSED)),
            judgment.target == "",
            judgment.parse == 0,
        )
        .order_by(ask.item, ask.context, ask.order, ask.sample, ask.generation)
    )
    rows = {row["job"]: row for row in store.frame(query).iter_rows(named=True)}  # the last generation counts
    # Contexts share the scores that were computed without any context.
    lines = {line["key"]: line for row in rows.values() for line in _lines(row)}
    return [*lines.values(), *_made(store, run)]


def _made(store: Store, run: RunRecord) -> list[dict[str, Any]]:
    """Return the replies that went into contexts: memories filtered, profiles induced."""
    ask, told = t.asks.c, t.products.c
    query = (
        select(ask.job, ask.item, ask.question, ask.order, ask.reply, ask.reasoning, told.about)
        .select_from(
            t.run_jobs.join(t.asks, ask.job == t.run_jobs.c.job).join(t.products, told.id == ask.context_id)
        )
        .where(t.run_jobs.c.run == run.id, ask.question.in_(MADE), ask.status != Status.FAILED)
        .order_by(ask.item, ask.question, told.about, ask.order, ask.generation)
    )
    rows = store.frame(query).iter_rows(named=True)
    keyed = {
        row["job"]: (made_key(row["item"], row["question"], row["about"], row["order"]), row) for row in rows
    }
    return [_line(key, row) for key, row in keyed.values()]


def _line(key: str, row: dict[str, Any]) -> dict[str, Any]:
    thought = {"reasoning": row["reasoning"]} if row["reasoning"] else {}
    return {"key": key, "reply": row["reply"], **thought}


def _lines(row: dict[str, Any]) -> list[dict[str, Any]]:
    def key(order: str, context: str = row["context"]) -> str:
        return replay_key(row["item"], context, order, row["sample"])

    scores = (orjson.loads(row["extra"]) if row["extra"] else {}).get("letters")
    if row["order"]:
        return [_line(key(row["order"]), row) | ({"letter_scores": scores} if scores else {})]
    if scores:
        # Each answer was scored with the context, under its index, and without it, under its index and a word.
        return [
            {"key": key(*name.split(" ")), "reply": "", "letter_scores": {LIKELIHOOD: score}}
            for name, score in scores.items()
        ]
    # After the text before the first mark, indices and texts alternate; of two replies about one answer the last counts.
    parts = _ABOUT.split(row["reply"])[1:]
    said = dict(zip(parts[::2], parts[1::2], strict=True))
    return [{"key": key(index), "reply": reply} for index, reply in said.items()]
