"""Memory retrieval measured against the memories labelled as relevant to an item."""

from personafit.benchmarks.memory_labels import LabelledMemories
from personafit.contexts.context import WAYS
from personafit.contexts.retrieval import Retriever, chance_recall, precision_at, recall_at
from personafit.reports.analysis import Analysis, count_cell
from personafit.reports.pieces import Grid, Row, percent_cell, share_cell
from personafit.reports.report import ReportPart
from personafit.reports.result import Result, with_interval
from personafit.statistics import Estimate

DEPTHS = (1, 3, 5)  # memories retrieved
SAID = 3  # depth at which the sentences name the best way


def analyze_retrieval(benchmark: str, embedder: str = "") -> Analysis:
    """Analyse recall and precision of every retrieval method, by language and depth, compared with random picks."""
    labelled = LabelledMemories(benchmark)
    results, rows = [], []
    ways: dict[str, list[tuple[float, str, Estimate, float]]] = {}
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
                if depth == SAID and recall.value is not None:
                    ways.setdefault(language, []).append((recall.value, way, recall, chance or 0.0))
                cells = [percent_cell(recall), share_cell(chance), percent_cell(precision)]
                rows.append(Row(list(where.values()), [*cells, count_cell(recall.n)]))
    grid = Grid(
        "Retrieved memories",
        "In %, 95 % intervals below; chance is the recall of k memories picked at random.",
        ["by", "language", "k"],
        ["recall", "chance", "precision", "items"],
        rows,
        note="Recall is over items with a relevant memory; precision over items for which something was retrieved.",
    )
    sentences = []
    for language, known in ways.items():
        _, way, recall, chance = max(known, key=lambda one: one[0])
        share = f"{with_interval(recall, unit=' %')} of the relevant memories"
        random = f"picking at random finds {100 * chance:.1f} %"
        sentences.append(f"{language}: {way} finds {share} among {SAID} retrieved; {random}.")
    return Analysis(benchmark, results, ReportPart(benchmark, "Memory retrieval", sentences, [grid]))
