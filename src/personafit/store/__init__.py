"""Where everything is kept: products, items, asks and judgments, in SQLite or PostgreSQL."""

from personafit.store.export import export_frame
from personafit.store.reading import count_status, gold_answers, item_rows, pair_lengths, run_answers
from personafit.store.records import (
    TIE,
    Ask,
    Item,
    Judgment,
    Outcome,
    Product,
    RaterRecord,
    Status,
)
from personafit.store.store import JobState, RunRecord, Store

__all__ = [
    "TIE",
    "Ask",
    "Item",
    "JobState",
    "Judgment",
    "Outcome",
    "Product",
    "RaterRecord",
    "RunRecord",
    "Status",
    "Store",
    "count_status",
    "export_frame",
    "gold_answers",
    "item_rows",
    "pair_lengths",
    "run_answers",
]
