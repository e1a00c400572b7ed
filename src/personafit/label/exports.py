"""Export a study's votes: a folder of tables, the pages as raters saw them, a card, and a checksum for every file.

Everything comes from a single read of the votes and contains pseudonyms only: no names, addresses or external ids.
"""

from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import polars as pl
from sqlalchemy import select

from personafit._errors import UserError, writing
from personafit.label.chats import WRITING
from personafit.label.records import RaterState, Role
from personafit.label.studies import Studies
from personafit.label.votes import UNIT, adjudicated_votes, stored_page, study_remarks, study_votes, tally
from personafit.store import tables as t
from personafit.store.reading import export_frame

VOTE_COLUMNS = (
    "study", "item", "question", "target", "rater", "kind", "label", "value", "status", "why", "text", "note", "order",
    "seconds", "at", "client_time", "perspective", "generation", "page", "role", "person", "weight",
)  # fmt: skip
REMARK_COLUMNS = ("page", "person", "rater", "kind", "question", "label", "text", "at")
AGGREGATE = {
    "item": pl.String,
    "question": pl.String,
    "target": pl.String,
    "person": pl.String,
    "votes": pl.Int64,
    "counts": pl.String,
    "majority": pl.String,
    "share": pl.Float64,
    "cannot_tell": pl.Int64,
    "adjudicated": pl.String,
}
CHATS = {"page": pl.String, "rater": pl.String, "turn": pl.Int64, "role": pl.String, "text": pl.String}
CARD = Path(__file__).with_name("votes_card.md")
FORMATS = ("jsonl", "csv", "parquet")


class StudyExport:
    """The contents of an export: standing votes of raters who are not excluded, with the pages they refer to."""

    def __init__(self, studies: Studies, name: str) -> None:
        self.study, form = studies.study(name), studies.form(name)
        config = self.study.config
        self._guidelines = form.told(config, config.language)
        self._instructed = form.instructed(config)
        self.pages = [
            {"page": page.id, "person": page.person, "items": page.items, "content": stored_page(form, page)}
            for page in studies.pages(name, (Role.ITEM,))
        ]
        seats = studies.seats(name)
        out = {seat.code for seat in seats if seat.state is RaterState.EXCLUDED}
        self.excluded = len(out)
        weight = pl.col("item").replace_strict(config.weights, default=None, return_dtype=pl.Float64)
        self.votes = (
            study_votes(studies, name).with_columns(study=pl.lit(name), weight=weight).select(VOTE_COLUMNS)
        )
        self.decisions = adjudicated_votes(studies, name)
        self.remarks = study_remarks(studies, name).filter(~pl.col("rater").is_in(out)).select(REMARK_COLUMNS)
        codes = {seat.seat: seat.code for seat in seats if seat.code not in out}
        chats = t.study_chats.c
        query = select(chats.page, chats.seat, chats.turn, chats.role, chats.text)
        rows = studies.store.rows(
            query.where(chats.study == name, chats.seat.in_(codes), chats.role != WRITING).order_by(
                chats.seat, chats.page, chats.turn
            )
        )
        self.chats = pl.DataFrame(
            [(row.page, codes[row.seat], *row[2:]) for row in rows], schema=CHATS, orient="row"
        )

    @property
    def aggregate(self) -> pl.DataFrame:
        """Return the votes counted by item, question and target, one row each."""
        decided = {row[:3]: row[3] for row in self.decisions.select(*UNIT, "label").iter_rows()}
        rows: list[tuple[Any, ...]] = []
        for key, part in self.votes.group_by(UNIT, maintain_order=True):
            found = tally(part["label"])
            skipped = part.filter(pl.col("status") == "skipped").height
            if found.counts or skipped:  # free texts have nothing to aggregate
                counts = orjson.dumps(found.counts).decode()
                total = sum(found.counts.values())
                come_to = (total, counts, found.majority, found.share, skipped, decided.get(key))
                rows.append((*key, part["person"][0], *come_to))
        return pl.DataFrame(rows, schema=AGGREGATE, orient="row")

    def card(self) -> str:
        study, votes, config = self.study, self.votes, self.study.config
        raters = Counter(votes.select("rater", "kind").unique()["kind"])
        simulated = "- **some or all raters are simulated: their votes are not votes of people**\n"
        return CARD.read_text(encoding="utf-8").format(
            study=study,
            config=config,
            pages=len(self.pages),
            items=votes["item"].n_unique(),
            votes=votes.height,
            raters=", ".join(f"{count} {kind}" for kind, count in sorted(raters.items())) or "none",
            excluded=self.excluded,
            perspective=", ".join(sorted(set(votes["perspective"]))) or config.perspective,
            decided=self.decisions.height,
            instructed=self._instructed,
            simulated=simulated if "simulated" in raters else "",
            guidelines="\n".join(f"> {line}".rstrip() for line in self._guidelines.splitlines()),
        )


def export_study(studies: Studies, name: str, folder: Path, format: str) -> StudyExport:
    """Write a study's votes to a new or empty folder; return what was written."""
    if format not in FORMATS:
        raise UserError(f"--format {format}: there are {', '.join(FORMATS)}.")
    exported = StudyExport(studies, name)
    if exported.votes.is_empty() and exported.remarks.is_empty() and exported.chats.is_empty():
        excluded = f" ({exported.excluded} excluded)" if exported.excluded else ""
        raise UserError(f"{name} has no votes to write yet{excluded}; nothing was written.")
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UserError(f"{folder} is not empty; name a new folder with --out.")
        _write(exported, folder, format)
        files = sorted(path for path in folder.iterdir())
        sums = [f"{sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in files]
        (folder / "SHA256SUMS").write_text("\n".join(sums) + "\n", encoding="utf-8")
    return exported


def _write(exported: StudyExport, folder: Path, format: str) -> None:
    """Write votes and aggregates, remarks and chats if there are any, the pages, and a card."""
    tables = {"votes": exported.votes, "aggregate": exported.aggregate}
    more = {"remarks": exported.remarks, "chats": exported.chats}
    for name, frame in (tables | {name: one for name, one in more.items() if not one.is_empty()}).items():
        export_frame(frame, folder / f"{name}.{format}")
    lines = [orjson.dumps(page) + b"\n" for page in exported.pages]
    (folder / "pages.jsonl").write_bytes(b"".join(lines))
    (folder / "card.md").write_text(exported.card(), encoding="utf-8")
