"""Extraction as parts of a report: what attributes of people are worth, sources side by side, and where the end result is lost."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from personafit._errors import UserError
from personafit.extract.measures import AttributeSource
from personafit.extract.records import LABELS
from personafit.reports import written
from personafit.reports.analysis import count_cell
from personafit.reports.claims import legend_for, null_words, stage_loss
from personafit.reports.drawing import ACCENT, GRID, INK, MUTED, new_figure
from personafit.reports.extraction_results import FATES, PUBLISHED, SOURCE
from personafit.reports.pieces import (
    Cell,
    Grid,
    Instrument,
    Picture,
    Piece,
    Prose,
    Row,
    Section,
    Sentences,
    result_cell,
    true_minus,
)
from personafit.reports.plots import Panel, PlotRow, dot_of, frame, panels_figure
from personafit.reports.report import ReportPart
from personafit.reports.result import Result
from personafit.statistics.decisions import Hypothesis, decide_together

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXTRACTION, FLOW = "extraction", "flow"
FIRST = (
    "accepted",
    "unsure",
    "rejected",
    "attributes per person",
    "recall",
    "precision",
)  # measures of the first table
COVERAGE_BAR = 0.95
# -- one run of `extract run` ------------------------------------------------------------------------------------------------


def summary_pieces(counts: Mapping[str, Any], out: Path, pages: int) -> list[Piece]:
    """What `extract run` read, found, verified and rewrote."""
    read, fates = counts["conversations"], counts["attributes"]
    said = [f"{read['read']:,} conversations read, {read['messages']:,} messages of users."]
    if unparsed := read["by_status"].get("unparsed"):
        said.append(f"{unparsed:,} of them could not be read; {out / 'conversations.jsonl'} says why.")
    if counts["redacted"]:
        listed = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts["redacted"].items()))
        said.append(f"Redacted: {listed}.")
    pieces: list[Piece] = [Sentences(said)]
    if counts["prepare"]:
        names = ("people_in", "people_out", "conversations_in", "conversations_out")
        steps = [
            Row([step["name"]], [*(count_cell(step[name]) for name in names), Cell(step["note"])])
            for step in counts["prepare"]
        ]
        columns = ["people in", "people left", "conversations in", "conversations left", "note"]
        pieces.append(Grid("Preparation", "", ["step"], columns, steps))
    found, verified, refined = sum(fates.values()), counts["verified"], counts["refined"]
    rows = [
        ("extracted", found, None),
        ("invalid: empty, or no evidence of the user's own", fates["invalid"], found),
        ("merged into another that says the same", fates["merged"], found),
        *((label, verified[label], verified["attributes"]) for label in LABELS),
        ("undecided: no verifier answered", verified["undecided"], verified["attributes"]),
        *((name, refined[name], refined["given"]) for name in FATES),
        ("undecided: the ask to rewrite it came to nothing", refined["undecided"], refined["given"]),
    ]
    shares = [Cell(f"{100 * count / of:.1f} %", sort=count / of) if of else Cell() for _, count, of in rows]
    filled = [
        Row([name], [count_cell(count), share]) for (name, count, _), share in zip(rows, shares, strict=True)
    ]
    caption = f"Of {counts['people']:,} people."
    pieces.append(Grid("Attributes", caption, ["fate"], ["attributes", "share"], filled))
    return [*pieces, Sentences(list(_after(counts, out, pages)))]


def _after(counts: Mapping[str, Any], out: Path, pages: int) -> Iterator[str]:
    if undecided := counts["refined"]["undecided"]:
        yield (
            f"{undecided:,} attributes were found fault with and are left out undecided; the same command asks again "
            "where asking failed, and attributes.jsonl says why."
        )
    if modes := counts["verified"]["modes"]:
        yield f"Faults: {', '.join(f'{mode} {count:,}' for mode, count in modes.items())}."
    for given, statuses in (counts["answers"] or {}).items():
        listed = ", ".join(f"{count:,} {status}" for status, count in statuses.items())
        yield f"{given.capitalize()} answers: {listed or 'none'}."
    if counts["known"]:
        yield f"Recall, and what of it refinement cost: personafit extract measure {out}"
    yield f"People: {out / 'people.jsonl'}; {pages:,} pages to check in {out / 'pages'}"


# -- sources side by side ----------------------------------------------------------------------------------------------------


def extraction_part(
    results: Sequence[Result],
    name: str = EXTRACTION,
    command: str | None = None,
    sources: Sequence[AttributeSource] = (),
) -> ReportPart:
    """Sources side by side: what is accepted of each, and every measure with its difference from the first source."""
    columns, rows = side_by_side(results)
    lead: list[Piece] = []
    if (figure := _acceptance(results)) is not None:
        caption = (
            "Each dot is a share of the attributes in %, the bar its 95 % interval over people; crosses are published figures, not "
            "measured here."
        )
        lead.append(Picture("Accepted, unsure, rejected", caption, figure))
    first = [row for row in rows if row.names[0].startswith(FIRST)]
    rest = [row for row in rows if row not in first]
    caption = "Shares in %, 95 % intervals over people."
    tables = [
        Grid(title, caption, ["measure"], columns, part).filled()
        for title, part in (("Acceptance and recall", first), ("Other measures", rest))
    ]
    judged = [f"{one.name}: {one.kind}, judged by {one.judged_by}." for one in sources]
    notes = Sentences([*judged, *_notes(results), f"Published figures: {SOURCE}."], small=True)
    more = Section(
        "Failure modes, diversity and matching",
        [tables[1], notes],
        "Why attributes were not accepted, how much they repeat each other, and what the rule that matches them to known ones is worth.",
    )
    sentences = [true_minus(text) for text in _source_sentences(results)]
    instrument = _instrument(name, command)
    return ReportPart(
        name, "Extracted attributes", sentences, [*lead, tables[0]], [more], instrument=instrument
    )


def read_extraction(folder: Path) -> ReportPart | None:
    """The part of a folder that `extract measure` or `extract flow` wrote; None where it is none."""
    path, name = folder / "results.json", folder.resolve().name
    if not path.is_file():
        return None
    try:
        body = orjson.loads(path.read_bytes())
        if body["benchmark"] not in (FLOW, EXTRACTION):
            return None
        results, command = [Result.from_dict(row) for row in body["results"]], body.get("command")
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise UserError(
            f"{path} cannot be read ({error}); make it again with `personafit extract`."
        ) from error
    made = flow_part if body["benchmark"] == FLOW else extraction_part
    return made(results, name, command)


def _instrument(name: str, command: str | None) -> Instrument:
    return Instrument(
        command, {"folder": name}, notes=[] if command else ["The command was not kept with it."]
    )


_PLAIN = frozenset(["attributes_per_person", "unknown_attributes_used"])  # no shares
GAP = "_difference"
NOTHING = "nothing"


def _cell(result: Result | None, signed: bool = False) -> Cell:
    """A figure in percent, or as it is where it is no share, with its interval."""
    factor = 1 if result is not None and result.metric.removesuffix(GAP) in _PLAIN else 100
    write = written.signed if signed else written.plain
    return result_cell(result, lambda value: write(factor * value), to=" to ")


def number(result: Result, signed: bool = False, unit: str = "") -> str:
    """The same in a sentence, with its unit."""
    cell = _cell(result, signed)
    return f"{cell.text}{unit} ({cell.interval})" if cell.interval else f"{cell.text}{unit}"


def row_name(result: Result) -> str:
    """What a line is called."""
    if "by models" in result.slice:
        done = result.slice["by models"]
        return "F1 with people at every stage" if done == NOTHING else f"F1 with models for {done}"
    where = ", ".join(value for key, value in result.slice.items() if key != "minus")
    name = result.metric.removesuffix(GAP).replace("_", " ")
    return f"{name}: {where}" if where else name


def side_by_side(results: Sequence[Result]) -> tuple[list[str], list[Row]]:
    """Columns and rows of measures: one column a source, one for each difference from the first, published ones last."""
    index = {(str(r.system), row_name(r), r.metric.endswith(GAP)): r for r in results}
    measured = [r for r in results if r.control is None and not r.metric.endswith(GAP)]
    systems = list(dict.fromkeys(str(r.system) for r in measured))
    published = dict.fromkeys(str(r.system) for r in results if r.control == PUBLISHED)
    keys = [(one, gap) for gap in (False, True) for one in systems[1 if gap else 0 :]]
    keys += [(one, False) for one in published]
    columns = [f"{one} − {systems[0]}" if gap else one for one, gap in keys]
    names = dict.fromkeys(row_name(r) for r in results if r.control is None)
    rows = [Row([name], [_cell(index.get((one, name, gap)), gap) for one, gap in keys]) for name in names]
    return columns, rows


def _source_sentences(results: Sequence[Result]) -> Iterator[str]:
    """What is accepted of each source, and its recall before and after refinement."""
    found = {
        (str(one.system), one.metric, one.slice.get("refinement", "")): one
        for one in results
        if one.control is None and one.value is not None
    }
    for system in dict.fromkeys(system for system, *_ in found):
        accepted, gap = found.get((system, "accepted", "")), found.get((system, f"accepted{GAP}", ""))
        if accepted is not None:
            beside = (
                f", {number(gap, signed=True, unit=' points')} beside {gap.slice['minus']}"
                if gap is not None
                else ""
            )
            yield f"{system}: {number(accepted)} % of its attributes are accepted{beside}."
        before, after, lost = (
            found.get((system, *key))
            for key in (("recall", "before"), ("recall", "after"), ("recall_lost_by_refinement", ""))
        )
        if before is not None:
            said = f"{system}: its recall of what is known is {number(before, unit=' %')}"
            said += f" before refinement and {number(after, unit=' %')} after it" if after is not None else ""
            yield (
                f"{said}; refinement cost {number(lost, unit=' points')}." if lost is not None else f"{said}."
            )


def _acceptance(results: Sequence[Result]) -> "Figure | None":
    labels = ("accepted", "unsure", "rejected")
    index = {(str(r.system), r.metric): r for r in results if not r.slice}
    systems = list(dict.fromkeys(str(r.system) for r in results if r.metric == "accepted"))
    measured = [one for one in systems if index[one, "accepted"].control is None]
    if not measured:
        return None
    rows = [
        PlotRow(
            system.removeprefix("published: "),
            [dot_of(index.get((system, label))) for label in labels],
            published=index[system, "accepted"].control is not None,
        )
        for system in systems
    ]
    return panels_figure(rows, [Panel(label) for label in labels])


def _notes(results: Sequence[Result]) -> list[str]:
    """What has to be said of figures, each note once with all it is about."""
    about: dict[str, dict[str, None]] = {}
    for one in results:
        if one.note and one.control is None:
            about.setdefault(one.note, {})[row_name(one)] = None
    return [f"{', '.join(names)}: {note}." for note, names in about.items()]


# -- error flow --------------------------------------------------------------------------------------------------------------


WATERFALL = (
    "The end result is the F1 of the attributes a response takes account of against those that people call relevant. Left, people do every "
    "stage, which is 1 by construction; then one stage after the other is a model’s. Filled bars are what remains, hollow boxes what the "
    "stage lost; the thin line is the 95 % interval over people."
)


def flow_part(results: Sequence[Result], name: str = FLOW, command: str | None = None) -> ReportPart:
    """Where the end result is lost: step by step from people to models, and each stage by itself."""
    f1 = [one for one in results if one.metric == "f1"]
    changes, lost, gained = (
        {one.slice["stage"]: one for one in results if one.metric == metric}
        for metric in ("f1_change", "f1_lost_alone", "f1_gained_by_people")
    )
    stages = [None, *lost]
    steps = [
        Row([stage or "people everywhere"], [_cell(one), _cell(changes.get(str(stage)), True)])
        for stage, one in zip(stages, f1, strict=True)
    ]
    alone = [
        Row([stage], [Cell(str(one.system)), _cell(one, True), _cell(gained[stage], True)])
        for stage, one in lost.items()
    ]
    coverage = f1[-1].coverage or 0.0
    covered = f"{100 * coverage:.1f} %"
    lead: list[Piece] = []
    if coverage < COVERAGE_BAR:
        lead.append(Prose(f"Only {covered} of the judged pairs have an answer at every stage.", "warning"))
    if all(one.value is not None for one in f1):
        figure = _waterfall(stages, f1, changes)
        lead.append(Picture("From people to models, stage by stage", WATERFALL, figure))
    caption = "The stage named and all above it are models'. F1 in %, 95 % intervals over people."
    lead.append(Grid("Step by step", caption, ["stage"], ["F1", "change"], steps))
    columns = ["by", "lost when it alone is a model's", "gained when it alone is people's"]
    sentences, legend = _flow_sentences(f1[-1], lost, changes)
    invented = next((one for one in results if one.metric == "unknown_attributes_used"), None)
    if invented is not None and invented.value is not None:
        said = (
            f"Beside that, {invented.value:.1f} attributes a prompt that nobody knows of are called relevant."
        )
        sentences.append(said)
    notes = [
        *legend,
        *_notes(results),
        "People's answer to the last stage is a response that serves exactly the attributes it was given.",
        f"Pairs that some stage has no answer to are left out everywhere; coverage {covered}.",
    ]
    apart: list[Piece] = [
        Grid("F1 lost and gained", "In points, 95 % intervals over people.", ["stage"], columns, alone),
        Sentences(notes, small=True),
    ]
    why = "What one stage loses with people at all others. It differs from the steps where stages hide each other's errors."
    return ReportPart(
        name,
        "Error flow: where the end result is lost",
        [true_minus(text) for text in sentences],
        lead,
        [Section("Each stage by itself", apart, why)],
        instrument=_instrument(name, command),
        facts=[f"{stage}: {one.system}" for stage, one in lost.items()],
    )


def _flow_sentences(
    last: Result, lost: Mapping[str, Result], changes: Mapping[str, Result]
) -> tuple[list[str], list[str]]:
    """What is left and what each stage loses, tested together; and how the claims are tested."""
    alone = {stage: one for stage, one in lost.items() if one.value is not None}
    found = decide_together([Hypothesis(one) for one in (*alone.values(), *changes.values())])
    by_itself = dict(zip(alone, found, strict=False))
    said = []
    if last.value is not None:
        said.append(f"With models at every stage {100 * last.value:.0f} % of the end result is left.")
    for stage, one in sorted(alone.items(), key=lambda pair: -(pair[1].value or 0.0)):
        said.append(stage_loss(stage, one.value or 0.0, by_itself[stage]))
    for stage, finding in zip(changes, found[len(alone) :], strict=True):
        shown = by_itself.get(stage)
        if not finding.decided and finding.p is not None and shown is not None and shown.decided:
            said.append(
                f"After the stages before it, no loss by {stage} is shown ({null_words(finding)}): they may have lost it already."
            )
    return said, legend_for(found)


def _waterfall(stages: Sequence[str | None], f1: Sequence[Result], changes: Mapping[str, Result]) -> "Figure":
    """One bar a step."""
    figure = new_figure(3.8)
    axis = figure.subplots()
    before = None
    for place, (stage, step) in enumerate(zip(stages, f1, strict=True)):
        value = 100 * (step.value or 0.0)
        axis.bar([place], [value], width=0.58, color=ACCENT, edgecolor=ACCENT, zorder=2)
        if before is not None:
            lost: dict[str, Any] = {"facecolor": "none", "edgecolor": MUTED, "linestyle": "--"}
            axis.bar([place], [before - value], bottom=[value], width=0.58, zorder=2, **lost)
        if step.low is not None and step.high is not None:
            ends = [100 * step.low, 100 * step.high]
            axis.plot([place + 0.2, place + 0.2], ends, color=INK, linewidth=1.3, zorder=3)
        change = changes[stage].value if stage is not None and stage in changes else None
        text = f"{value:.0f}" if change is None else f"{value:.0f}  ({100 * change:+.0f})".replace("-", "−")
        top = max(value, before or 0.0, 100 * (step.high or 0.0))
        axis.annotate(
            text, (place, top), (0, 5), textcoords="offset points", ha="center", fontsize=10, color=INK
        )
        before = value
    names = ["people everywhere", *(f"{stage}\nby a model" for stage in stages[1:])]
    frame(axis)
    axis.set_xticks(range(len(names)), names, fontsize=9, color=INK)
    axis.set_ylim(0, 114)
    axis.set_yticks([0, 25, 50, 75, 100])
    axis.set_ylabel("F1, %", color=MUTED, fontsize=9)
    axis.grid(visible=False, axis="x")
    axis.grid(axis="y", color=GRID, linewidth=0.7)
    left = [
        f"{name.replace(chr(10), ' ')} {100 * (step.value or 0.0):.0f} %"
        for name, step in zip(names, f1, strict=True)
    ]
    figure.set_label(f"F1 that is left: {', then '.join(left)}.")
    return figure
