"""`personafit extract run` as a whole: from a log to people, stage by stage, with nothing in memory but one person at a time.

Every stage reads what the one before it wrote. What models say is in the store, so the same command takes up where it was
ended; the files of `--out` are written anew from it each time, and only when every stage has come to its end.
"""

import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

import orjson

from personafit._hashing import content_hash
from personafit.engine import ProgressView, check_budget
from personafit.models import Model, make_model
from personafit.models.embeddings import DEFAULT, Embedder, make_embedder
from personafit.people import Person
from personafit.stages.asking import StageAsks, StagePrompt
from personafit.stages.checking import Checking
from personafit.stages.corpus import ConversationCorpus, ConversationEntry, language_of, person_of
from personafit.stages.extracting import EXTRACT, EXTRACTION, extracted_from, prompts_of
from personafit.stages.merging import merge
from personafit.stages.preparing import (
    Counting,
    StepCount,
    drop_other_uses,
    drop_people,
    drop_scripted,
    drop_small,
    keep_diverse,
    keep_language,
    limit_conversations,
    parse_steps,
)
from personafit.stages.prompting import answer, keep, match, prompts_mark, read_prompts, wishes
from personafit.stages.reading import read_log
from personafit.stages.records import ExtractedAttribute, StageFile, line_of, read_lines, write_lines
from personafit.stages.session import RULE, WORK, Ended, Session, StagesConfig, StagesDone, Tally
from personafit.store import Status, Store

FORGOTTEN = "The person was forgotten (personafit data forget)."


async def execute(store: Store, config: StagesConfig, progress: ProgressView) -> StagesDone:
    """Carry out all stages."""
    config.out.mkdir(parents=True, exist_ok=True)
    work = config.out / WORK
    work.mkdir(exist_ok=True)
    try:
        with ConversationCorpus(work / "read.jsonl") as corpus:
            return await _Stages(store, config, progress, corpus, work).execute()
    finally:
        shutil.rmtree(work, ignore_errors=True)


