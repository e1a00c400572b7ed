"""Agreement as a part of a report: each rater beside people and gold, every two raters, and published figures on the same questions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import orjson

from personafit.items.preference import PREFERENCE
from personafit.items.relevance import RELEVANCE
from personafit.kinds.lines import RunLines
from personafit.reporting.agree import Agreement, Finding, agreements, cautions, conclusions, ranking_findings
from personafit.reporting.agree_ratings import GOLD, HUMAN, SIMULATED, Source, VotingRater
from personafit.reporting.drawing import new_figure
from personafit.reporting.naming import lined_name
from personafit.reporting.pieces import (
    Cell,
    Grid,
    Picture,
    Piece,
    Row,
    Section,
    Sentences,
    true_minus,
)
from personafit.reporting.plots import PanelMark, dot_panels, group_in_words, shade_cells
from personafit.reporting.report import ReportPart
from personafit.reporting.results import CONTROL_RATERS
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
}
MOST_PAIRS = 60  # beyond that a list of pairs is for machines
LEAD_KINDS = 2  # kinds of rater in the first table
MATRIX = range(3, 11)  # raters that a picture of every two has room for
INTERVALS = "95 % intervals over people and prompts below."
PEOPLE = (HUMAN, SIMULATED)


def agreement_part(
    source: Source, found: Sequence[Agreement], rankings: Sequence[Finding] = (), pictures: bool = True
) -> ReportPart:
    """How far the raters of a source agree, question by question."""
    named = len(found) > 1
    said = [
        true_minus(f"{one.ratings.question}: {text}" if named else text)
        for one in found
        for text in conclusions(one)
    ]
    lead: list[Piece] = []
    sections: list[Section] = []
    for place, one in enumerate(found):
        short, others = _raters_grids(one)
        matrix = _matrix(one) if pictures else None
        if place == 0:
            lead += [*([matrix] if matrix else []), short]
            sections += [Section("Each rater with other kinds of rater", [others])] if others else []
        else:
            more = [piece for piece in (matrix, short, others) if piece]
            sections.append(Section(f"{one.ratings.question}: each rater", more))
        sections += _sections(one, f"{one.ratings.question}: " if named else "", pictures)
        unsaid = cautions(one, source)
        if not said:  # nothing can be concluded: then the reasons are what is read first
            said, unsaid = unsaid, []
        notes = [*one.legend, *unsaid]
        if notes and place == 0:
            lead.append(Sentences(notes, small=True))
        elif notes:
            sections.append(
                Section(f"{one.ratings.question}: what cannot be said", [Sentences(notes, small=True)])
            )
    if rankings:
        sections.append(Section("Do judges rank the systems alike?", [_rankings_grid(rankings)]))
    raters = {rater.name for one in found for rater in one.ratings.raters if rater.of is None}
    units = max((len(one.ratings.codes) for one in found), default=0)
    return ReportPart(
        source.name,
        f"Agreement on {source.name}",
        said,
        lead,
        sections,
        facts=[f"{len(raters)} raters", f"{units:,} judged", f"{len(set(source.people.values())):,} people"],
    )


def agreement_section(source: Source, opened: RunLines, margin: float = MARGIN) -> Section:
    """How far the raters of a run agree with each other, with people and with gold, as a section of its report."""
    part = agreement_part(source, agreements(source, margin), ranking_findings(opened))
    pieces = [Sentences(part.sentences), *part.pieces()]
    return Section(
        "Agreement", pieces, "Agreement with each other, with people and with gold, beyond chance."
    )


class _Remarks:
    """The reasons that stand below a table, each once; cells refer to them by number."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def cell(self, estimate: Estimate | None, shown: str | None = None) -> Cell:
        """A number with its interval, or a dash; with a number where there is something to say."""
        if estimate is None:
            return Cell()
        notes = []
        if estimate.note:
            self.lines += [estimate.note] if estimate.note not in self.lines else []
            notes = [self.lines.index(estimate.note) + 1]
        text = "–" if estimate.value is None else true_minus(shown or f"{estimate.value:.3f}")
        interval = ""
        if estimate.low is not None and estimate.high is not None:
            interval = true_minus(f"{estimate.low:.3f} to {estimate.high:.3f}")
        return Cell(text, interval, estimate.value, notes)


def _count(count: int | None) -> Cell:
    return Cell() if count is None else Cell(f"{count:,}", sort=float(count))


