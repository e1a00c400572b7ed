"""The chapter of runs of writing: what it comes to, the table, texts side by side, how asks ended, how it was made."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import orjson
import polars as pl
from sqlalchemy import select

from personafit.benchmarks.lamp.writing import MAKERS
from personafit.reporting.number_tables import NumberRow
from personafit.reporting.sections import Cell, when
from personafit.reporting.whole.collected import Collected
from personafit.reporting.whole.content import (
    Chapter,
    Errors,
    Grid,
    Instrument,
    Participant,
    Piece,
    Sentences,
    count_row,
    grid_of,
    made_chapter,
)
from personafit.reporting.writing.scores import METRICS, WritingScores
from personafit.reporting.writing.words import CAPTION, explain_writing, score_table
from personafit.store import Status, Store
from personafit.store import tables as t

if TYPE_CHECKING:
    from personafit.reporting.writing.run_report import WritingReport

EXAMPLES = 20  # texts of each task shown word for word
ERRORS_SHOWN = 3


def writing(given: Collected) -> Chapter:
    """Whether systems write as people write."""
    return made_chapter(
        "writing",
        "Writing as the person would",
        "Systems write what people wrote: headlines, paper titles, subject lines, tweets. Each text is held against the person’s own.",
        {name: _pieces(given.store, one) for name, one in given.writings.items()},
        "No run of writing was given: `personafit run lamp-writing --data DIR --system SPEC` adds one.",
    )


def _pieces(store: Store, one: "WritingReport") -> list[Piece]:
    scores = one.scores
    return [
        Sentences(explain_writing(one.results)),
        grid_of(
            score_table(scores, one.results), "How near to what people wrote", CAPTION, ["system", "told"]
        ),
        _examples(scores),
        *_endings(scores),
        _instrument(store, scores),
    ]


def _examples(scores: WritingScores) -> Grid:
    """The first texts of each task: the person's own, then what was written or copied for it."""
    first = scores.lines[0].frame.group_by("task", maintain_order=True).head(EXAMPLES)["item"].to_list()
    said = [
        {
            item: (text, score)
            for item, text, score in line.frame.select("item", "text", METRICS[0]).iter_rows()
        }
        for line in scores.lines
    ]
    rows = []
    for item in first:
        rows.append(NumberRow([item, MAKERS[0], ""], [Cell(scores.own.get(item, "")), Cell()]))
        for line, found in zip(scores.lines, said, strict=True):
            text, score = found.get(item, (None, None))
            if text is not None and score is not None:
                cells = [Cell(text), Cell(f"{100 * score:.1f}", sort=score)]
                rows.append(NumberRow([item, str(line.system), line.given or ""], cells, line.control))
    note = f"The first {EXAMPLES} of each task."
    return Grid("Texts side by side", note, ["item", "by", "told"], ["text", "ROUGE-1, %"], rows, folded=True)


def _endings(scores: WritingScores) -> Iterator[Piece]:
    """How many texts of each system ended how, and the commonest sentences of what went wrong."""
    systems = scores.run.config["systems"]
    planned = len(scores.own) * len(scores.run.config["contexts"])
    rows, errors = [], []
    for system in systems:
        part = scores.answers
        part = part if part.is_empty() else part.filter(pl.col("rater") == system["fingerprint"])
        counts = {} if part.is_empty() else dict(part["status"].value_counts().iter_rows())
        ended = [counts.get(status.value, 0) for status in Status]
        rows.append(count_row([system["name"]], [*ended, max(0, planned - sum(ended))]))
        if not part.is_empty():
            wrong = part.filter((pl.col("status") != Status.OK.value) & pl.col("detail").is_not_null())
            found = wrong.group_by(
                "status", pl.col("detail").cast(pl.String).str.slice(0, 300), maintain_order=True
            ).len()
            most = list(found.sort("len", descending=True).head(ERRORS_SHOWN).iter_rows())
            errors += [Errors(system["name"], most)] if most else []
    if rows:
        columns = [*(status.value for status in Status), "not yet written"]
        yield Grid(
            "How writing ended", "A failure is no score: it lowers coverage.", ["system"], columns, rows
        )
    yield from errors


def _instrument(store: Store, scores: WritingScores) -> Instrument:
    config = scores.run.config
    frame = store.frame(select(t.raters.c.fingerprint, t.raters.c.settings))
    settings = {fingerprint: orjson.loads(text) for fingerprint, text in frame.iter_rows()}
    members = [
        Participant(
            system["name"],
            "system",
            system["fingerprint"],
            {
                key: value if isinstance(value, str) else orjson.dumps(value).decode()
                for key, value in settings.get(system["fingerprint"], {}).items()
            },
        )
        for system in config["systems"]
    ]
    facts = {
        "run": scores.run.name,
        "started": when(scores.run.started),
        "data": scores.run.dataset,
        "licence": scores.info["licence"],
        "measure": config["instrument"],
        "texts": f"{len(scores.own):,}",
    }
    return Instrument(config.get("command") or "", facts, members, None, config.get("notes", []))
