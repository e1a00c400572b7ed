"""The whole of `personafit extract run`: from a log to people, stage by stage, one person in memory at a time.

Every reply is in the store under its job key, so the same command resumes where it ended; the files of `--out` are written
from it each time, and only when every stage has finished.
"""

import shutil
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import orjson

from personafit._hashing import content_hash, hash_text
from personafit.engine import ProgressView, check_budget
from personafit.extract.asking import (
    RULE,
    WORK,
    Ended,
    Session,
    StageAsks,
    StagePrompt,
    StagesConfig,
    StagesDone,
)
from personafit.extract.corpus import ConversationCorpus, person_of
from personafit.extract.extracting import EXTRACT, EXTRACTION, extracted_from, prompts_of
from personafit.extract.merging import merge
from personafit.extract.preparing import parse_steps, prepare
from personafit.extract.prompting import answer, keep, match, read_prompts, wishes
from personafit.extract.reading import read_log
from personafit.extract.records import (
    FATES,
    LABELS,
    MODES,
    REFINED,
    ExtractedAttribute,
    PromptAnswer,
    StageFile,
    read_lines,
    write_lines,
)
from personafit.extract.verifying import Checking, Found, decide
from personafit.models import make_model
from personafit.models.embeddings import DEFAULT, make_embedder
from personafit.people import Person
from personafit.store import Status, Store


async def execute(store: Store, config: StagesConfig, progress: ProgressView) -> StagesDone:
    """Run all stages."""
    work = config.out / WORK
    work.mkdir(parents=True, exist_ok=True)
    try:
        with ConversationCorpus(work / "read.jsonl") as corpus:
            return await _Stages(store, config, progress, corpus, work).execute()
    finally:
        shutil.rmtree(work, ignore_errors=True)


