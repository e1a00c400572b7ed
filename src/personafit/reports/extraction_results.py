"""Figures of extraction as results: of one run, of sources side by side, of the rule that matches statements, and of error flows.

A source is whatever holds attributes of people: a folder of `extract run`, labels of people, published data.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from personafit._errors import UserError
from personafit.benchmarks.recentering import open_relevance
from personafit.benchmarks.statements import FINER, Statements, load_statements
from personafit.extract.error_flow import AttributeLabel, FlowFigures
from personafit.extract.extracting import EXTRACT
from personafit.extract.measures import AttributeSource, Measure, SourceAttribute, difference, measures
from personafit.extract.merging import SAME, Floats, assign, likeness
from personafit.extract.records import (
    LABELS,
    REFINED,
    ExtractedAttribute,
    StagedConversation,
    StageFile,
    VerifierVerdict,
    after_refinement,
    before_refinement,
    read_lines,
)
from personafit.extract.verifying import decide
from personafit.models.embeddings import Embedder
from personafit.people import Conversation
from personafit.reports.analysis import undefined
from personafit.reports.result import Result
from personafit.statistics import Estimate, cluster_mean
from personafit.store import Status

STARTER = "starter"
FATES = ("kept", "rewritten", "dropped")  # what was decided; coverage says of how many of all
PUBLISHED = "published"
SOURCE = "arXiv 2606.06614, Figure 2 and Table 1; three raters an attribute, majority; MiniLM embeddings"
# People's verdicts on attributes from conversations of real users (WildChat) and of simulated ones, as read off the figure.
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


def open_source(text: str, known: Path | None = None) -> AttributeSource:
    """The source that `NAME=PLACE` or `PLACE` names; PLACE is a folder, or starter."""
    name, equals, place = text.partition("=")
    if not equals:
        name, place = Path(text).name or text, text
    folder = Path(place)
    if place == STARTER or (folder / "labels.jsonl").is_file():
        return _labelled(name, load_statements(place))
    if (folder / "attributes.jsonl").is_file():
        return _staged(name, StageFile(folder), known)
    if (folder / "relevance.jsonl").is_file():
        return _published(name, folder)
    raise UserError(
        f"{place} holds no attributes: name a folder that `personafit extract run` wrote, one with conversations.jsonl and "
        "labels.jsonl, one with relevance.jsonl as published, or starter."
    )


def known_statements(path: Path) -> dict[str, list[str]]:
    """The true statements of a file of conversations, by person."""
    if not path.is_file():
        raise UserError(
            f"{path} is not there; --known takes a conversations.jsonl whose conversations have attributes."
        )
    found = _statements(read_lines(path, Conversation))
    if not any(found.values()):
        raise UserError(f"{path} knows nothing: none of its conversations has attributes.")
    return found


def _statements(conversations: Iterable[Conversation | StagedConversation]) -> dict[str, list[str]]:
    """Each person's attributes, each once."""
    found: dict[str, dict[str, None]] = {}
    for one in conversations:
        found.setdefault(one.person, {}).update((attribute.text, None) for attribute in one.attributes)
    return {person: list(texts) for person, texts in found.items()}


def _staged(name: str, files: StageFile, known: Path | None) -> AttributeSource:
    rows = list(files.read_attributes())
    decided: dict[str, VerifierVerdict] = {}
    voices: set[str] = set()
    verdicts = sorted(files.read_verdicts(), key=lambda verdict: verdict.attribute)
    for attribute, group in groupby(verdicts, lambda verdict: verdict.attribute):
        one = decide(list(group))
        if one is not None:
            decided[attribute] = one
            voices.add(one.by if one.by == "human" else f"{one.by} {one.verifier}".strip())
    people = [one.person for one in _asked_about(files)] + [row.person for row in rows]
    nothing: dict[str, list[SourceAttribute]] = {person: [] for person in people}
    given = nothing | _by_person(before_refinement(rows), decided)
    truth = known_statements(known) if known is not None else _statements(_asked_about(files))
    return AttributeSource(
        name=name,
        kind="extracted",
        judged_by=", ".join(sorted(voices)) or "nobody",
        found=given,
        refined=nothing | _by_person(after_refinement(rows), {}),
        undecided=sum(row.status == "undecided" for row in rows),
        # Whoever is known but has no conversation in the run was not the extractor's to find.
        known={person: texts for person, texts in truth.items() if person in given},
    )


