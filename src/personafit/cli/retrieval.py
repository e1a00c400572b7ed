"""`personafit retrieval`: how much of what bears on a question the ways of finding memories find."""

from typing import Annotated, Any

import typer
from rich.table import Table

from personafit.benchmarks.memory_labels import LabelledMemories
from personafit.cli.common import console, print_object
from personafit.cli.options import JsonOption
from personafit.contexts.memories import WAYS
from personafit.contexts.retrieval import Retriever, chance_recall, precision_at, recall_at
from personafit.statistics import Estimate


def retrieval(
    benchmark: Annotated[
        str, typer.Argument(help="starter, or a benchmark folder with relevant_memories.jsonl.")
    ] = "starter",
    by: Annotated[list[str] | None, typer.Option(help="bm25, dense or hybrid; default all three.")] = None,
    k: Annotated[
        list[int] | None, typer.Option("-k", min=1, help="How many are found; default 1, 3 and 5.")
    ] = None,
    embedder: Annotated[str, typer.Option(help="use, or openai:MODEL@URL.")] = "",
    json: JsonOption = False,
) -> None:
    """Measure recall and precision of retrieval against memories that are known to bear on an item.

    **Example**

        personafit retrieval starter -k 3
    """
    labelled = LabelledMemories(benchmark)
    depths = sorted(set(k or (1, 3, 5)))
    rows: list[dict[str, Any]] = []
    for way in by or WAYS:
        found = list(labelled.retrieved(Retriever(way, embedder), depths[-1]))
        for language in sorted({language for language, _ in found}):
            here = [one for spoken, one in found if spoken == language]
            for depth in depths:
                rows.append(
                    {
                        "by": way,
                        "language": language,
                        "k": depth,
                        "recall": recall_at(here, depth),
                        "precision": precision_at(here, depth),
                        "chance": chance_recall(here, depth, labelled.memories),
                        "without": sum(not one.relevant for one in here),
                    }
                )
    if json:
        plain = [row | {name: _plain(row[name]) for name in ("recall", "precision")} for row in rows]
        print_object({"benchmark": benchmark, "retrieval": plain})
        return
    title = "Memories found, in %, 95 % interval; blind is the recall of picking k at random"
    table = Table(title=title, title_justify="left")
    for name in ("by", "language", "k", "recall", "blind", "precision", "items"):
        table.add_column(name, justify="left" if name in ("by", "language") else "right")
    for row in rows:
        blind = "" if row["chance"] is None else f"{100 * row['chance']:.1f}"
        cells = (
            row["by"],
            row["language"],
            str(row["k"]),
            _cell(row["recall"]),
            blind,
            _cell(row["precision"]),
        )
        table.add_row(*cells, str(row["recall"].n))
    console().print(table)
    print(
        "Recall is over items on which some memory bears; precision over items for which something was found."
    )


def _cell(one: Estimate) -> str:
    if one.value is None:
        return "undefined"
    ends = "" if one.low is None or one.high is None else f" ({100 * one.low:.1f}–{100 * one.high:.1f})"
    return f"{100 * one.value:.1f}{ends}"


def _plain(one: Estimate) -> dict[str, Any]:
    return {name: getattr(one, name) for name in ("value", "low", "high", "n", "people", "note")}
