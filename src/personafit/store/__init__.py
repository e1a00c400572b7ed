"""The store of products, items, asks and judgments, in SQLite or PostgreSQL."""

from personafit.store.reading import (
    any_prompt_recurs,
    ended_products,
    export_frame,
    gold_answers,
    item_rows,
    run_answers,
    run_items,
    run_pages,
    spending_rows,
)
from personafit.store.records import (
    TIE,
    UNMADE,
    Ask,
    Item,
    Judgment,
    Outcome,
    Product,
    RaterRecord,
    Status,
)
from personafit.store.store import FORGOTTEN_NOTE, MET, JobState, RunRecord, Store, StoredPeople

__all__ = [
    "FORGOTTEN_NOTE",
    "MET",
    "TIE",
    "UNMADE",
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
    "StoredPeople",
    "any_prompt_recurs",
    "ended_products",
    "export_frame",
    "gold_answers",
    "item_rows",
    "run_answers",
    "run_items",
    "run_pages",
    "spending_rows",
]
