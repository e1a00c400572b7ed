"""The pages of extraction and of error flows: self-contained, made like every other report and as inert."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from personafit.reporting import plots
from personafit.reporting.claims import legend_for, null_words, stage_loss
from personafit.reporting.drawing import page_figure
from personafit.reporting.page import fill_page, put_page
from personafit.reporting.results import Result
from personafit.reporting.stages.figure import CAPTION, waterfall_figure
from personafit.reporting.stages.published import SOURCE
from personafit.reporting.stages.tables import GAP, number, row_name, side_by_side
from personafit.stages.error_flow import FlowFigures
from personafit.stages.measures import AttributeSource
from personafit.statistics.decisions import Hypothesis, decide_together

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PACKAGE = "personafit.reporting.stages"
COVERAGE_BAR = 0.95


@dataclass(frozen=True)
class Body:
    """What a page says, before it is laid out: this page's own, or a chapter of a larger report."""

    title: str
    facts: Sequence[str]
    sentences: Sequence[str]
    figure: "Figure | None"
    figure_title: str
    caption: str
    tables: Sequence[Mapping[str, Any]]
    """Title, caption, headings and rows of texts."""
    notes: Sequence[str]
    warning: str = ""


def write_sources(sources: Sequence[AttributeSource], results: Sequence[Result], path: Path) -> None:
    """Sources side by side."""
    facts = [f"{source.name}: {source.kind}, judged by {source.judged_by}" for source in sources]
    put_page(path, _filled(sources_body(facts, results), "plot-accepted"))


def sources_body(facts: Sequence[str], results: Sequence[Result]) -> Body:
    """What sources side by side say."""
    headings, rows = side_by_side(results)
    return Body(
        title="What extraction is worth",
        facts=facts,
        sentences=[*_source_sentences(results), f"Published figures: {SOURCE}."],
        figure=_acceptance(results),
        figure_title="Accepted, unsure, rejected",
        caption="How to read it: each dot is a share of the attributes in %, the bar its 95 % interval over people; "
        "crosses are published figures, not measured here.",
        tables=[
            {
                "title": "Side by side",
                "caption": "Shares in %, 95 % intervals over people.",
                "headings": headings,
                "rows": rows,
            }
        ],
        notes=_notes(results),
    )


def write_flow(traced: FlowFigures, names: Mapping[str, str], results: Sequence[Result], path: Path) -> None:
    """An error flow."""
    put_page(path, _filled(flow_body(traced, names, results), "plot-flow"))


def flow_body(traced: FlowFigures, names: Mapping[str, str], results: Sequence[Result]) -> Body:
    """What an error flow says."""
    steps = [
        [step.stage or "people everywhere", number(_of(results, "f1", place)), _change(results, step.stage)]
        for place, step in enumerate(traced.steps)
    ]
    alone = [
        [
            stage,
            names[stage],
            number(_at(results, "f1_lost_alone", stage), signed=True),
            number(_at(results, "f1_gained_by_people", stage), signed=True),
        ]
        for stage in traced.lost_alone
    ]
    covered = f"{100 * traced.coverage:.1f} %"
    return Body(
        title="Where the end result is lost",
        facts=[f"{stage}: {name}" for stage, name in names.items()],
        warning=f"Only {covered} of the judged pairs have an answer at every stage."
        if traced.coverage < COVERAGE_BAR
        else "",
        sentences=list(_flow_sentences(traced)),
        figure=waterfall_figure(traced),
        figure_title="From people to models, stage by stage",
        caption=CAPTION,
        tables=[
            {
                "title": "Step by step",
                "caption": "The stage named and all above it are models'. F1 in %, 95 % intervals over people.",
                "headings": ["stage", "F1", "change"],
                "rows": steps,
            },
            {
                "title": "Each stage by itself",
                "caption": "F1 in points. The two differ where stages hide each other's errors.",
                "headings": [
                    "stage",
                    "by",
                    "lost when it alone is a model's",
                    "gained when it alone is people's",
                ],
                "rows": alone,
            },
        ],
        notes=[
            *_notes(results),
            "People's answer to the last stage is a response that serves exactly the attributes it was given.",
            f"Pairs that some stage has no answer to are left out everywhere; coverage {covered}.",
        ],
    )


