"""Records as rows: what is nested becomes JSON, and texts lose what no database takes."""

from typing import Any

import orjson

from personafit.store.records import Ask, Item, Judgment, Product


def item_row(dataset: str, position: int, item: Item) -> dict[str, Any]:
    """An item as a row of its data set."""
    return {
        "dataset": dataset,
        "position": position,
        "id": item.id,
        "kind": item.kind,
        "person": item.person,
        "prompt": storable(item.prompt),
        "products": orjson.dumps(item.products).decode(),
        "grp": item.group,
        "slices": orjson.dumps(item.slices).decode(),
        "hash": item.hash,
    }


def ask_row(ask: Ask) -> dict[str, Any]:
    """An ask as a row."""
    row = dict(ask.__dict__)
    for name in ("reply", "reasoning", "detail"):
        if row[name]:
            row[name] = storable(row[name])
    return row


def judgment_row(judgment: Judgment) -> dict[str, Any]:
    """A judgment as a row."""
    row = dict(judgment.__dict__)
    if row["extra"] is not None:
        row["extra"] = orjson.dumps(row["extra"]).decode()
    return row


def product_row(product: Product) -> dict[str, Any]:
    """A product as a row."""
    row = dict(product.__dict__)
    row["parents"] = orjson.dumps(row["parents"]).decode()
    row["text"] = storable(row["text"])
    return row


def storable(text: str) -> str:
    """The text without what no database takes: NUL and lone surrogates become the replacement character."""
    if text.isascii() and "\x00" not in text:
        return text
    return text.replace("\x00", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
