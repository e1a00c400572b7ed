"""Forgetting a person in a folder written by `extract`: its files, and stores of the folder's own.

The store of a run forgets by itself; the files written from it are handled here. A folder's own store also gets a tombstone, so
that the command that made it does not generate the person's data again.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from personafit._errors import UserError, located
from personafit.extract.asking import WORK
from personafit.extract.records import StageFile
from personafit.store import Store

STORES = ("asks.db", "flow.db")
"""Stores that `extract flow` keeps in its output folder."""


def refuse_foreign(folder: Path) -> None:
    """Raise UserError unless `extract run` or `extract flow` wrote the folder, since only their files are known."""
    files = StageFile(folder)
    if not any(path.exists() for path in (*files.lines, folder / WORK, *(folder / name for name in STORES))):
        raise UserError(
            f"{folder} holds nothing that `extract run` or `extract flow` keeps of people; --in takes the "
            "folder that was their --out."
        )


def erase_lines(folder: Path, person: str, dry_run: bool) -> dict[str, int]:
    """Remove a person's lines from the files of `extract`; return the number of lines by file."""
    files = StageFile(folder)
    theirs: set[str] = set()

    def extracted(row: dict[str, Any]) -> bool:
        if row.get("person") == person:
            theirs.add(row["id"])
        return row.get("person") == person

    gone: dict[Path, Callable[[dict[str, Any]], bool]] = {
        files.attributes: extracted,  # first, since verdicts are found by their attributes
        files.verdicts: lambda row: row.get("attribute") in theirs,
        files.people: lambda row: row.get("id") == person,
    }
    for path in (files.conversations, files.matched, files.answers):
        gone[path] = lambda row: row.get("person") == person
    counts = {path.stem: _erase(path, test, dry_run) for path, test in gone.items()}
    if not dry_run:
        shutil.rmtree(folder / WORK, ignore_errors=True)  # left by an interrupted run
        for path in folder.glob("*.part"):
            path.unlink()
    return counts


def erase_rows(folder: Path, person: str, dry_run: bool) -> tuple[dict[str, int], str | None]:
    """Forget the person in a folder's own stores; return rows by table, and why bytes may remain, if they may."""
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
    """Remove the lines that match from a file, replacing it atomically; return their number."""
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
