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
from personafit.extract.asking import WORK
from personafit.extract.records import StageFile
from personafit.store import Store

STORES = ("asks.db", "flow.db")
"""What `extract flow` keeps in the folder it writes."""


def refuse_foreign(folder: Path) -> None:
    """Only folders that `extract run` or `extract flow` wrote are known well enough to take lines out of."""
    files = StageFile(folder)
    if not any(path.exists() for path in (*files.lines, folder / WORK, *(folder / name for name in STORES))):
        raise UserError(
            f"{folder} holds nothing that `extract run` or `extract flow` keeps of people; --in takes the "
            "folder that was their --out."
        )


def erase_lines(folder: Path, person: str, dry_run: bool) -> dict[str, int]:
    """Take a person's lines out of the files of `extract`; returns how many there are in each."""
    files = StageFile(folder)
    theirs: set[str] = set()

    def extracted(row: dict[str, Any]) -> bool:
        if row.get("person") == person:
            theirs.add(row["id"])
        return row.get("person") == person

    gone: dict[Path, Callable[[dict[str, Any]], bool]] = {
        files.attributes: extracted,  # first: verdicts are told by the attributes they are about
        files.verdicts: lambda row: row.get("attribute") in theirs,
        files.people: lambda row: row.get("id") == person,
    }
    for path in (files.conversations, files.matched, files.answers):
        gone[path] = lambda row: row.get("person") == person
    counts = {path.stem: _erase(path, test, dry_run) for path, test in gone.items()}
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
