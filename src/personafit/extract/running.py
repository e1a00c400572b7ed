"""`personafit extract run` as a whole: from a log to people, stage by stage, with nothing in memory but one person at a time.

Every stage reads what the one before it wrote. What models say is in the store, so the same command takes up where it was
ended; the files of `--out` are written anew from it each time, and only when every stage has come to its end.
"""

import shutil
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import orjson

from personafit._hashing import content_hash
from personafit.engine import ProgressView, check_budget
from personafit.extract.asking import StageAsks, StagePrompt
from personafit.extract.corpus import ConversationCorpus, language_of, person_of
from personafit.extract.extracting import EXTRACT, EXTRACTION, extracted_from, prompts_of
from personafit.extract.merging import merge
from personafit.extract.preparing import parse_steps, prepare
from personafit.extract.prompting import answer, keep, match, prompts_mark, read_prompts, wishes
from personafit.extract.reading import read_log
from personafit.extract.records import (
    ExtractedAttribute,
    PromptAnswer,
    StageFile,
    line_of,
    read_lines,
    write_lines,
)
from personafit.extract.session import RULE, WORK, Ended, Session, StagesConfig, StagesDone, Tally
from personafit.extract.verifying import Checking
from personafit.models import make_model
from personafit.models.embeddings import DEFAULT, make_embedder
from personafit.people import Person
from personafit.store import Status, Store


async def execute(store: Store, config: StagesConfig, progress: ProgressView) -> StagesDone:
    """Carry out all stages."""
    work = config.out / WORK
    work.mkdir(parents=True, exist_ok=True)
    try:
        with ConversationCorpus(work / "read.jsonl") as corpus:
            return await _Stages(store, config, progress, corpus, work).execute()
    finally:
        shutil.rmtree(work, ignore_errors=True)


class _Stages:
    """The stages of one run and what they share."""

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
        self._tally = Tally()

    def _begin(self) -> Session:
        config, verifiers = self._config, self._verifiers
        parts: list[Any] = [str(config.conversations), self._model.settings, verifiers, config.prepare]
        parts += [config.redacting, config.limit, config.seed, config.person]
        parts += [self._matcher, prompts_mark(self._prompts)] if self._prompts else []
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
        """One stage after another; ended early, nothing is written."""
        config, corpus, verdicts = self._config, self._corpus, self._work / "verdicts.jsonl"
        try:
            corpus.fill(read_log(config.conversations, config.person), config.redacting)
            session = self._session = self._begin()  # a log that cannot be read is no run
            steps = await prepare(
                session, self._model, self._embedder, corpus, self._steps, config.limit, config.seed
            )
            await self._extract()
            await self._checking.check(session, self._merged, verdicts, self._tally)
            await self._checking.refine(session, self._model, self._merged, config.redacting)
            people = self._write_people()
            verdicts.replace(self._files.verdicts)
            if self._prompts:
                await self._answer(people)
            else:
                for path in (self._files.matched, self._files.answers):
                    path.unlink(missing_ok=True)  # of an earlier run that had prompts
            counts = self._write_counts(steps)
        except Ended:
            return StagesDone(session.summary, self._files, None)
        finally:
            await self._model.close()
            await self._checking.close()
        session.store.finish_run(session.run.name)
        return StagesDone(session.summary, self._files, counts)

    async def _extract(self) -> None:
        corpus = self._corpus
        asker = StageAsks(self._session.store, self._model, EXTRACTION)
        people = corpus.by_person()

        def prompts() -> Iterator[StagePrompt]:
            for entries in people.values():
                for entry in entries:
                    yield from (prompt for _, prompt in prompts_of(corpus.read(entry)))

        total = sum(entry.parts for entries in people.values() for entry in entries)
        await self._session.carry([asker.lane(prompts, total)])

        def merged() -> Iterator[ExtractedAttribute]:
            for entries in people.values():
                rows: list[ExtractedAttribute] = []
                for entry in entries:
                    conversation = corpus.read(entry)
                    parts, asks = zip(*prompts_of(conversation), strict=True)
                    answers = [answer for _, answer in asker.answers(asks)]
                    found, status, reason = extracted_from(
                        conversation, zip(parts, answers, strict=True), self._config.redacting
                    )
                    rows += found
                    self._tally.extraction[status.value] += 1
                    if status != Status.OK:
                        entry.leave_out(EXTRACT, reason or "", status)
                yield from merge(rows, self._embedder)

        write_lines(self._work / "merged.jsonl", merged())

    def _merged(self) -> Iterator[tuple[str, str, list[ExtractedAttribute]]]:
        """Everyone's attributes after merging: the person, their language, the rows."""
        entries = self._corpus.by_person(every=True)
        lines = read_lines(self._work / "merged.jsonl", ExtractedAttribute)
        for person, rows in groupby(lines, lambda row: row.person):
            yield person, language_of(entries[person]), list(rows)

    def _write_people(self) -> dict[str, Person]:
        """Write every file about people; the people are returned where prompts are to be answered for them."""
        kept: dict[str, Person] = {}
        asked = {
            person: [entry for entry in entries if entry.used or entry.step == EXTRACT]
            for person, entries in self._corpus.by_person(every=True).items()
        }
        part = self._files.people.with_suffix(".part")
        with part.open("wb") as file:

            def put(person: Person) -> None:
                self._tally.people += 1
                if self._prompts:
                    kept[person.id] = person
                file.write(line_of(person))

            def attributes() -> Iterator[ExtractedAttribute]:
                for person, language, rows in self._checking.final(self._merged):
                    del asked[person]
                    put(person_of(person, language, rows))
                    self._tally.fates.update(row.status for row in rows)
                    yield from rows

            write_lines(self._files.attributes, attributes())
            for name, entries in asked.items():  # of whom nothing was found
                if entries:
                    put(person_of(name, language_of(entries), []))
        part.replace(self._files.people)
        write_lines(self._files.conversations, self._corpus.conversations())
        return kept

    async def _answer(self, people: dict[str, Person]) -> None:
        wanted = wishes(self._prompts, people)
        dataset = keep(self._session.store, people, wanted)
        matched = await match(self._session, self._matcher, people, wanted)
        answers = await answer(self._session, self._model, dataset, people, wanted, matched)

        def counted() -> Iterator[PromptAnswer]:
            for row in answers:
                self._tally.answers[row.given, row.status.value] += 1
                yield row

        write_lines(self._files.matched, matched)
        write_lines(self._files.answers, counted())

    def _write_counts(self, steps: list[dict[str, Any]]) -> dict[str, Any]:
        entries = self._corpus.entries
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
            **self._tally.counts(),
            "cost": self._session.summary.cost,
            "embedder": self._embedder.fingerprint,
        }
        self._files.summary.write_bytes(orjson.dumps(counts, option=orjson.OPT_INDENT_2))
        return counts
