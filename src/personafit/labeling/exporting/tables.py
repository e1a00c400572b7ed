"""Votes as tables: one row a judgment, one row an item, and a checksum for every file."""

from hashlib import sha256
from pathlib import Path
from typing import Literal

import polars as pl

from personafit.labeling.exporting.reading import StudyExport
from personafit.store.export import without_formulas

CHECKSUMS = "SHA256SUMS"
Kind = Literal["jsonl", "csv", "parquet"]


def write_tables(exported: StudyExport, folder: Path, kind: Kind) -> None:
    """Votes and what they come to; flags, notes and chats where there are any."""
    write_table(exported.votes, folder / f"votes.{kind}", kind)
    write_table(exported.aggregate, folder / f"aggregate.{kind}", kind)
    if not exported.remarks.is_empty():
        write_table(exported.remarks, folder / f"remarks.{kind}", kind)
    if not exported.chats.is_empty():
        write_table(exported.chats, folder / f"chats.{kind}", kind)


def write_table(frame: pl.DataFrame, path: Path, kind: Kind) -> None:
    """One table in one file."""
    if kind == "parquet":
        frame.write_parquet(path)
    elif kind == "csv":
        without_formulas(frame).write_csv(path)
    else:
        frame.write_ndjson(path)


def write_checksums(folder: Path) -> None:
    """The hash of every file, as `sha256sum --check` reads them."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = [f"{sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}" for path in files]
    (folder / CHECKSUMS).write_text("\n".join(lines) + "\n", encoding="utf-8")