def _asked_about(files: StageFile) -> Iterator[StagedConversation]:
    """What was put to the extractor: a conversation left out before was not its to find anything in."""
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
    """Every judged pair of the people an extractor had conversations of."""
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
    """The language of each person."""
    return {person.id: person.language for person in open_relevance(data).people()}


# -- figures -----------------------------------------------------------------------------------------------------------------


def stage_results(files: StageFile, counts: dict[str, Any]) -> list[dict[str, Any]]:
    """Every number of a finished run."""
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
    """How often each value occurs among rows of person and value; coverage is how many there are of all."""
    people = np.array([person for person, _ in rows])
    for value in values:
        share = undefined("there are no attributes")
        if rows:
            share = cluster_mean(np.array([float(one == value) for _, one in rows]), people, None, (0.0, 1.0))
        covered = len(rows) / of if of else None
        yield Result.of(share, metric=f"{value}_share", system=model, coverage=covered)


def source_results(sources: Sequence[AttributeSource], embedder: Embedder) -> list[Result]:
    """Every measure of every source; with several, what each differs by from the first."""
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
    """The paper's figures, so that they stand beside."""
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


TRIED = tuple(round(0.30 + 0.05 * step, 2) for step in range(9))  # thresholds of likeness


class _Person:
    """The found and known statements of one person, with which is which."""

    def __init__(self, statements: Statements, person: str, embedder: Embedder) -> None:
        known = [
            attribute
            for one in statements.conversations.values()
            if one.person == person
            for attribute in one.attributes
        ]
        places = {attribute.id: place for place, attribute in enumerate(known)}
        texts = {attribute.text for attribute in known}
        found: dict[str, int | None] = {}
        taken: set[int] = set()
        for owner, text, same in zip(statements.people, statements.texts, statements.same_as, strict=True):
            place = None if same is None else places.get(same)
            if owner != person or text in texts or place in taken:
                continue  # the matching is one to one: of two that say the same, the first counts
            found[text] = place
            if place is not None:
                taken.add(place)
        self.truth = list(found.values())
        self.cosines: Floats = likeness(list(found), [attribute.text for attribute in known], embedder)

    def counts(self, same: float) -> tuple[list[bool], list[bool]]:
        """Of the matches made, which are right; of the matches there are, which are made."""
        made = assign(self.cosines, same)
        right = [one == true for one, true in zip(made, self.truth, strict=True) if one is not None]
        got = [one == true for one, true in zip(made, self.truth, strict=True) if true is not None]
        return right, got


def matching_results(name: str, statements: Statements, embedder: Embedder) -> list[Result]:
    """What the rule that matches found statements to known ones is worth, on statements whose authors say what they repeat.

    Precision and recall at `SAME`, and at the threshold that is best for everybody else.
    """
    if not any(statements.same_as):
        return []
    people = {one: _Person(statements, one, embedder) for one in dict.fromkeys(statements.people)}
    chosen = {
        out: max(TRIED, key=lambda same: _f1([one for other, one in people.items() if other != out], same))
        for out in people
    }
    results = []
    for threshold, of in ((f"{SAME}", dict.fromkeys(people, SAME)), ("chosen on the others", chosen)):
        counts = {one: people[one].counts(of[one]) for one in people}
        for place, metric in enumerate(("precision", "recall")):
            values = [value for one in counts for value in counts[one][place]]
            whose = [one for one in counts for _ in counts[one][place]]
            estimate = cluster_mean(np.array(values, dtype=np.float64), whose, None, (0.0, 1.0))
            where = {"threshold": threshold}
            results.append(Result.of(estimate, metric=f"matching_{metric}", system=name, slice=where))
    return results


def _f1(people: Sequence[_Person], same: float) -> float:
    counts = [one.counts(same) for one in people]
    hits = sum(sum(right) for right, _ in counts)
    return 2 * hits / max(1, sum(len(right) + len(got) for right, got in counts))


def flow_results(traced: FlowFigures, names: dict[str, str]) -> list[Result]:
    """All figures of an error flow; `names` says which model does which stage."""
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
    for stage, estimate in traced.gained_by_people.items():
        add("f1_gained_by_people", estimate, {"stage": stage}, names[stage])
    if traced.invented is not None:
        note = "attributes that say nothing people know of, called relevant, per prompt"
        results.append(Result.of(traced.invented, metric="unknown_attributes_used", note=note))
    return results