def _filled(body: Body, name: str) -> str:
    return fill_page(PACKAGE, "stages.html.j2", "", **(vars(body) | page_figure(body.figure, name)))


def _source_sentences(results: Sequence[Result]) -> Iterator[str]:
    for one in results:
        if one.metric == f"accepted{GAP}" and one.value is not None:
            yield (
                f"Of {one.system}, {number(one, signed=True)} points more are accepted than of {one.slice['minus']}."
            )
    for one in results:
        if one.metric == "recall" and one.value is not None:
            yield f"{one.system} has {number(one)} % of what is known, {one.slice['refinement']} refinement."
        if one.metric == "recall_lost_by_refinement" and one.value is not None:
            yield f"Refinement cost {one.system} {number(one)} points of recall."


def _flow_sentences(traced: FlowFigures) -> Iterator[str]:
    last = traced.steps[-1].f1.value
    if last is not None:
        yield f"With models at every stage {100 * last:.0f} % of the end result is left."
    alone = {stage: one for stage, one in traced.lost_alone.items() if one.value is not None}
    after = {step.stage: step.change for step in traced.steps if step.stage is not None and step.change}
    effects = [*alone.values(), *after.values()]
    found = decide_together([Hypothesis(one) for one in effects])
    by_itself, in_turn = (
        dict(zip(alone, found, strict=False)),
        dict(zip(after, found[len(alone) :], strict=True)),
    )
    for stage, one in sorted(alone.items(), key=lambda pair: -(pair[1].value or 0.0)):
        yield stage_loss(stage, one.value or 0.0, by_itself[stage])
    for stage, finding in in_turn.items():
        shown = by_itself.get(stage)
        if not finding.decided and finding.p is not None and shown is not None and shown.decided:
            yield f"After the stages before it, no loss by {stage} is shown ({null_words(finding)}): they may have lost it already."
    if traced.invented is not None and traced.invented.value is not None:
        yield f"Beside that, {traced.invented.value:.1f} attributes a prompt that nobody knows of are called relevant."
    yield from legend_for(found)


def _acceptance(results: Sequence[Result]) -> "Figure | None":
    labels = ("accepted", "unsure", "rejected")
    index = {(str(r.system), r.metric): r for r in results if not r.slice}
    systems = list(dict.fromkeys(str(r.system) for r in results if r.metric == "accepted"))
    measured = [one for one in systems if index[one, "accepted"].control is None]
    if not measured:
        return None
    rows = [
        plots.PlotRow(
            system.removeprefix("published: "),
            [_dot(index.get((system, label))) for label in labels],
            published=index[system, "accepted"].control is not None,
        )
        for system in systems
    ]
    return plots.panels_figure(rows, [plots.Panel(label) for label in labels])


def _dot(result: Result | None) -> plots.Dot:
    if result is None or result.value is None:
        return plots.Dot()
    ends = [None if end is None else 100 * end for end in (result.low, result.high)]
    return plots.Dot(100 * result.value, *ends)


def _of(results: Sequence[Result], metric: str, place: int) -> Result:
    return [one for one in results if one.metric == metric][place]


def _at(results: Sequence[Result], metric: str, stage: str) -> Result:
    return next(one for one in results if one.metric == metric and one.slice["stage"] == stage)


def _change(results: Sequence[Result], stage: str | None) -> str:
    return "" if stage is None else number(_at(results, "f1_change", stage), signed=True)


def _notes(results: Sequence[Result]) -> list[str]:
    notes = dict.fromkeys(
        f"{row_name(one)}: {one.note}." for one in results if one.note and one.control is None
    )
    return list(notes)
