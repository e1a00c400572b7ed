"""Agreement as a part of a report: each rater beside people and gold, every two raters, and published figures on the same questions."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from itertools import combinations
from typing import Any

import orjson

from personafit.items.preference import PREFERENCE
from personafit.items.relevance import RELEVANCE
from personafit.kinds.lines import CONTROL_RATERS, RunLines
from personafit.reports.agree import Agreement, Finding, agreements, cautions, conclusions, ranking_findings
from personafit.reports.agree_ratings import GOLD, HUMAN, SIMULATED, Source, VotingRater
from personafit.reports.analysis import count_cell, small_notes
from personafit.reports.drawing import new_figure
from personafit.reports.naming import lined_name
from personafit.reports.pieces import (
    Cell,
    Grid,
    Picture,
    Piece,
    Remarks,
    Row,
    Section,
    Sentences,
    result_cell,
    true_minus,
)
from personafit.reports.plots import group_in_words, shade_cells
from personafit.reports.report import ReportPart
from personafit.reports.written import plain
from personafit.statistics import Estimate
from personafit.statistics.decisions import MARGIN

FIGURES = {
    "percent": "agree",
    "kappa": "kappa",
    "linear": "kappa, linear",
    "quadratic": "kappa, quadratic",
    "spearman": "Spearman",
    "fleiss": "Fleiss",
    "nominal": "alpha, nominal",
    "ordinal": "alpha, ordinal",
    "interval": "alpha, interval",
    "yes_rate": "yes rate",
    **{name: name for name in ("accuracy", "precision", "recall", "f1")},
}
PARTS = {
    "yes": (
        ("How often each says yes", "The share of yes, and how well a rater finds what gold says yes to."),
        ("Yes rates", "rater"),
    ),
    "together": (
        ("All raters at once", "Figures for a whole group of raters."),
        ("All raters at once", "raters"),
    ),
    "block": (
        ("By kind of rater", "Means over pairs of raters."),
        ("Means over pairs, by kind", "kind", "with"),
    ),
    "pair": (("Every two raters", ""), ("Every two raters", "rater", "with")),
}
"""Parts of the findings: title and lead of their section, then title and name columns of their table."""
MOST_PAIRS = 60  # beyond that a list of pairs is for machines
LEAD_KINDS = 2  # kinds of rater in the first table
MATRIX = range(3, 11)  # raters that a picture of every two has room for
INTERVALS = "95 % intervals over people and prompts below."


def agreement_part(
    source: Source, found: Sequence[Agreement], rankings: Sequence[Finding] = (), pictures: bool = True
) -> ReportPart:
    """How far the raters of a source agree, question by question."""
    said = [
        true_minus(f"{one.ratings.question}: {text}" if len(found) > 1 else text)
        for one in found
        for text in conclusions(one)
    ]
    lead: list[Piece] = []
    sections: list[Section] = []
    for place, one in enumerate(found):
        question = f"{one.ratings.question}: " if len(found) > 1 else ""
        unsaid = cautions(one, source)
        if not said:  # nothing can be concluded: then the reasons are what is read first
            said, unsaid = unsaid, []
        first: list[Piece] = [*(_matrix(one) if pictures else ()), _raters_grid(one)]
        first += small_notes([*one.legend, *unsaid])
        if place == 0:
            lead = first
        else:
            sections.append(Section(f"{question}each rater", first))
        sections += [replace(section, title=question + section.title) for section in _sections(one)]
    if rankings:
        sections.append(Section("Do judges rank the systems alike?", [_rankings_grid(rankings)]))
    raters = {rater.name for one in found for rater in one.ratings.raters if rater.of is None}
    units = max((len(one.ratings.codes) for one in found), default=0)
    facts = [f"{len(raters)} raters", f"{units:,} judged", f"{len(set(source.people.values())):,} people"]
    return ReportPart(source.name, f"Agreement on {source.name}", said, lead, sections, facts=facts)


def agreement_section(source: Source, opened: RunLines, margin: float = MARGIN) -> Section:
    """How far the raters of a run agree with each other, with people and with gold, as a section of its report."""
    part = agreement_part(source, agreements(source, margin), ranking_findings(opened))
    pieces = [Sentences(part.sentences), *part.pieces()]
    return Section(
        "Agreement", pieces, "Agreement with each other, with people and with gold, beyond chance."
    )


def _figure_cell(estimate: Estimate | None, remarks: Remarks) -> Cell:
    """A number with its interval, or a dash; with a number where there is something to say."""
    if estimate is None:
        return Cell()
    shown = result_cell(estimate, lambda value: plain(value, 3), remarks.numbers(estimate.note), " to ")
    return shown if shown.text else replace(shown, text="–")


def _control(rater: VotingRater) -> str | None:
    return CONTROL_RATERS.get(rater.name, rater.kind) if rater.control else None


def _raters_grid(found: Agreement) -> Grid:
    """Each rater beside gold, people or the first kinds of rater, and people's majority; the tables of pairs have the rest."""
    ratings, remarks = found.ratings, Remarks()
    columns: dict[str, tuple[str, str, str | None]] = {}  # heading to part, figure and whom
    for rater in [rater for rater in ratings.raters if rater.kind == GOLD][:1]:
        columns[f"agrees with {rater.name}"] = ("pair", "percent", rater.name)
        columns[f"kappa with {rater.name}"] = ("pair", "kappa", rater.name)
    kinds = list(dict.fromkeys(ratings.raters[place].kind for place in ratings.judges))
    for kind in [kind for kind in kinds if kind in (HUMAN, SIMULATED)] or kinds[:LEAD_KINDS]:
        columns[f"mean kappa with {kind}"] = ("reliability", "kappa", kind)
    ceiling = found.find("panel", "majority", HUMAN)
    if ceiling is not None:
        columns["meets people’s majority"] = ("ceiling", "majority", None)
    rows = []
    for rater, count in zip(ratings.raters, (ratings.codes >= 0).sum(0), strict=True):
        figures = (found.find(part, figure, rater.name, whom) for part, figure, whom in columns.values())
        cells = [count_cell(int(count)), *(_figure_cell(one, remarks) for one in figures)]
        rows.append(Row([rater.name, rater.kind], cells, _control(rater)))
    rows.sort(key=lambda row: row.control is not None)
    if ceiling is not None:
        cells = [count_cell(ceiling.n), *[Cell()] * (len(columns) - 1), _figure_cell(ceiling, remarks)]
        rows.append(Row(["the human ceiling", HUMAN], cells))
    title, caption = f"Raters, question “{ratings.question}”", f"Shares and kappas. {INTERVALS}"
    return Grid(title, caption, ["rater", "kind"], ["items", *columns], rows, list(remarks))


