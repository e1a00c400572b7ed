"""Files of votes as tests write and read them."""

import csv
import json
from pathlib import Path
from typing import Any

NAME = "Ana Example <ana@example.org>"


def lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_votes(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write votes as the file's ending says."""
    if path.suffix == ".csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path