def _control(rater: VotingRater) -> str | None:
    return CONTROL_RATERS.get(rater.name, rater.kind) if rater.control else None


def _raters_grids(found: Agreement) -> tuple[Grid, Grid | None]:
    """Each rater beside gold, kinds of rater and people's majority: the columns to read first, and the others if there are any."""
    ratings = found.ratings
    golds = [rater.name for rater in ratings.raters if rater.kind == GOLD]
    kinds = list(dict.fromkeys(ratings.raters[place].kind for place in ratings.judges))
    first_kinds = [kind for kind in kinds if kind in PEOPLE] or kinds[:LEAD_KINDS]
    panel = found.find("panel", "majority", HUMAN)
    keys: list[tuple[str, str, str, bool]] = []  # part, figure, with whom, whether it is read first
    for place, gold in enumerate(golds):
        keys += [("pair", figure, gold, place == 0) for figure in ("percent", "kappa")]
    keys += [("reliability", "kappa", kind, kind in first_kinds) for kind in kinds]
    keys += [("ceiling", "majority", "", True)] if panel is not None else []
    others = [key for key in keys if not key[3]]
    lead = _raters_grid(found, [key for key in keys if key[3]], panel)
    return lead, _raters_grid(found, others, None) if others else None


def _raters_grid(
    found: Agreement, keys: Sequence[tuple[str, str, str, bool]], panel: Estimate | None
) -> Grid:
    ratings, remarks = found.ratings, _Remarks()
    judged = (ratings.codes >= 0).sum(0)
    rows = [
        Row(
            [rater.name, rater.kind],
            [
                _count(int(count)),
                *(
                    remarks.cell(found.find(part, figure, rater.name, whom or None))
                    for part, figure, whom, _ in keys
                ),
            ],
            _control(rater),
        )
        for rater, count in zip(ratings.raters, judged, strict=True)
    ]
    rows.sort(key=lambda row: row.control is not None)
    if panel is not None:
        cells = [_count(panel.n), *(Cell() for _ in keys[:-1]), remarks.cell(panel)]
        rows.append(Row(["the human ceiling", HUMAN], cells))
    headings = {
        ("pair", "percent"): "agrees with {}",
        ("pair", "kappa"): "kappa with {}",
        ("reliability", "kappa"): "mean kappa with {}",
        ("ceiling", "majority"): "meets people’s majority",
    }
    columns = ["items", *(headings[part, figure].format(whom) for part, figure, whom, _ in keys)]
    title = f"Raters, question “{ratings.question}”"
    return Grid(title, f"Shares and kappas. {INTERVALS}", ["rater", "kind"], columns, rows, remarks.lines)


def _sections(found: Agreement, name: str, pictures: bool) -> list[Section]:
    question = found.ratings.question
    quoted = published_agreement(question)
    made: list[tuple[str, str, list[Piece | None]]] = [
        (
            "Machines and the human ceiling",
            "Each machine’s agreement with people’s majority minus one person’s, on the same items.",
            [_machines_grid(found)],
        ),
        (
            "How often each says yes",
            "The share of yes, and how well a rater finds what gold says yes to.",
            [_yes_picture(found) if pictures else None, _yes_grid(found, quoted)],
        ),
        (
            "All raters at once",
            "Figures for a whole group of raters.",
            [_part_grid(found, "together", ["raters"], ())],
        ),
        (
            "By kind of rater",
            "Means over pairs of raters.",
            [_part_grid(found, "block", ["kind", "with"], quoted)],
        ),
        ("Every two raters", "", [_part_grid(found, "pair", ["rater", "with"], quoted)]),
    ]
    return [
        Section(f"{name}{title}", [piece for piece in pieces if piece is not None], lead)
        for title, lead, pieces in made
        if any(pieces)
    ]


def _machines_grid(found: Agreement) -> Grid | None:
    """The paired test of each machine against the human ceiling, and the alternative annotator test."""
    gaps, tests, remarks = found.of_part("gap"), found.of_part("alternative"), _Remarks()
    if not gaps:
        return None
    rows = []
    for name, gap in gaps.items():
        p = Cell("–") if gap.p is None else Cell(f"{gap.p:.3f}", sort=gap.p)
        wins = [remarks.cell(tests[name].estimate)] if tests else []
        rows.append(Row([name], [_count(gap.estimate.n), remarks.cell(gap.estimate), p, *wins]))
    columns = ["items", "difference", "p (Holm)", *(["wins against people (ω)"] if tests else [])]
    return Grid("Machines minus the human ceiling", INTERVALS, ["machine"], columns, rows, remarks.lines)


