"""Attributes of people from their conversations: extracting them, measuring them, and tracing errors through the stages."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from personafit._errors import UserError
from personafit._hashing import content_hash
from personafit.api.places import hint, make_folder, working_on
from personafit.api.run import opened_store
from personafit.benchmarks import open_benchmark, write_folder
from personafit.benchmarks.benchmark import WithAttributes
from personafit.engine import Bars, Summary
from personafit.extract.asking import Ended, Session, StagesConfig, StagesDone
from personafit.extract.flow import Flow, run_flow, trace
from personafit.extract.records import StageFile
from personafit.extract.running import execute
from personafit.models import make_model
from personafit.models.embeddings import make_embedder
from personafit.reports.analysis import Analysis
from personafit.reports.claims import people_words
from personafit.reports.extraction import (
    COVERAGE_BAR,
    extraction_part,
    flow_part,
    flow_results,
    labelled_pairs,
    languages_of,
    open_source,
    source_results,
    stage_results,
    summary_pieces,
)
from personafit.reports.pieces import Piece
from personafit.store import Status, Store


@dataclass(frozen=True)
class Extraction:
    """The result of extracting into a folder; there are no counts if the work ended early."""

    out: Path
    done: StagesDone

    @property
    def summary(self) -> Summary:
        return self.done.summary

    @property
    def counts(self) -> dict[str, Any] | None:
        """Return what was read, found, verified and rewritten."""
        return self.done.counts

    @cached_property
    def results(self) -> list[dict[str, Any]]:
        """Return the figures, as `--json` prints them."""
        return stage_results(self.done.files, self.counts or {})

    @property
    def pieces(self) -> Sequence[Piece]:
        """Return the counts as a table."""
        return summary_pieces(self.counts or {}, self.out)

    @property
    def problem(self) -> str | None:
        """Return what is wrong if too few conversations, or too few replies about them, could be parsed."""
        if self.counts is None:
            return None
        coverage, read = self.counts["extraction"]["coverage"], self.counts["conversations"]
        readable = 1 - read["by_status"].get("unparsed", 0) / read["read"]
        bar = f"below the bar of {100 * COVERAGE_BAR:.0f} %"
        if coverage is None:
            return "no conversation was left to look for attributes in"
        if coverage < COVERAGE_BAR:
            return f"attributes could be read from {100 * coverage:.1f} % of the conversations, {bar}"
        if readable < COVERAGE_BAR:
            return f"{100 * readable:.1f} % of the log's conversations could be read, {bar}"
        return None


def extract_attributes(
    conversations: Path,
    *,
    model: str,
    out: Path,
    person: str = "",
    prepare: str | None = None,
    verifiers: Iterable[str] = (),
    prompts: Path | None = None,
    matcher: str | None = None,
    benchmark: str | None = None,
    redact: bool = True,
    confidence: float = 0.0,
    limit: int | None = None,
    seed: int = 0,
    budget: float | None = None,
    retry: Iterable[Status] = (),
    backend: str = "local",
    store: str | Path | Store | None = None,
    command: str = "",
) -> Extraction:
    """Extract people's attributes from a chat log into the folder `out`; the same call resumes.

    `benchmark` names one about the same people, whose items are written with their attributes to `out`/benchmark. The other arguments are
    the options of `personafit extract run`.
    """
    if not conversations.exists():
        raise UserError(f"{conversations} is not there; name a chat log or a folder that holds one.")
    if matcher is not None and prompts is None:
        raise UserError("--matcher means nothing without --prompts: say what is asked.")
    config = StagesConfig(
        conversations=conversations,
        model=model,
        out=out,
        person=person,
        prepare=prepare,
        verifiers=list(verifiers),
        prompts=prompts,
        matcher=matcher,
        redacting=redact,
        least_confidence=confidence,
        limit=limit,
        seed=seed,
        budget=budget,
        retry=frozenset(retry),
        command=command,
    )
    make_folder(out)
    try:
        with opened_store(store) as opened, working_on(backend), Bars() as progress:
            done = asyncio.run(execute(opened, config, progress))
    except OSError as error:
        raise UserError(f"{error.filename or out} cannot be written ({error.strerror}).") from error
    if done.counts is not None and benchmark is not None:
        _write_benchmark(benchmark, out)
    return Extraction(out, done)


def _write_benchmark(benchmark: str, out: Path) -> None:
    """Write a benchmark on which the induced profile can be compared with the true one."""

    people = StageFile(out).read_people()
    write_folder(out / "benchmark", WithAttributes(open_benchmark(benchmark, kind="choice"), people))
    hint(
        f"What the induced profile is worth beside the true one: personafit run {out / 'benchmark'} --rater SPEC --context profile "
        "--context attributes:all --context none --context wrong:attributes:all"
    )


def measure_attributes(sources: Sequence[str], *, command: str | None = None) -> Analysis:
    """Measure extracted attributes: acceptance, failure modes, diversity, recall and precision.

    Args:
        sources: Folders of `extract run`, folders of labels, published attributes, or `starter`, each as `[NAME=]SOURCE`; the others are
            compared with the first.
        command: The command to store, for repeating it.
    """
    opened = [open_source(source) for source in sources]
    if len({source.name for source in opened}) < len(opened):
        raise UserError("Two sources have the same name; tell them apart as in human=DIR synthetic=DIR.")
    results = source_results(opened, make_embedder())
    return Analysis("extraction", results, extraction_part(results, command=command, sources=opened))


def trace_errors(
    folder: Path,
    data: Path,
    matcher: str,
    out: Path,
    *,
    model: str | None = None,
    rater: str = "rule:mention",
    command: str | None = None,
) -> Analysis:
    """Measure how errors propagate: people are replaced by models at one stage after the other.

    Args:
        folder: A folder of `extract run`.
        data: People's labels of which attributes matter: a benchmark folder, or `starter`.
        matcher: Rater that decides which attributes matter in people's place.
        out: Folder for the models' replies.
        model: Model that answers; without it the flow ends with relevance.
        rater: Preference rater that judges the responses.
        command: The command to store, for repeating it.
    """
    source = open_source(str(folder))
    found = {person: [one.text for one in rows] for person, rows in (source.refined or source.found).items()}
    pairs = labelled_pairs(data, set(found))
    hint(f"{len(pairs):,} judged pairs of {people_words(len({pair.person for pair in pairs}))} ...")
    make_folder(out)
    answering = make_model(model) if model else None

    async def run_all(session: Session) -> Flow:
        try:
            return await run_flow(
                session, pairs, found, languages_of(data), matcher, make_embedder(), answering, rater
            )
        finally:
            if answering is not None:
                await answering.close()

    with Store(out / "flow.db") as store, Bars() as progress:
        config = {"kind": "flow", "folder": str(folder), "matcher": matcher, "model": model, "judge": rater}
        run = store.begin_run(f"flow-{content_hash(config)[:8]}", "flow", config, 0)
        session = Session(store, run, progress)
        try:
            traced = trace(asyncio.run(run_all(session)))
        except Ended:
            done = session.summary
            why = f" ({done.last_failure.rstrip('.')})" if done.last_failure else ""
            raise UserError(
                f"The flow was stopped{why}; the same command goes on from there.",
                130 if done.interrupted else 1,
            ) from None
    names = {"attributes": _extractor(folder), "relevance": matcher}
    if model:
        names["response"] = f"{model}, judged by {rater}"
    results = flow_results(traced, names)
    part = flow_part(results, out.resolve().name, command)
    return Analysis("flow", results, part)


def _extractor(folder: Path) -> str:
    """Return the model that extracted the attributes of a folder of `extract run`; the folder's name if it is not recorded."""
    summary = StageFile(folder).summary
    return (
        str(orjson.loads(summary.read_bytes()).get("model", folder.name))
        if summary.is_file()
        else folder.name
    )
