"""Forgetting a person in a folder that a command left behind: the files of `stages --out`, and stores of a folder's own.

The store a run was made in forgets by itself; what was written out of it is here. A folder's own store gets a tombstone too, so
that the command that made it does not make them again.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from personafit._errors import UserError, located
from personafit.stages.records import StageFile
from personafit.stages.session import WORK
from personafit.store import Store

STORES = ("asks.db", "flow.db")
"""What `train verifier` and `extract flow` keep in the folder they write."""


def refuse_foreign(folder: Path) -> None:
    """Only folders that `extract run`, `extract flow` or `train verifier` wrote are known well enough to take lines out of."""
    files = StageFile(folder)
    if not any(path.exists() for path in (*files.lines, folder / WORK, *(folder / name for name in STORES))):
        raise UserError(
            f"{folder} holds nothing that `extract run`, `extract flow` or `train verifier` keeps of people; --in takes the "
            "folder that was their --out."
        )


def erase_lines(folder: Path, person: str, dry_run: bool) -> dict[str, int]:
    """Take a person's lines out of the files of `stages`; returns how many there are in each."""
    files = StageFile(folder)
    theirs: set[str] = set()

    def said_by(row: dict[str, Any]) -> bool:
        return row.get("person") == person

    def extracted(row: dict[str, Any]) -> bool:
        if said_by(row):
            theirs.add(row["id"])
        return said_by(row)

    counts = {
        path.stem: _erase(path, gone, dry_run)
        for path, gone in (
            (files.attributes, extracted),
            (files.verdicts, lambda row: row.get("attribute") in theirs),
            (files.people, lambda row: row.get("id") == person),
            (files.conversations, said_by),
            (files.matched, said_by),
            (files.answers, said_by),
        )
    }
    if not dry_run:
        shutil.rmtree(folder / WORK, ignore_errors=True)  # of a run that was killed
        for path in folder.glob("*.part"):
            path.unlink()
    return counts


def erase_rows(folder: Path, person: str, dry_run: bool) -> tuple[dict[str, int], str | None]:
    """Have a folder's own stores forget; returns rows by table, and why bytes may remain, if they may."""
    counts: dict[str, int] = {}
    remains = None
    for name in STORES:
        if not (folder / name).is_file():
            continue
        with Store(folder / name) as store:
            done = store.forget(person, dry_run, elsewhere=True)
        if done is not None:
            remains = done.remains or remains
            for table, count in done.counts.items():
                counts[table] = counts.get(table, 0) + count
    return counts, remains


def _erase(path: Path, gone: Callable[[dict[str, Any]], bool], dry_run: bool) -> int:
    """Lines of a file that are to go; into place only when all others are written."""
    if not path.exists():
        return 0
    removed, part = 0, path.with_name(f"{path.name}.part")
    with path.open("rb") as old, Path(os.devnull if dry_run else part).open("wb") as new:
        for number, line in enumerate(old, 1):
            try:
                row = orjson.loads(line) if line.strip() else {}
            except orjson.JSONDecodeError as error:
                raise UserError(
                    f"{located(path, number)} is not JSON ({error}), so whose it is cannot be told; mend or delete it first."
                ) from error
            if isinstance(row, dict) and gone(row):
                removed += 1
            else:
                new.write(line)
    if not dry_run:
        part.replace(path)
    return removed