def _sections(found: Agreement) -> Iterator[Section]:
    """Everything below the first table; what there is nothing of is left out."""
    if gaps := found.of_part("gap"):
        lead = "Each machine’s agreement with people’s majority minus one person’s, on the same items."
        yield Section("Machines and the human ceiling", [_machines_grid(found, gaps)], lead)
    for part, ((title, lead), _) in PARTS.items():
        if any(finding.part == part for finding in found.findings):
            yield Section(title, [_part_grid(found, part)], lead)


def _machines_grid(found: Agreement, gaps: Mapping[str, Finding]) -> Grid:
    """The paired test of each machine against the human ceiling, and the alternative annotator test."""
    tests, remarks, rows = found.of_part("alternative"), Remarks(), []
    for name, gap in gaps.items():
        p = Cell("–") if gap.p is None else Cell(f"{gap.p:.3f}", sort=gap.p)
        wins = [_figure_cell(tests[name].estimate, remarks)] if tests else []
        rows.append(Row([name], [count_cell(gap.estimate.n), _figure_cell(gap.estimate, remarks), p, *wins]))
    columns = ["items", "difference", "p (Holm)", *(["wins against people (ω)"] if tests else [])]
    return Grid("Machines minus the human ceiling", INTERVALS, ["machine"], columns, rows, list(remarks))


def _part_grid(found: Agreement, part: str) -> Grid:
    """The findings of one part, a row for each rater, kind or pair, with published rows below."""
    title, *heads = PARTS[part][1]
    findings = [finding for finding in found.findings if finding.part == part]
    lines: dict[tuple[str, ...], dict[str, Finding]] = {}
    for finding in findings:
        names = (finding.first, finding.second or "")[: len(heads)]
        lines.setdefault(names, {})[finding.figure] = finding
    figures = list(dict.fromkeys(finding.figure for finding in findings))
    controls = {rater.name: _control(rater) for rater in found.ratings.raters} if part == "yes" else {}
    remarks, rows = Remarks(), []
    for names, line in list(lines.items())[:MOST_PAIRS]:
        first = next(iter(line.values()))
        counted = count_cell(first.pairs if part in ("together", "block") else first.estimate.n)
        cells = [
            _figure_cell(line[figure].estimate if figure in line else None, remarks) for figure in figures
        ]
        rows.append(Row(names, [counted, *cells], controls.get(names[0])))
    rows += _published_rows(found.ratings.question, part, ["", *figures], len(heads))
    against = next((one.second for one in findings if one.second), None)
    title += f", and how well each finds the yes of {against}" if part == "yes" and against else ""
    most = f"The first {MOST_PAIRS} of {len(lines)}; --json gives all. " if len(lines) > MOST_PAIRS else ""
    columns = [
        "pairs" if part in ("together", "block") else "items",
        *(FIGURES[figure] for figure in figures),
    ]
    return Grid(title, f"{most}{INTERVALS}", heads, columns, rows, list(remarks))


