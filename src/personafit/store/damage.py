"""Finding what is damaged in a store: a row whose JSON was spoilt by a flipped bit, a full disk or somebody's editor.

Rows are read without checks, since that is what reports spend their time on. Where reading fails, this tells whether the store is at
fault, and names the row.
"""

from typing import Any

import orjson
from sqlalchemy import Engine, Table, select

from personafit.people import Person
from personafit.store import tables as t

OBJECTS: dict[Table, tuple[str, ...]] = {
    t.datasets: ("info",),
    t.people: ("body",),
    t.items: ("slices",),
    t.raters: ("settings",),
    t.runs: ("config",),
    t.studies: ("config",),
    t.study_pages: ("body",),
    t.study_raters: ("progress",),
}
LISTS: dict[Table, tuple[str, ...]] = {t.products: ("parents",), t.items: ("products",)}


def find_damage(engine: Engine) -> str | None:
    """The first row that cannot be read, as `people 'andre', column body`; None where all can."""
    with engine.connect() as connection:
        for expected, columns in ((dict, OBJECTS), (list, LISTS)):
            for table, names in columns.items():
                keys = list(table.primary_key.columns)
                for row in connection.execute(select(*keys, *(table.c[name] for name in names))):
                    for name in names:
                        if not _is_whole(getattr(row, name), expected, table is t.people):
                            return f"{table.name} {', '.join(map(repr, row[: len(keys)]))}, column {name}"
    return None


def _is_whole(text: Any, expected: type, is_person: bool) -> bool:
    try:
        value = orjson.loads(text)
        if is_person:
            Person.model_validate(value)
    except ValueError:
        return False
    return isinstance(value, expected)