class _Stages:
    """The stages of one run and what they share."""

    def __init__(
        self,
        store: Store,
        config: StagesConfig,
        progress: ProgressView,
        corpus: ConversationCorpus,
        work: Path,
    ) -> None:
        self._config = config
        self._corpus = corpus
        self._work = work
        self._files = StageFile(config.out)
        self._steps = parse_steps(config.prepare)
        self._prompts = read_prompts(config.prompts, config.redacting) if config.prompts else []
        self._model: Model = make_model(config.model)
        self._embedder: Embedder = make_embedder(DEFAULT)
        check_budget(config.budget, [(config.model, self._model)])
        verifiers = config.verifiers or [RULE, config.model]
        self._checking = Checking(
            verifiers,
            config.model,
            self._model,
            self._embedder,
            corpus,
            config.budget,
            work / "verdicts.jsonl",
        )
        self._matcher = config.matcher or f"list:{config.model}"
        self._tally = Tally()
        self._store, self._progress, self._verifiers = store, progress, verifiers

    def _begin(self) -> Session:
        name, record = self._name(self._verifiers), self._record(self._verifiers)
        run = self._store.begin_run(name, "stages", record, 0)
        return Session(self._store, run, self._progress, self._config.budget, self._config.retry)

    def _name(self, verifiers: list[str]) -> str:
        parts: list[Any] = [
            str(self._config.conversations),
            self._model.settings,
            verifiers,
            self._config.prepare,
        ]
        parts += [self._config.redacting, self._config.limit, self._config.seed, self._config.person]
        parts += [self._matcher, prompts_mark(self._prompts)] if self._prompts else []
        return f"stages-{content_hash(parts)[:8]}"

    def _record(self, verifiers: list[str]) -> dict[str, Any]:
        return {
            "kind": "stages",
            "benchmark": "stages",
            "model": self._config.model,
            "verifiers": verifiers,
            "prepare": self._config.prepare,
            "out": str(self._config.out),
            "command": self._config.command,
        }

    async def execute(self) -> StagesDone:
        """One stage after another; ended early, nothing is written."""
        try:
            self._corpus.fill(
                read_log(self._config.conversations, self._config.person), self._config.redacting
            )
            session = self._session = self._begin()  # a log that cannot be read is no run
            steps = await self._prepare()
            await self._extract()
            await self._checking.check(session, self._merged)
            await self._checking.refine(session, self._model, self._merged, self._config.redacting)
            people = self._write_people()
            if self._prompts:
                await self._answer(people)
            else:
                for path in (self._files.matched, self._files.answers):
                    path.unlink(missing_ok=True)  # of an earlier run that had prompts
            counts = self._write_counts(steps)
        except Ended:
            return StagesDone(session.store.run(session.run.name), session.summary, self._files, None)
        finally:
            await self._model.close()
            await self._checking.close()
        session.store.finish_run(session.run.name)
        return StagesDone(session.store.run(session.run.name), session.summary, self._files, counts)

    async def _prepare(self) -> list[StepCount]:
        corpus, store, seed = self._corpus, self._session.store, self._config.seed
        done = []
        everyone = {entry.person for entry in corpus.entries}
        if forgotten := store.forgotten(everyone):
            counting = Counting(corpus)
            drop_people(corpus, forgotten, "forgotten", FORGOTTEN)
            self._forget_texts(forgotten)
            done.append(counting.count("forgotten"))
        for step in self._steps:
            counting, note = Counting(corpus), ""
            if step.name == "language":
                keep_language(corpus, step.argument)
            elif step.name == "scripted":
                drop_scripted(corpus)
            elif step.name == "minimum":
                drop_small(corpus)
            elif step.name == "assistant":
                note = await drop_other_uses(self._session, self._model, corpus, seed)
            else:
                keep_diverse(corpus, int(step.argument), self._embedder, seed)
            done.append(counting.count(step.name, note))
        if self._config.limit is not None:
            counting = Counting(corpus)
            limit_conversations(corpus, self._config.limit, seed)
            done.append(counting.count("limit"))
        return done

    def _forget_texts(self, people: set[str]) -> None:
        """Not a line of somebody who was forgotten is written."""
        self._corpus.entries = [entry for entry in self._corpus.entries if entry.person not in people]

    async def _extract(self) -> None:
        corpus, config = self._corpus, self._config
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
                        conversation, zip(parts, answers, strict=True), config.redacting
                    )
                    rows += found
                    self._tally.asked_about(status)
                    if status != Status.OK:
                        entry.leave_out(EXTRACT, reason or "", status)
                yield from merge(rows, self._embedder)

        write_lines(self._work / "merged.jsonl", merged())

    def _merged(self) -> Iterator[tuple[str, str, list[ExtractedAttribute]]]:
        """Everyone's attributes after merging: the person, their language, the rows."""
        languages: dict[str, list[ConversationEntry]] = {}
        for entry in self._corpus.entries:
            languages.setdefault(entry.person, []).append(entry)
        for person, rows in groupby(
            read_lines(self._work / "merged.jsonl", ExtractedAttribute), lambda row: row.person
        ):
            yield person, language_of(languages[person]), list(rows)

    def _write_people(self) -> dict[str, Person]:
        """Write every file about people; the people are returned where prompts are to be answered for them."""
        kept: dict[str, Person] = {}
        languages: dict[str, list[ConversationEntry]] = {}
        for entry in self._corpus.entries:
            if entry.used or entry.step == EXTRACT:
                languages.setdefault(entry.person, []).append(entry)
        final = self._checking.final(self._merged)
        with (self._files.people.with_suffix(".part")).open("wb") as file:
            seen = set()

            def attributes() -> Iterator[ExtractedAttribute]:
                for person, language, rows in final:
                    seen.add(person)
                    put(person_of(person, language, rows))
                    for row in rows:
                        self._tally.row(row)
                    yield from rows

            def put(person: Person) -> None:
                self._tally.people += 1
                if self._prompts:
                    kept[person.id] = person
                file.write(line_of(person))

            write_lines(self._files.attributes, attributes())
            for name in sorted(languages.keys() - seen):  # of whom nothing was found
                put(person_of(name, language_of(languages[name]), []))
        self._files.people.with_suffix(".part").replace(self._files.people)
        write_lines(self._files.verdicts, self._checking.verdicts(self._tally))
        write_lines(self._files.conversations, self._corpus.conversations())
        return kept

    async def _answer(self, people: dict[str, Person]) -> None:
        wanted = wishes(self._prompts, people)
        dataset = keep(self._session.store, people, wanted)
        matched = await match(self._session, self._matcher, people, wanted)
        answers = await answer(self._session, self._model, dataset, people, wanted, matched)
        write_lines(self._files.matched, matched)
        write_lines(self._files.answers, self._tally.answers(answers))

    def _write_counts(self, steps: list[StepCount]) -> dict[str, Any]:
        statuses = Counter(entry.status.value for entry in self._corpus.entries)
        counts = {
            "model": self._config.model,
            "run": self._session.run.name,
            "redacted": dict(self._corpus.redactions) if self._config.redacting else None,
            "conversations": {
                "read": len(self._corpus.entries),
                "messages": sum(entry.messages for entry in self._corpus.entries),
                "by_status": dict(statuses),
            },
            "known": self._corpus.known,
            "prepare": [asdict(step) for step in steps],
            **self._tally.counts(),
            "cost": self._session.summary.cost,
            "embedder": self._embedder.fingerprint,
        }
        self._files.summary.write_bytes(orjson.dumps(counts, option=orjson.OPT_INDENT_2))
        return counts