class _Stages:
    """The stages of one run and their shared state."""

    _session: Session

    def __init__(
        self,
        store: Store,
        config: StagesConfig,
        progress: ProgressView,
        corpus: ConversationCorpus,
        work: Path,
    ) -> None:
        self._store, self._config, self._progress = store, config, progress
        self._corpus, self._work = corpus, work
        self._files = StageFile(config.out)
        self._steps = parse_steps(config.prepare)
        self._prompts = read_prompts(config.prompts, config.redacting) if config.prompts else []
        self._model = make_model(config.model)
        self._embedder = make_embedder(DEFAULT)
        self._verifiers = config.verifiers or [RULE, config.model]
        self._checking = Checking(self._verifiers, {config.model: self._model}, self._embedder, corpus)
        check_budget(config.budget, [(config.model, self._model), *self._checking.models])
        self._matcher = config.matcher or f"list:{config.model}"
        self._asked: Counter[str] = Counter()
        """Number of conversations sent to the extractor, by status."""

    def _begin(self) -> Session:
        config, verifiers = self._config, self._verifiers
        parts: list[Any] = [str(config.conversations), self._model.settings, verifiers, config.prepare]
        parts += [config.redacting, config.limit, config.seed, config.person]
        parts += [config.least_confidence] if config.least_confidence else []
        asked = [part for one in self._prompts for part in (one.id, one.text, one.person or "")]
        parts += [self._matcher, hash_text(*asked)] if asked else []
        record = {
            "kind": "stages",
            "benchmark": "stages",
            "model": config.model,
            "verifiers": verifiers,
            "prepare": config.prepare,
            "out": str(config.out),
            "command": config.command,
        }
        run = self._store.begin_run(f"stages-{content_hash(parts)[:8]}", "stages", record, 0)
        return Session(self._store, run, self._progress, config.budget, config.retry)

    async def execute(self) -> StagesDone:
        """Run one stage after another; return without counts if one ends early."""
        config, corpus, verdicts = self._config, self._corpus, self._work / "verdicts.jsonl"
        try:
            corpus.fill(read_log(config.conversations, config.person), config.redacting)
            session = self._session = self._begin()  # after reading, so that an unreadable log starts no run
            steps = await prepare(
                session, self._model, self._embedder, corpus, self._steps, config.limit, config.seed
            )
            found = await self._extract()
            write_lines(verdicts, await self._checking.check(session, found))
            found = await self._checking.refine(session, self._model, found, config.redacting)
            people = self._write_people(found)
            verdicts.replace(self._files.verdicts)
            if self._prompts:
                await self._answer(people)
            else:
                for path in (self._files.matched, self._files.answers):
                    path.unlink(missing_ok=True)  # left by an earlier run with prompts
            counts = self._write_counts(steps)
        except Ended:
            return StagesDone(session.summary, self._files, None)
        finally:
            await self._model.close()
            await self._checking.close()
        session.store.finish_run(session.run.name)
        return StagesDone(session.summary, self._files, counts)

    async def _extract(self) -> Found:
        corpus = self._corpus
        asker = StageAsks(self._session.store, self._model, EXTRACTION)
        people = corpus.by_person()

        def prompts() -> Iterator[StagePrompt]:
            for entries in people.values():
                for entry in entries:
                    yield from (prompt for _, prompt in prompts_of(corpus.read(entry)))

        total = sum(entry.parts for entries in people.values() for entry in entries)
        await self._session.carry([asker.lane(prompts, total)])
        found: Found = {}
        for person, entries in people.items():
            rows: list[ExtractedAttribute] = []
            for entry in entries:
                conversation = corpus.read(entry)
                parts, asks = zip(*prompts_of(conversation), strict=True)
                answers = [answer for _, answer in asker.answers(asks)]
                extracted, status, reason = extracted_from(
                    conversation,
                    zip(parts, answers, strict=True),
                    self._config.redacting,
                    self._config.least_confidence,
                )
                rows += extracted
                self._asked[status.value] += 1
                if status != Status.OK:
                    entry.leave_out(EXTRACT, reason or "", status)
            found[person] = merge(rows, self._embedder)
        return found

    def _write_people(self, found: Found) -> dict[str, Person]:
        """Write the files about people, including those without any attribute found."""
        people = {
            person: person_of(person, self._corpus.language(person), rows) for person, rows in found.items()
        }
        write_lines(self._files.attributes, (row for rows in found.values() for row in rows))
        write_lines(self._files.people, people.values())
        write_lines(self._files.conversations, self._corpus.conversations())
        return people

    async def _answer(self, people: dict[str, Person]) -> None:
        wanted = wishes(self._prompts, people)
        dataset = keep(self._session.store, people, wanted)
        matched = await match(self._session, self._matcher, people, wanted)
        answers = await answer(self._session, self._model, dataset, people, wanted, matched)
        write_lines(self._files.matched, matched)
        write_lines(self._files.answers, answers)

    def _write_counts(self, steps: list[dict[str, Any]]) -> dict[str, Any]:
        """Write and return the counts of what was read, asked and decided, from the files just written."""
        entries, asked = self._corpus.entries, sum(self._asked.values())
        fates = Counter(one.status for one in self._files.read_attributes())
        refined: dict[str, int] = {fate: fates[fate] for fate in REFINED}
        answers: dict[str, Counter[str]] = {"generic": Counter(), "personalized": Counter()}
        for row in read_lines(self._files.answers, PromptAnswer):
            answers[row.given][row.status.value] += 1
        counts = {
            "model": self._config.model,
            "run": self._session.run.name,
            "redacted": dict(self._corpus.redactions) if self._config.redacting else None,
            "conversations": {
                "read": len(entries),
                "messages": sum(entry.messages for entry in entries),
                "by_status": dict(Counter(entry.status.value for entry in entries)),
            },
            "known": self._corpus.known,
            "prepare": steps,
            "people": sum(1 for _ in self._files.read_people()),
            "extraction": {
                "conversations": asked,
                "coverage": self._asked["ok"] / asked if asked else None,
                "by_status": dict(self._asked),
            },
            "attributes": {fate: fates[fate] for fate in FATES},
            "verified": _verified(self._files),
            "refined": {"given": sum(refined.values()), **refined},
            "answers": answers if self._prompts else None,
            "cost": self._session.summary.cost,
            "embedder": self._embedder.fingerprint,
        }
        self._files.summary.write_bytes(orjson.dumps(counts, option=orjson.OPT_INDENT_2))
        return counts


def _verified(files: StageFile) -> dict[str, Any]:
    """Count verdicts, in total and by verifier."""
    decided, modes = Counter[str](), Counter[str]()
    by_verifier: dict[str, Counter[str]] = {}
    for _, group in groupby(files.read_verdicts(), lambda verdict: verdict.attribute):
        verdicts = list(group)
        for verdict in verdicts:
            said = verdict.label if verdict.status == Status.OK else verdict.status.value
            by_verifier.setdefault(verdict.verifier or verdict.by, Counter())[said] += 1
        counts = decide(verdicts)
        decided["undecided" if counts is None else counts.label] += 1
        if counts is not None and counts.label != "accepted":
            modes[counts.mode] += 1
    return {
        "attributes": decided.total(),
        **{label: decided[label] for label in (*LABELS, "undecided")},
        "modes": {mode: modes[mode] for mode in MODES if modes[mode]},
        "by_verifier": {name: dict(counter) for name, counter in by_verifier.items()},
    }
