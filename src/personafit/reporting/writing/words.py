"""What a run of writing says, in sentences and as the table that terminal and page share."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from personafit.reporting.claims import decided_lifts, legend_for, lift_claim
from personafit.reporting.results import Result
from personafit.reporting.sections import Cell, Table, TableRow
from personafit.reporting.whole.content import percent_cell
from personafit.reporting.writing.scores import METRICS, WritingScores

TASKS = {"LaMP_4": "headlines", "LaMP_5": "paper titles", "LaMP_6": "subject lines", "LaMP_7": "tweets"}
TOTALS = ("all R1", "lift, points")
SHORT = {"rouge_1": "R1", "rouge_l": "RL"}
CAPTION = (
    "ROUGE-1 and ROUGE-L (F1) in %: the words, and the longest sequence of words, that a text shares with what the person wrote. "
    "Lift: ROUGE-1 told of the person over the better of told of nobody and told of somebody else, in points. 95 % intervals "
    "cluster by person."
)
Key = tuple[str | None, str | None]
"""System and what it was told."""


def score_table(scores: WritingScores, results: Sequence[Result]) -> Table:
    """A row for each system and context, the copies, then what others have published."""
    index = {((r.system, r.given), r.metric, r.slice.get("task")): r for r in results}
    columns = [(metric, task) for task in scores.tasks for metric in METRICS]
    rows = []
    for key, control in {(r.system, r.given): r.control for r in results}.items():
        covered = next(r.coverage for (found, *_), r in index.items() if found == key)
        cells = [
            percent_cell(index.get((key, METRICS[0], None))),
            percent_cell(index.get((key, "lift", None)), signed=True),
            *(percent_cell(index.get((key, metric, task))) for metric, task in columns),
            Cell(f"{100 * (covered or 0.0):.1f}", sort=covered),
        ]
        rows.append(TableRow(str(key[0]), key[1] or "", cells, control))
    rows.sort(key=lambda row: row.control is not None)
    for published in scores.info.get("published", []):
        found = [published["scores"].get(f"{task}/{metric}") for metric, task in columns]
        if any(score is not None for score in found):
            cells = [Cell() if score is None else Cell(f"{score:.1f}", sort=score / 100) for score in found]
            name, view, source = published["model"], published["view"], published["source"]
            rows.append(TableRow(name, view, [Cell(), Cell(), *cells, Cell()], source=source))
    headings = [f"{TASKS.get(task, task)} {SHORT[metric]}" for metric, task in columns]
    return Table([*TOTALS, *headings, "coverage, %"], rows)


def explain_writing(results: Sequence[Result]) -> list[str]:
    """A sentence on every system under every context asked for, its lifts tested together, held against what copying gets."""
    totals = [r for r in results if not r.slice and r.value is not None]
    copied = [r for r in totals if r.metric == METRICS[0] and r.fingerprint is None]
    best = max(copied, key=lambda r: r.value or 0.0, default=None)
    lifts = {(row.system, row.given): (row, tested) for row, tested in decided_lifts(results)}
    said = []
    for head in totals:
        if head.metric != METRICS[0] or head.control is not None:
            continue
        sentence = f"{head.system} told “{head.given}” comes to ROUGE-1 {_percent(head)} of what people wrote"
        said.append(f"{sentence}.")
        if (head.system, head.given) in lifts:
            said.append(lift_claim(*lifts[head.system, head.given]))
    if best is not None:
        said.append(f"Copying {best.system} comes to {_percent(best)} without writing a word.")
    return [*said, *legend_for(tested for _, tested in lifts.values())]


def _percent(result: Result) -> str:
    value = f"{100 * (result.value or 0.0):.1f} %"
    if result.low is None or result.high is None:
        return value
    return f"{value} ({100 * result.low:.1f}–{100 * result.high:.1f})"


def print_writing(console: Console, scores: WritingScores, results: Sequence[Result]) -> None:
    """The table in the terminal, a task's two numbers in one column."""
    table = score_table(scores, results)
    title = f"{scores.info['title']}\nROUGE-1 / ROUGE-L in %, below the 95 % interval of ROUGE-1"
    grid = Grid(title=Text(title), title_justify="left")
    grid.add_column("system", overflow="fold", min_width=18)
    grid.add_column("told", overflow="fold", min_width=12)
    for heading in (*TOTALS, *(TASKS.get(task, task) for task in scores.tasks), table.headings[-1]):
        grid.add_column(heading, justify="right")
    for row in table.rows:
        quoted = (row.source or "").rpartition(", ")[2]
        tag = (
            f"control: {row.control}"
            if row.control
            else f"published, not measured here: {quoted}"
            if row.source
            else ""
        )
        totals, tasks = row.cells[: len(TOTALS)], row.cells[len(TOTALS) : -1]
        cells = [f"{cell.text}\n{cell.interval}" for cell in totals]
        cells += [
            f"{one.text} / {two.text}\n{one.interval}" if one.text else ""
            for one, two in zip(tasks[::2], tasks[1::2], strict=True)
        ]
        cells.append(row.cells[-1].text)
        grid.add_row(
            Text(f"{row.name}\n{tag}".strip()), Text(row.view), *(Text(cell.strip()) for cell in cells)
        )
    console.print(grid)
