"""Reports on extraction: attribute sources side by side, one run of the stages, and where errors arise.

A source is whatever holds attributes of people: a folder of `extract run`, labels of people, published data.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from personafit._errors import UserError
from personafit.benchmarks.recentering import open_relevance
from personafit.benchmarks.statements import FINER, Statements, load_statements
from personafit.extract.extracting import EXTRACT
from personafit.extract.flow import AttributeLabel, FlowFigures
from personafit.extract.measures import AttributeSource, Measure, SourceAttribute, difference, measures
from personafit.extract.records import (
    LABELS,
    REFINED,
    ExtractedAttribute,
    StagedConversation,
    StageFile,
    VerifierVerdict,
    after_refinement,
    before_refinement,
)
from personafit.extract.verifying import decide
from personafit.models.embeddings import Embedder
from personafit.reports.analysis import count_cell, small_notes, undefined
from personafit.reports.claims import legend_for, people_words, stage_loss
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
    metric_cell,
    metric_name,
    true_minus,
)
from personafit.reports.plots import Panel, PlotRow, dot_of, marks_words, panels_figure
from personafit.reports.report import ReportPart
from personafit.reports.result import Result
from personafit.statistics import Estimate, cluster_mean
from personafit.statistics.decisions import Hypothesis, decide_together
from personafit.store import Status

STARTER = "starter"
FATES = ("kept", "rewritten", "dropped")  # outcomes of refinement; coverage is the share with an outcome
PUBLISHED = "published"
EXTRACTION, FLOW = "extraction", "flow"
COVERAGE_BAR = 0.95
GAP = "_difference"
FEW = (
    "accepted",
    "unsure",
    "rejected",
    "attributes per person",
    "recall: ",
    "precision: ",
)  # in the first table
SOURCE = "arXiv 2606.06614, Figure 2 and Table 1; three raters an attribute, majority; MiniLM embeddings"
# People's verdicts on attributes from real (WildChat) and simulated users' conversations, as read off the figure.
ACCEPTANCE = {
    "published: human": {"accepted": 0.58, "unsure": 0.39, "rejected": 0.03},
    "published: synthetic": {"accepted": 0.80, "unsure": 0.20, "rejected": 0.01},
}
FAILURES = {
    "over-generalised": 0.539,
    "missing-evidence": 0.203,
    "task-context": 0.161,
    "not-standalone": 0.060,
}


# -- sources -----------------------------------------------------------------------------------------------------------------


def open_source(text: str) -> AttributeSource:
    """Open the source named by `NAME=PLACE` or `PLACE`, where PLACE is a folder or `starter`."""
    name, equals, place = text.partition("=")
    if not equals:
        name, place = Path(text).name or text, text
    folder = Path(place)
    if place == STARTER or (folder / "labels.jsonl").is_file():
        return _labelled(name, load_statements(place))
    if (folder / "attributes.jsonl").is_file():
        return _staged(name, StageFile(folder))
    if (folder / "relevance.jsonl").is_file():
        return _published(name, folder)
    raise UserError(
        f"{place} holds no attributes: name a folder that `personafit extract run` wrote, one with conversations.jsonl and "
        "labels.jsonl, one with relevance.jsonl as published, or starter."
    )


def _statements(conversations: Iterable[StagedConversation]) -> dict[str, list[str]]:
    """Return each person's distinct attributes."""
    found: dict[str, dict[str, None]] = {}
    for one in conversations:
        found.setdefault(one.person, {}).update((attribute.text, None) for attribute in one.attributes)
    return {person: list(texts) for person, texts in found.items()}


def _staged(name: str, files: StageFile) -> AttributeSource:
    rows = list(files.read_attributes())
    decided: dict[str, VerifierVerdict] = {}
    voices: set[str] = set()
    verdicts = sorted(files.read_verdicts(), key=lambda verdict: verdict.attribute)
    for attribute, group in groupby(verdicts, lambda verdict: verdict.attribute):
        one = decide(list(group))
        if one is not None:
            decided[attribute] = one
            known = ("human",) if one.by == "human" else dict.fromkeys((one.by, one.verifier))
            voices.add(" ".join(filter(None, known)))
    people = [one.person for one in _asked_about(files)] + [row.person for row in rows]
    nothing: dict[str, list[SourceAttribute]] = {person: [] for person in people}
    given = nothing | _by_person(before_refinement(rows), decided)
    return AttributeSource(
        name=name,
        kind="extracted",
        judged_by=", ".join(sorted(voices)) or "nobody",
        found=given,
        refined=nothing | _by_person(after_refinement(rows), {}),
        undecided=sum(row.status == "undecided" for row in rows),
        known=_statements(_asked_about(files)),
    )


