"""The queue for people: what a step made, one line each, with room for a decision that the next run honours.

`review/STEP.jsonl` is written when a step ends. Set `"decision"` of a line to `keep` or `drop` and run the same build
again: what is dropped is replaced, what is kept stays whatever a model said of it.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from personafit._errors import UserError, located
from personafit.benchmarks.lines import read_lines

KEEP, DROP = "keep", "drop"


class Review:
    """The decisions of people about one step's rows, by the row's id."""

    def __init__(self, out: Path, step: str) -> None:
        self.path = out / "review" / f"{step}.jsonl"
        self.decisions: dict[str, str] = {}
        if not self.path.is_file():
            return
        for number, row in read_lines(self.path):
            decision = row.get("decision") or ""
            if decision not in ("", KEEP, DROP):
                raise UserError(
                    f"{located(self.path, number, 'decision')}: '{decision}' is neither keep nor drop; leave it empty to decide later."
                )
            if not isinstance(row.get("id"), str):
                raise UserError(
                    f"{located(self.path, number, 'id')} is missing; do not edit anything but decisions."
                )
            if decision:
                self.decisions[row["id"]] = decision

    def dropped(self, key: str) -> bool:
        """Whether a person said no."""
        return self.decisions.get(key) == DROP

    def kept(self, key: str) -> bool:
        """Whether a person said yes."""
        return self.decisions.get(key) == KEEP

    def write(self, rows: Iterable[dict[str, Any]]) -> None:
        """Write the queue anew; decisions made so far stay, also those about rows that are there no more."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh, seen = self.path.with_suffix(".part"), set()
        with fresh.open("wb") as file:
            for row in rows:
                decision = self.decisions.get(row["id"], "")
                if decision:
                    seen.add(row["id"])
                file.write(orjson.dumps({"decision": decision, **row}, option=orjson.OPT_APPEND_NEWLINE))
            for key, decision in self.decisions.items():
                if key not in seen:
                    row = {"decision": decision, "id": key}
                    file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
        fresh.replace(self.path)
