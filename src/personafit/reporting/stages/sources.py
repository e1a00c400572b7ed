"""Whatever holds attributes of people, in the one shape that is measured: a run of stages, labels of people, published data."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from personafit._errors import UserError
from personafit.benchmarks.statements import FINER, Statements, load_statements
from personafit.people import Conversation
from personafit.stages.extracting import EXTRACT
from personafit.stages.measures import AttributeSource, SourceAttribute
from personafit.stages.records import (
    ExtractedAttribute,
    StagedConversation,
    StageFile,
    VerifierVerdict,
    after_refinement,
    before_refinement,
    read_lines,
)
from personafit.stages.verifying import decide
from personafit.store import Status

STARTER = "starter"


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
        f"{place} holds no attributes: name a folder that `personafit stages` wrote, one with conversations.jsonl and "
        "labels.jsonl, one with relevance.jsonl as published, or starter."
    )


def known_statements(path: Path) -> dict[str, list[str]]:
    """The true statements of a file of conversations, by person."""
    if not path.is_file():
        raise UserError(
            f"{path} is not there; --known takes a conversations.jsonl whose conversations have attributes."
        )
    found: dict[str, list[str]] = {}
    for one in read_lines(path, Conversation):
        texts = found.setdefault(one.person, [])
        texts += [attribute.text for attribute in one.attributes if attribute.text not in texts]
    if not any(found.values()):
        raise UserError(f"{path} knows nothing: none of its conversations has attributes.")
    return found


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
    truth = known_statements(known) if known is not None else _known_in(files)
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


def _known_in(files: StageFile) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in _asked_about(files):
        texts = found.setdefault(one.person, [])
        texts += [attribute.text for attribute in one.attributes if attribute.text not in texts]
    return found


def _asked_about(files: StageFile) -> Iterator[StagedConversation]:
    """What was put to the extractor: a conversation left out before was not its to find anything in."""
    return (one for one in files.read_conversations() if one.status == Status.OK or one.step == EXTRACT)


def _by_person(
    rows: Sequence[ExtractedAttribute], decided: dict[str, VerifierVerdict]
) -> dict[str, list[SourceAttribute]]:
    found: dict[str, list[SourceAttribute]] = {}
    for row in rows:
        verdict = decided.get(row.id)
        judged = (
            SourceAttribute(row.text)
            if verdict is None
            else SourceAttribute(row.text, verdict.label, verdict.mode)
        )
        found.setdefault(row.person, []).append(judged)
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
    from personafit.benchmarks.recentering import open_relevance

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