def _asked_about(files: StageFile) -> Iterator[StagedConversation]:
    """Yield the conversations given to the extractor; those excluded earlier do not count."""
    return (one for one in files.read_conversations() if one.status == Status.OK or one.step == EXTRACT)


def _by_person(
    rows: Sequence[ExtractedAttribute], decided: Mapping[str, VerifierVerdict]
) -> dict[str, list[SourceAttribute]]:
    found: dict[str, list[SourceAttribute]] = {}
    for row in rows:
        verdict = decided.get(row.id)
        judged = () if verdict is None else (verdict.label, verdict.mode)
        found.setdefault(row.person, []).append(SourceAttribute(row.text, *judged))
    return found


def _labelled(name: str, statements: Statements) -> AttributeSource:
    found: dict[str, list[SourceAttribute]] = {}
    for person, text, label, failure in zip(
        statements.people, statements.texts, statements.labels, statements.failures, strict=True
    ):
        mode = FINER.get(failure, failure) or "none"
        found.setdefault(person, []).append(SourceAttribute(text, label, mode))
    return AttributeSource(name=name, kind="labelled", judged_by="its authors", found=found)


def _published(name: str, folder: Path) -> AttributeSource:
    benchmark = open_relevance(folder)
    texts = {product.id: product.text for product in benchmark.products()}
    found: dict[str, dict[str, None]] = {}
    for item in benchmark.items():
        found.setdefault(item.person, {})[texts[item.products[0]]] = None
    return AttributeSource(
        name=name,
        kind="published attributes",
        judged_by="nobody: labels of acceptance were not released",
        found={
            person: [SourceAttribute(text) for text in attributes] for person, attributes in found.items()
        },
    )


def labelled_pairs(data: Path, people: Set[str]) -> list[AttributeLabel]:
    """Return the judged pairs of the people whose conversations were extracted from."""
    benchmark = open_relevance(data)
    texts = {product.id: product.text for product in benchmark.products()}
    gold = {row.item: row.label == "yes" for row in benchmark.gold() if row.rater == benchmark.info.gold}
    pairs = [
        AttributeLabel(item.person, item.prompt, texts[item.products[0]], gold[item.id])
        for item in benchmark.items()
        if item.id in gold and item.person in people
    ]
    if not pairs:
        raise UserError(
            f"{data} has no judged attributes of the people in the run; both must name the same people by the same ids."
        )
    return pairs


def languages_of(data: Path) -> dict[str, str]:
    """Return the language of each person."""
    return {person.id: person.language for person in open_relevance(data).people()}


# -- figures -----------------------------------------------------------------------------------------------------------------


def stage_results(files: StageFile, counts: dict[str, Any]) -> list[dict[str, Any]]:
    """Return all results of a finished run."""
    return [result.as_dict() for result in _run_results(files, counts)]


def _run_results(files: StageFile, counts: dict[str, Any]) -> Iterator[Result]:
    model, people = counts["model"], counts["people"]

    def number(metric: str, value: float | None, n: int, note: str | None = None) -> Result:
        return Result.of(Estimate(value, None, None, n, people, note), metric=metric, system=model)

    extraction = counts["extraction"]
    yield number("extraction_coverage", extraction["coverage"], extraction["conversations"])
    given = {row.id: (row.person, row.status) for row in files.read_attributes() if row.status in REFINED}
    per_person = len(given) / people if people else None
    yield number("attributes_per_person", per_person, people, "after merging, before verification")
    decided = [(person, status) for person, status in given.values() if status in FATES]
    yield from _shares(decided, FATES, len(given), model)
    labels = {
        attribute: verdict.label
        for attribute, group in groupby(files.read_verdicts(), lambda verdict: verdict.attribute)
        if (verdict := decide(list(group))) is not None
    }
    judged = [(given[one][0], label) for one, label in labels.items() if one in given]
    yield from _shares(judged, LABELS, len(given), model)


