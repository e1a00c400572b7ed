"""The chapter of runs whose kind has no pages of its own, such as those that packages bring."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from personafit.reporting.number_tables import NumberRow
from personafit.reporting.sections import when
from personafit.reporting.whole.collected import Collected
from personafit.reporting.whole.content import Chapter, Grid, Instrument, Piece, Sentences, made_chapter

if TYPE_CHECKING:
    from personafit.reporting.plain_report import PlainReport


def others(given: Collected) -> Chapter:
    """What each run's metrics are."""
    kinds = ", ".join(dict.fromkeys(one.lines.kind for one in given.others.values()))
    return made_chapter(
        "others",
        f"Items of kind {kinds}" if kinds else "Other kinds of item",
        "Every number with its 95 % interval, clustered by person and, where prompts recur, by prompt.",
        {name: list(_pieces(one)) for name, one in given.others.items()},
        "No run of a kind of somebody's own was given.",
    )


def _pieces(one: "PlainReport") -> Iterator[Piece]:
    run, info = one.lines.run, one.lines.info
    if sentences := one.sentences():
        yield Sentences(sentences)
    rows = [
        NumberRow([str(line.rater), line.view or ""], one.cells(line), line.control)
        for line in one.lines.lines
    ]
    labels = [f"{metric.name}: {metric.label}." for metric in one.lines.metrics if metric.label]
    yield Grid("Metrics", " ".join(labels), ["rater", "told"], one.headings, rows)
    facts = {"run": run.name, "started": when(run.started), "data": run.dataset, "licence": info["licence"]}
    yield Instrument(run.config.get("command"), facts, notes=run.config.get("notes", []))