def _yes_findings(found: Agreement) -> dict[str, dict[str, Finding]]:
    """Rater to its figures of yes and no by name."""
    by_rater: dict[str, dict[str, Finding]] = {}
    for finding in found.findings:
        if finding.part == "yes":
            by_rater.setdefault(finding.first, {})[finding.figure] = finding
    return by_rater


def _yes_grid(found: Agreement, quoted: Sequence["PublishedAgreement"]) -> Grid | None:
    by_rater, remarks = _yes_findings(found), _Remarks()
    if not by_rater:
        return None
    figures = list(dict.fromkeys(figure for line in by_rater.values() for figure in line))
    against = next((one.second for line in by_rater.values() for one in line.values() if one.second), None)
    controls = {rater.name: _control(rater) for rater in found.ratings.raters}
    rows = [
        Row(
            [name],
            [remarks.cell(line[figure].estimate if figure in line else None) for figure in figures],
            controls.get(name),
        )
        for name, line in by_rater.items()
    ]
    rows += _published_rows(quoted, "yes", figures, 1)
    title = "Yes rates" + (f", and how well each finds the yes of {against}" if against else "")
    columns = [figure.replace("_", " ") for figure in figures]
    return Grid(title, f"Shares. {INTERVALS}", ["rater"], columns, rows, remarks.lines)


def _yes_picture(found: Agreement) -> Picture | None:
    """Rates of yes beside precision, recall and F1, where there is gold to hold them against."""
    by_rater = _yes_findings(found)
    if not any("f1" in line for line in by_rater.values()):
        return None
    kinds = {rater.name: rater.kind for rater in found.ratings.raters}
    panels = [
        (
            title,
            None,
            [_panel_mark(name, kinds.get(name), line.get(figure)) for name, line in by_rater.items()],
        )
        for title, figure in (
            ("Says yes", "yes_rate"),
            ("Precision", "precision"),
            ("Recall", "recall"),
            ("F1", "f1"),
        )
    ]
    caption = "How to read it: bars are 95 % intervals over people; diamonds are people and gold, hollow squares rules."
    return Picture("Yes rates and detection", caption, dot_panels(panels, limits=(-0.04, 1.04)))


def _panel_mark(name: str, kind: str | None, found: Finding | None) -> PanelMark:
    control = kind if kind in (*PEOPLE, GOLD, "rule") else None
    if found is None:
        return PanelMark(name, control, None)
    return PanelMark(name, control, found.estimate.value, found.estimate.low, found.estimate.high)


def _part_grid(
    found: Agreement, part: str, heads: Sequence[str], quoted: Sequence["PublishedAgreement"]
) -> Grid | None:
    findings = [finding for finding in found.findings if finding.part == part]
    groups: dict[tuple[str, str | None], dict[str, Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.first, finding.second), {})[finding.figure] = finding
    if not groups:
        return None
    remarks = _Remarks()
    figures = list(dict.fromkeys(finding.figure for finding in findings))
    rows = []
    for names, line in list(groups.items())[:MOST_PAIRS]:
        first = next(iter(line.values()))
        cells = [line.get(figure) for figure in figures]
        rows.append(
            Row(
                [str(name or "") for name in names[: len(heads)]],
                [
                    _count(first.pairs if part != "pair" else first.estimate.n),
                    *(remarks.cell(one.estimate if one else None) for one in cells),
                ],
            )
        )
    rows += _published_rows(quoted, part, ["", *figures], len(heads))
    titles = {
        "together": "All raters at once",
        "block": "Means over pairs, by kind",
        "pair": "Every two raters",
    }
    caption = INTERVALS
    if len(groups) > MOST_PAIRS:
        caption = f"The first {MOST_PAIRS} of {len(groups)}; --json gives all. {INTERVALS}"
    columns = ["pairs" if part != "pair" else "items", *(FIGURES[figure] for figure in figures)]
    return Grid(titles[part], caption, heads, columns, rows, remarks.lines)


