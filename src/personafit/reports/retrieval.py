"""What memory retrieval finds of the memories that are known to matter for an item."""

from personafit.benchmarks.memory_labels import LabelledMemories
from personafit.contexts.context import WAYS
from personafit.contexts.retrieval import Retriever, chance_recall, precision_at, recall_at
from personafit.reports.analysis import Analysis, count_cell
from personafit.reports.pieces import Grid, Row, percent_cell, share_cell
from personafit.reports.report import ReportPart
from personafit.reports.result import Result

DEPTHS = (1, 3, 5)  # memories retrieved


def analyze_retrieval(benchmark: str, embedder: str = "") -> Analysis:
    """Recall and precision of every way to retrieve, by language and depth, beside picking at random."""
    labelled = LabelledMemories(benchmark)
    results, rows = [], []
    for way in WAYS:
        found = list(labelled.retrieved(Retriever(way, embedder), DEPTHS[-1]))
        for language in sorted({language for language, _ in found}):
            here = [one for spoken, one in found if spoken == language]
            for depth in DEPTHS:
                recall, precision = recall_at(here, depth), precision_at(here, depth)
                chance = chance_recall(here, depth, labelled.memories)
                where = {"by": way, "language": language, "k": str(depth)}
                results += [
                    Result.of(recall, metric="recall", slice=where),
                    Result.of(precision, metric="precision", slice=where),
                ]
                cells = [percent_cell(recall), share_cell(chance), percent_cell(precision)]
                rows.append(Row(list(where.values()), [*cells, count_cell(recall.n)]))
    grid = Grid(
        "Memories found",
        "In %, with 95 % intervals; blind is the recall of picking k at random.",
        ["by", "language", "k"],
        ["recall", "blind", "precision", "items"],
        rows,
        note="Recall is over items on which some memory bears; precision over items for which something was found.",
    )
    return Analysis(benchmark, results, ReportPart(benchmark, "Memory retrieval", [], [grid]))