def _shares(rows: Sequence[tuple[str, str]], values: Sequence[str], of: int, model: str) -> Iterator[Result]:
    """Yield the share of each value among rows of person and value; coverage is the number of rows over `of`."""
    people = np.array([person for person, _ in rows])
    for value in values:
        share = undefined("there are no attributes")
        if rows:
            share = cluster_mean(np.array([float(one == value) for _, one in rows]), people, None, (0.0, 1.0))
        covered = len(rows) / of if of else None
        yield Result.of(share, metric=f"{value}_share", system=model, coverage=covered)


def source_results(sources: Sequence[AttributeSource], embedder: Embedder) -> list[Result]:
    """Return every measure of every source and, with several, its difference from the first source."""
    results = []
    first: dict[tuple[str, tuple[tuple[str, str], ...]], Measure] = {}
    gaps = []
    for source in sources:
        for one in measures(source, embedder):
            where = dict(one.slice)
            results.append(
                Result.of(
                    one.estimate(), metric=one.metric, system=source.name, slice=where, coverage=one.coverage
                )
            )
            key = one.metric, tuple(sorted(where.items()))
            if source is sources[0]:
                first[key] = one
            elif key in first:
                minus = where | {"minus": sources[0].name}
                gap = difference(one, first[key])
                gaps.append(
                    Result.of(gap, metric=f"{one.metric}_difference", system=source.name, slice=minus)
                )
    return [*results, *gaps, *published_results()]


def published_results() -> list[Result]:
    """Return the paper's figures, to show beside measured ones."""
    figures: list[tuple[str, str, dict[str, str], float]] = [
        (name, metric, {}, value) for name, shares in ACCEPTANCE.items() for metric, value in shares.items()
    ]
    figures += [("published: all", "failure_mode", {"mode": mode}, value) for mode, value in FAILURES.items()]
    return [
        Result.of(
            Estimate(value, None, None, 0, 0, SOURCE),
            metric=metric,
            system=name,
            slice=where,
            control=PUBLISHED,
        )
        for name, metric, where, value in figures
    ]


def flow_results(traced: FlowFigures, names: dict[str, str]) -> list[Result]:
    """Return all figures of an error flow; `names` maps each stage to its model."""
    results = []

    def add(metric: str, estimate: Estimate, where: dict[str, str], system: str | None = None) -> None:
        results.append(
            Result.of(estimate, metric=metric, system=system, slice=where, coverage=traced.coverage)
        )

    for step in traced.steps:
        done = [stage for stage, by_model in zip(names, step.arm, strict=False) if by_model]
        add("f1", step.f1, {"by models": ", ".join(done) or "nothing"})
        if step.change is not None and step.stage is not None:
            where = {"stage": step.stage, "after": ", ".join(done[:-1]) or "nothing"}
            add("f1_change", step.change, where, names[step.stage])
    for stage, estimate in traced.lost_alone.items():
        add("f1_lost_alone", estimate, {"stage": stage}, names[stage])
    return results


# -- one run of `extract run` ------------------------------------------------------------------------------------------------