def _rankings_grid(rankings: Iterable[Finding]) -> Grid:
    remarks, rows = Remarks(), []
    for finding in rankings:
        estimate, metric = finding.estimate, finding.figure.removeprefix("tau").removeprefix(" of ")
        judge = f"{finding.first}, by {metric}" if metric else finding.first
        rows.append(
            Row([judge, finding.second or ""], [count_cell(estimate.n), _figure_cell(estimate, remarks)])
        )
    caption = f"Kendall’s τ of the rankings that two judges give the systems. {INTERVALS}"
    return Grid("Rankings of systems", caption, ["judge", "with"], ["systems", "τ"], rows, list(remarks))


def _matrix(found: Agreement) -> list[Picture]:
    """Kappa of every two raters as shaded cells, where there are more than two and not too many."""
    raters = [rater for rater in found.ratings.raters if rater.of is None]
    pairs = {
        (one.name, two.name): found.find("pair", "kappa", one.name, two.name)
        for one in raters
        for two in raters
    }
    known = {pair: kappa for pair, kappa in pairs.items() if kappa is not None and kappa.value is not None}
    if len(raters) not in MATRIX or not known:
        return []
    figure = new_figure(0.42 * len(raters) + 1.7)
    axis = figure.subplots()
    values = {pair: kappa.value for pair, kappa in known.items()}
    shade_cells(axis, [[values.get((one.name, two.name)) for two in raters] for one in raters], "")
    labels = [lined_name(f"{rater.name} ({rater.kind})") for rater in raters]
    style: dict[str, Any] = {"fontsize": 8.5, "parse_math": False}
    axis.set_xticks(range(len(raters)), labels, rotation=30, ha="right", rotation_mode="anchor", **style)
    axis.set_yticks(range(len(raters)), labels, **style)
    said = [
        (f"{one.name} and {two.name}", known[one.name, two.name])
        for one, two in combinations(raters, 2)
        if (one.name, two.name) in known
    ]
    figure.set_label(f"Kappa, the highest first: {group_in_words(said, 2)}.")
    caption = "How to read it: 1 is full agreement, 0 is what chance gives. The intervals are in the table of every two raters."
    return [Picture(f"Kappa of every two raters, question “{found.ratings.question}”", caption, figure)]


_BLOCKS = {
    "two annotators, mean of three pairs": (HUMAN, HUMAN),
    "annotator and LLM, mean": (HUMAN, "llm"),
    "two LLMs, mean": ("llm", "llm"),
}


def published_figures(question: str) -> Iterator[tuple[str, tuple[str, ...], str, dict[str, float]]]:
    """What Re-Centering Humans reports for a question: the table it belongs to, whom it is about, where it stands, and figures."""
    if question == RELEVANCE:
        for row in _published_file("published.json")["scores"]:
            kinds = _BLOCKS.get(row["model"])
            shares = {figure: percent / 100 for figure, percent in row["scores"].items()}
            yield "block" if kinds else "yes", kinds or (row["model"],), row["source"], shares
    elif question == PREFERENCE:
        body = _published_file("published_responses.json")
        people, source = body["ceiling"], body["source"]
        figures = {"spearman": people["spearman"], "quadratic": people["kappa_weighted"]}
        yield "block", (HUMAN, HUMAN), f"{source}, {people['source']}", figures
        for row in body["judges"]:
            if "spearman" in row:
                where = f"{source}, {row['source']}"
                yield "pair", (row["model"], "people"), where, {"spearman": row["spearman"]}


def _published_file(name: str) -> Any:
    return orjson.loads((files("personafit.benchmarks.recentering") / name).read_bytes())


def _published_rows(question: str, part: str, figures: Sequence[str], heads: int) -> Iterator[Row]:
    """The published rows of a table, with those of its figures that were published."""
    for table, names, source, known in published_figures(question):
        if table == part and any(figure in known for figure in figures):
            cells = [
                Cell(f"{known[figure]:.3f}", sort=known[figure]) if figure in known else Cell()
                for figure in figures
            ]
            yield Row([*names, *[""] * (heads - len(names))][:heads], cells, source=source)