def _rankings_grid(rankings: Iterable[Finding]) -> Grid:
    remarks, rows = _Remarks(), []
    for finding in rankings:
        estimate, metric = finding.estimate, finding.figure.removeprefix("tau").removeprefix(" of ")
        judge = f"{finding.first}, by {metric}" if metric else finding.first
        rows.append(Row([judge, finding.second or ""], [_count(estimate.n), remarks.cell(estimate)]))
    caption = f"Kendall’s τ of the rankings that two judges give the systems. {INTERVALS}"
    return Grid("Rankings of systems", caption, ["judge", "with"], ["systems", "τ"], rows, remarks.lines)


def _matrix(found: Agreement) -> Picture | None:
    """Kappa of every two raters as shaded cells, where there are more than two and not too many."""
    raters = [rater for rater in found.ratings.raters if rater.of is None]
    if len(raters) not in MATRIX:
        return None
    cells = [
        [None if one is two else found.find("pair", "kappa", one.name, two.name) for two in raters]
        for one in raters
    ]
    if not any(cell is not None and cell.value is not None for line in cells for cell in line):
        return None
    figure = new_figure(0.42 * len(raters) + 1.7)
    axis = figure.subplots()
    shade_cells(axis, [[cell.value if cell else None for cell in line] for line in cells], "")
    labels = [lined_name(f"{rater.name} ({rater.kind})") for rater in raters]
    axis.set_xticks(
        range(len(raters)),
        labels,
        rotation=30,
        ha="right",
        rotation_mode="anchor",
        fontsize=8.5,
        parse_math=False,
    )
    axis.set_yticks(range(len(raters)), labels, fontsize=8.5, parse_math=False)
    said = [
        (f"{one.name} and {two.name}", cells[place][place + 1 + step])
        for place, one in enumerate(raters)
        for step, two in enumerate(raters[place + 1 :])
    ]
    known = [(name, cell) for name, cell in said if cell is not None]
    figure.set_label(f"Kappa, the highest first: {group_in_words(known, 2)}.")
    caption = "How to read it: 1 is full agreement, 0 is what chance gives. The intervals are in the table of every two raters."
    return Picture(f"Kappa of every two raters, question “{found.ratings.question}”", caption, figure)


@dataclass(frozen=True)
class PublishedAgreement:
    """A published figure beside those measured: which table it belongs to, the figure, and whom it is about."""

    part: str
    figure: str
    names: tuple[str, ...]
    value: float
    source: str


_BLOCKS = {
    "two annotators, mean of three pairs": (HUMAN, HUMAN),
    "annotator and LLM, mean": (HUMAN, "llm"),
    "two LLMs, mean": ("llm", "llm"),
}


@lru_cache(4)
def published_agreement(question: str) -> tuple[PublishedAgreement, ...]:
    """What Re-Centering Humans reports for a question: relevance of attributes, or preference between answers."""
    if question == RELEVANCE:
        body = _published("published.json")
        return tuple(
            PublishedAgreement(
                "block" if row["model"] in _BLOCKS else "yes",
                figure,
                _BLOCKS.get(row["model"], (row["model"],)),
                percent / 100,
                row["source"],
            )
            for row in body["scores"]
            for figure, percent in row["scores"].items()
        )
    if question == PREFERENCE:
        body = _published("published_responses.json")
        ceiling, source = body["ceiling"], body["source"]
        people = [
            PublishedAgreement(
                "block", figure, (HUMAN, HUMAN), ceiling[key], f"{source}, {ceiling['source']}"
            )
            for figure, key in (("spearman", "spearman"), ("quadratic", "kappa_weighted"))
        ]
        judges = [
            PublishedAgreement(
                "pair", "spearman", (row["model"], "people"), row["spearman"], f"{source}, {row['source']}"
            )
            for row in body["judges"]
            if "spearman" in row
        ]
        return (*people, *judges)
    return ()


def _published(name: str) -> Any:
    return orjson.loads((files("personafit.benchmarks.recentering") / name).read_bytes())


def _published_rows(
    quoted: Sequence[PublishedAgreement], part: str, figures: Sequence[str], heads: int
) -> list[Row]:
    """The published rows of a table, with those of its figures that were published."""
    lines: dict[tuple[tuple[str, ...], str], dict[str, float]] = {}
    for one in quoted:
        if one.part == part and one.figure in figures:
            lines.setdefault((one.names, one.source), {})[one.figure] = one.value
    return [
        Row(
            [*names[:heads], *[""] * (heads - len(names))],
            [Cell(f"{line[f]:.3f}", sort=line[f]) if f in line else Cell() for f in figures],
            source=source,
        )
        for (names, source), line in lines.items()
    ]
