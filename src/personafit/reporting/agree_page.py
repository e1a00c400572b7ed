"""Agreement as tables in the terminal and as one JSON object; every undefined figure stands with its reason."""

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from personafit.reporting.agree import Agreement, Finding, cautions, conclusions
from personafit.reporting.agree_ratings import GOLD, HUMAN, Source
from personafit.statistics import Estimate

TITLES = {
    "percent": "agree",
    "kappa": "kappa",
    "linear": "kappa,\nlinear",
    "quadratic": "kappa,\nquadratic",
    "spearman": "Spearman",
    "fleiss": "Fleiss",
    "nominal": "alpha,\nnominal",
    "ordinal": "alpha,\nordinal",
    "interval": "alpha,\ninterval",
}
MOST_PAIRS = 60  # beyond that a list of pairs is for machines


class Footnotes:
    """Reasons that stand below the tables, each once, with the letter that cells refer to it by."""

    def __init__(self) -> None:
        self._letters: dict[str, str] = {}

    def cell(self, estimate: Estimate | None) -> Text:
        """A number with its interval, or a dash; with a letter where there is something to say."""
        if estimate is None:
            return Text("")
        shown = "–" if estimate.value is None else f"{estimate.value:.3f}"
        cell = Text(f"{shown} ({self._letter(estimate.note)})" if estimate.note else shown)
        if estimate.low is not None and estimate.high is not None:
            cell.append(f"\n{estimate.low:.3f} to {estimate.high:.3f}", style="dim")
        return cell

    def lines(self) -> list[str]:
        """The reasons."""
        return [f"({letter}) {reason}" for reason, letter in self._letters.items()]

    def _letter(self, reason: str) -> str:
        count = len(self._letters)
        fresh = chr(97 + count % 26) * (1 + count // 26)
        return self._letters.setdefault(reason, fresh)


def print_agreement(
    console: Console, source: Source, found: Sequence[Agreement], rankings: Sequence[Finding]
) -> None:
    """All tables of a source, then the reasons and what it comes to in words."""
    for agreement in found:
        notes = Footnotes()
        for table in (
            _raters_table(source, agreement, notes),
            _machines_table(agreement, notes),
            _yes_table(agreement, notes),
            _part_table(agreement, "together", "All at once", ("raters", ""), notes),
            _part_table(agreement, "block", "Means over pairs, by kind", ("kind", "with"), notes),
            _part_table(agreement, "pair", "Pair by pair", ("rater", "with"), notes),
        ):
            if table is not None:
                console.print(table)
        for line in notes.lines():
            console.print(Text(line, style="dim"))
        for sentence in [*conclusions(agreement), *agreement.legend, *cautions(agreement, source)]:
            console.print(Text(sentence))
    if rankings:
        notes = Footnotes()
        console.print(_rankings_table(rankings, notes))
        for line in notes.lines():
            console.print(Text(line, style="dim"))


def agreement_object(
    source: Source, found: Sequence[Agreement], rankings: Sequence[Finding]
) -> dict[str, Any]:
    """The one object that `--json` prints: a list of raters and one flat record per number."""
    raters, results, said = [], [], []
    for agreement in found:
        table, question = agreement.ratings, agreement.ratings.question
        judged = (table.codes >= 0).sum(0)
        raters += [
            {"question": question, "rater": rater.name, "kind": rater.kind, "n": int(count)}
            for rater, count in zip(table.raters, judged, strict=True)
        ]
        results += [{"question": question, **finding.as_dict()} for finding in agreement.findings]
        said += [
            {
                "question": question,
                "conclusions": conclusions(agreement),
                "legend": agreement.legend,
                "cautions": cautions(agreement, source),
            }
        ]
    results += [{"question": None, **finding.as_dict()} for finding in rankings]
    return {"source": source.name, "raters": raters, "results": results, "words": said}


def _raters_table(source: Source, found: Agreement, notes: Footnotes) -> Table:
    """Who rated how much, and how far each agrees with gold, with each kind of rater, and with the people's majority."""
    ratings = found.ratings
    golds = [rater.name for rater in ratings.raters if rater.kind == GOLD]
    kinds = list(dict.fromkeys(ratings.raters[place].kind for place in ratings.judges))
    panel = found.find("panel", "majority", HUMAN)
    title = f"{source.name}, question “{ratings.question}”: each rater's kappa, 95 % interval over people and prompts below"
    table = Table(title=Text(title), title_justify="left")
    for heading in ("rater", "kind", "items"):
        table.add_column(heading, overflow="fold", justify="right" if heading == "items" else "left")
    for gold in golds:
        table.add_column(Text(f"agrees with\n{gold}"), justify="right")
        table.add_column(Text(f"kappa with\n{gold}"), justify="right")
    for kind in kinds:
        table.add_column(Text(f"mean kappa\nwith {kind}"), justify="right")
    if panel is not None:
        table.add_column("meets people's\nmajority", justify="right")
    judged = (ratings.codes >= 0).sum(0)
    for rater, count in zip(ratings.raters, judged, strict=True):
        cells = [
            notes.cell(found.find("pair", figure, rater.name, gold))
            for gold in golds
            for figure in ("percent", "kappa")
        ]
        cells += [notes.cell(found.find("reliability", "kappa", rater.name, kind)) for kind in kinds]
        if panel is not None:
            cells.append(notes.cell(found.find("ceiling", "majority", rater.name)))
        table.add_row(Text(rater.name), Text(rater.kind), f"{count:,}", *cells)
    if panel is not None:
        blank = [""] * (2 * len(golds) + len(kinds))
        table.add_section()
        table.add_row("the human ceiling", "", f"{panel.n:,}", *blank, notes.cell(panel))
    return table


def _machines_table(found: Agreement, notes: Footnotes) -> Table | None:
    """The paired test of each machine against the human ceiling, and the alternative annotator test."""
    gaps, tests = found.of_part("gap"), found.of_part("alternative")
    if not gaps:
        return None
    table = Table(title="Machines minus the human ceiling, on the same items", title_justify="left")
    table.add_column("machine", overflow="fold")
    for heading in ("items", "difference", "p (Holm)", *(["wins against\npeople (ω)"] if tests else [])):
        table.add_column(heading, justify="right")
    for name, gap in gaps.items():
        cells = [notes.cell(gap.estimate), Text("–" if gap.p is None else f"{gap.p:.3f}")]
        cells += [notes.cell(tests[name].estimate)] if tests else []
        table.add_row(Text(name), f"{gap.estimate.n:,}", *cells)
    return table


def _yes_table(found: Agreement, notes: Footnotes) -> Table | None:
    """How often each rater says yes, and how well it finds what gold says yes to."""
    findings = [finding for finding in found.findings if finding.part == "yes"]
    if not findings:
        return None
    against = next((finding.second for finding in findings if finding.second), None)
    title = "How often each says yes" + (f", and how well it finds the yes of {against}" if against else "")
    table = Table(title=Text(title), title_justify="left")
    table.add_column("rater", overflow="fold")
    figures = list(dict.fromkeys(finding.figure for finding in findings))
    for figure in figures:
        table.add_column(figure.replace("_", " "), justify="right")
    index = {(finding.first, finding.figure): finding.estimate for finding in findings}
    for name in dict.fromkeys(finding.first for finding in findings):
        table.add_row(Text(name), *(notes.cell(index.get((name, figure))) for figure in figures))
    return table


def _part_table(
    found: Agreement, part: str, title: str, heads: tuple[str, str], notes: Footnotes
) -> Table | None:
    findings = [finding for finding in found.findings if finding.part == part]
    groups = list(dict.fromkeys((f.first, f.second) for f in findings))
    if not groups:
        return None
    table = Table(title=title, title_justify="left")
    for head in filter(None, heads):
        table.add_column(head, overflow="fold")
    table.add_column("pairs" if part != "pair" else "items", justify="right")
    figures = list(dict.fromkeys(finding.figure for finding in findings))
    for figure in figures:
        table.add_column(TITLES[figure], justify="right")
    index = {(f.first, f.second, f.figure): f for f in findings}
    if len(groups) > MOST_PAIRS:
        table.title = f"{title}: the first {MOST_PAIRS} of {len(groups)}; --json gives all"
    for first, second in groups[:MOST_PAIRS]:
        found_first = next(f for f in findings if (f.first, f.second) == (first, second))
        count = found_first.pairs if part != "pair" else found_first.estimate.n
        cells = [index.get((first, second, figure)) for figure in figures]
        names = [Text(name) for name in (first, second)[: len([h for h in heads if h])] if name is not None]
        table.add_row(*names, f"{count:,}", *(notes.cell(f.estimate if f else None) for f in cells))
    return table


def _rankings_table(rankings: Iterable[Finding], notes: Footnotes) -> Table:
    table = Table(
        title="Do judges rank the systems alike? Kendall's τ of their rankings", title_justify="left"
    )
    table.add_column("judge", overflow="fold")
    table.add_column("with", overflow="fold")
    table.add_column("systems", justify="right")
    table.add_column("τ", justify="right")
    for finding in rankings:
        estimate, metric = finding.estimate, finding.figure.removeprefix("tau").removeprefix(" of ")
        judge = f"{finding.first}, by {metric}" if metric else finding.first
        table.add_row(Text(judge), Text(finding.second or ""), f"{estimate.n}", notes.cell(estimate))
    return table
