"""Where everything is kept: products, items, asks and judgments, in SQLite or PostgreSQL."""

from personafit.store.derived import UNMADE
from personafit.store.export import export_frame
from personafit.store.paging import any_prompt_recurs, run_pages
from personafit.store.reading import (
    count_status,
    gold_answers,
    item_rows,
    option_counts,
    pair_lengths,
    run_answers,
)
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
from personafit.store.runs import FORGOTTEN_NOTE, MET, JobState, RunRecord
from personafit.store.store import Store
from personafit.store.stored_people import StoredPeople

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
    "count_status",
    "export_frame",
    "gold_answers",
    "item_rows",
    "option_counts",
    "pair_lengths",
    "run_answers",
    "run_pages",
]
