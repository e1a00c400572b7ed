"""Frames to files: JSONL, CSV or Parquet by the file's ending, written whole or not at all."""

import os
from pathlib import Path

import polars as pl

from personafit._errors import UserError

ENDINGS = (".jsonl", ".csv", ".parquet")

# Spreadsheets look past white space and invisible characters, and read full-width signs as the plain ones.
FORMULA = r"^[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠]|^[\t\r\n]"


def export_frame(frame: pl.DataFrame, path: Path) -> None:
    """Write the frame; the old file, if any, is replaced only once the new one is complete."""
    if path.suffix not in ENDINGS:
        raise UserError(f"{path}: the file's ending says the format; use one of {', '.join(ENDINGS)}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    if path.suffix == ".jsonl":
        frame.write_ndjson(partial)
    elif path.suffix == ".csv":
        without_formulas(frame).write_csv(partial)
    else:
        frame.write_parquet(partial)
    os.replace(partial, path)


def without_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Texts that a spreadsheet would run as a formula get a leading apostrophe, as OWASP advises."""
    columns = []
    for name, dtype in frame.schema.items():
        column = pl.col(name)
        if dtype == pl.String:
            risky = column.str.contains(FORMULA)
            column = pl.when(risky).then(pl.lit("'") + column).otherwise(column).alias(name)
        columns.append(column)
    return frame.select(columns)