def summary_pieces(counts: Mapping[str, Any], out: Path) -> list[Piece]:
    """Return what `extract run` read, found, verified and rewrote."""
    read, fates = counts["conversations"], counts["attributes"]
    said = [f"{read['read']:,} conversations read, {read['messages']:,} messages of users."]
    if unparsed := read["by_status"].get("unparsed"):
        said.append(f"{unparsed:,} of them could not be read; {out / 'conversations.jsonl'} says why.")
    if counts["redacted"]:
        listed = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts["redacted"].items()))
        said.append(f"Redacted: {listed}.")
    pieces: list[Piece] = [Sentences(said)]
    if counts["prepare"]:
        steps = [
            Row([step["name"]], [count_cell(step["people_out"]), count_cell(step["conversations_out"])])
            for step in counts["prepare"]
        ]
        columns = ["people left", "conversations left"]
        pieces.append(Grid("Preparation", "", ["step"], columns, steps))
    found, verified, refined = sum(fates.values()), counts["verified"], counts["refined"]
    rows = [
        ("extracted", found, None),
        (
            "invalid: empty, without evidence of the user's own, or not confident enough",
            fates["invalid"],
            found,
        ),
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
    caption = f"Of {people_words(counts['people'])}."
    pieces.append(Grid("Attributes", caption, ["fate"], ["attributes", "share"], filled))
    return [*pieces, Sentences(list(_after(counts, out)))]


def _after(counts: Mapping[str, Any], out: Path) -> Iterator[str]:
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
    yield f"People: {out / 'people.jsonl'}; `personafit label new NAME --from {out} --question attributes` lets people check them."


# -- sources side by side ----------------------------------------------------------------------------------------------------


def extraction_part(
    results: Sequence[Result],
    name: str = EXTRACTION,
    command: str | None = None,
    sources: Sequence[AttributeSource] = (),
) -> ReportPart:
    """Return sources side by side: acceptance, and every measure with its difference from the first source."""
    columns, rows = side_by_side(results)
    caption = "Shares in %, attributes per person as a count, 95 % intervals over people; published figures were not measured here."
    judged = [f"{one.name}: {one.kind}, judged by {one.judged_by}." for one in sources]
    notes = [*judged, *_notes(results), f"Published figures: {SOURCE}."]
    grid = Grid("Measures", caption, ["measure"], columns, rows)
    few = [row for row in rows if row.names[0].startswith(FEW)] or rows
    rest = [row for row in rows if row not in few]
    further = [replace(grid, title="Further measures", rows=rest).filled()] if rest else []
    return ReportPart(
        name,
        "Extracted attributes",
        [true_minus(text) for text in _source_sentences(results)],
        [*_acceptance(results), replace(grid, rows=few).filled()],
        [Section("Further measures", [*further, *small_notes(notes)])],
        instrument=_instrument(name, command),
    )


def read_extraction(folder: Path) -> ReportPart | None:
    """Read the report part of a folder written by `extract measure` or `extract flow`; None for other folders."""
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
    return Instrument(command, {"folder": name})


def _number(result: Result, unit: str) -> str:
    """Format a figure with its unit and interval, for a sentence."""
    cell = metric_cell(result)
    return f"{cell.text}{unit} ({cell.interval})" if cell.interval else f"{cell.text}{unit}"


def _row_name(result: Result) -> str:
    """Return the name of a measure with its slice."""
    where = _slice_words(result)
    return f"{_measure(result)}: {where}" if where else _measure(result)


def _measure(result: Result) -> str:
    return metric_name(result.metric.removesuffix(GAP))


def _slice_words(result: Result) -> str:
    return ", ".join(
        f"{value} refinement" if key == "refinement" else value
        for key, value in result.slice.items()
        if key != "minus"
    )


def side_by_side(results: Sequence[Result]) -> tuple[list[str], list[Row]]:
    """Return columns and rows of measures: a column per source, one per difference from the first, published ones last."""
    index = {(str(r.system), _row_name(r), r.metric.endswith(GAP)): r for r in results}
    measured = [r for r in results if r.control is None and not r.metric.endswith(GAP)]
    systems = list(dict.fromkeys(str(r.system) for r in measured))
    published = dict.fromkeys(str(r.system) for r in results if r.control == PUBLISHED)
    keys = [(one, gap) for gap in (False, True) for one in systems[1 if gap else 0 :]]
    keys += [(one, False) for one in published]
    columns = [f"{one} − {systems[0]}" if gap else one for one, gap in keys]
    names = dict.fromkeys(_row_name(r) for r in results if r.control is None)
    rows = [Row([name], [metric_cell(index.get((one, name, gap))) for one, gap in keys]) for name in names]
    return columns, rows


def _source_sentences(results: Sequence[Result]) -> Iterator[str]:
    """Yield what share of each source is accepted, and the recall that refinement costs."""
    found = {
        (str(one.system), one.metric, one.slice.get("refinement", "")): one
        for one in results
        if one.control is None and one.value is not None
    }
    for system in dict.fromkeys(system for system, *_ in found):
        if accepted := found.get((system, "accepted", "")):
            gap = found.get((system, f"accepted{GAP}", ""))
            beside = f", {_number(gap, ' points')} beside {gap.slice['minus']}" if gap else ""
            yield f"{system}: {_number(accepted, ' %')} of its attributes are accepted{beside}."
        if before := found.get((system, "recall", "before")):
            lost = found.get((system, "recall_lost_by_refinement", ""))
            cost = f"; refinement cost {_number(lost, ' %')}" if lost else ""
            yield f"{system}: its recall of what is known is {_number(before, ' %')}{cost}."


def _acceptance(results: Sequence[Result]) -> list[Piece]:
    """Plot what is accepted, unsure and rejected of each source, with published sources."""
    index = {(str(r.system), r.metric): r for r in results if not r.slice}
    systems = list(dict.fromkeys(str(r.system) for r in results if r.metric == "accepted"))
    if all(index[one, "accepted"].control for one in systems):
        return []
    rows = [
        PlotRow(
            system.removeprefix("published: "),
            [dot_of(index.get((system, label))) for label in LABELS],
            published=index[system, "accepted"].control is not None,
        )
        for system in systems
    ]
    caption = f"Shares of the attributes in %.{marks_words(rows)}"
    figure = panels_figure(rows, [Panel(label) for label in LABELS])
    return [Picture("Accepted, unsure, rejected", caption, figure)]


def _notes(results: Sequence[Result]) -> list[str]:
    """Return the notes on figures, each once with all the figures it is about."""
    about: dict[str, dict[str, dict[str, None]]] = {}
    for one in results:
        if one.note and one.control is None:
            about.setdefault(one.note, {}).setdefault(_measure(one), {})[_slice_words(one)] = None
    said = []
    for note, measures_of in about.items():
        named = [f"{name} ({', '.join(of)})" if any(of) else name for name, of in measures_of.items()]
        said.append(f"{', '.join(named)}: {note}.")
    return said


# -- error flow --------------------------------------------------------------------------------------------------------------


def flow_part(results: Sequence[Result], name: str = FLOW, command: str | None = None) -> ReportPart:
    """Return where the end result is lost: step by step from people to models, and for each stage alone."""
    f1 = [one for one in results if one.metric == "f1"]
    changes, lost = (
        {one.slice["stage"]: one for one in results if one.metric == metric}
        for metric in ("f1_change", "f1_lost_alone")
    )
    stages = ["people everywhere", *lost]
    rows = [
        Row([stage], [metric_cell(one), *(metric_cell(of.get(stage)) for of in (changes, lost))])
        for stage, one in zip(stages, f1, strict=True)
    ]
    coverage = f1[-1].coverage or 0.0
    lead: list[Piece] = []
    if coverage < COVERAGE_BAR:
        said = f"Only {100 * coverage:.1f} % of the judged pairs have an answer at every stage."
        lead.append(Prose(said, "warning"))
    steps = [PlotRow(stage, [dot_of(one)]) for stage, one in zip(stages, f1, strict=True)]
    caption = (
        "F1 of the attributes that a response takes into account against those that people call relevant. In the first row people do "
        f"every stage, which gives 100 by construction; in each row below one more stage is done by a model.{marks_words(steps)}"
    )
    lead.append(
        Picture("From people to models, stage by stage", caption, panels_figure(steps, [Panel("F1, %")]))
    )
    caption = (
        "F1 with the stage named and all above it by models, and its change; then what is lost when the stage alone is a model’s. "
        "In % and points, 95 % intervals over people."
    )
    lead.append(Grid("Stage by stage", caption, ["stage"], ["F1", "change", "lost alone"], rows))
    sentences, legend = _flow_sentences(f1[-1], lost)
    notes = [
        *legend,
        "People's answer to the last stage is a response that serves exactly the attributes it was given.",
    ]
    return ReportPart(
        name,
        "Error flow: where the end result is lost",
        [true_minus(text) for text in sentences],
        [*lead, *small_notes(notes)],
        instrument=_instrument(name, command),
        facts=[f"{stage}: {one.system}" for stage, one in lost.items()],
    )


def _flow_sentences(last: Result, lost: Mapping[str, Result]) -> tuple[list[str], list[str]]:
    """Return sentences on the final F1 and the loss at each stage, tested together, and the legend of the tests."""
    known = sorted((one for one in lost.values() if one.value is not None), key=lambda one: -(one.value or 0))
    found = decide_together([Hypothesis(one) for one in known])
    said = []
    if last.value is not None:
        said.append(
            f"With models at every stage the end result has an F1 of {100 * last.value:.0f} %, where people reach 100."
        )
    said += [
        stage_loss(one.slice["stage"], one.value or 0.0, tested)
        for one, tested in zip(known, found, strict=True)
    ]
    return said, legend_for(found)
