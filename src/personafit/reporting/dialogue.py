"""The report of a run of dialogues: what came out in sentences, tables and figures, and the viewer of transcripts.

Contexts occur in many dialogues, so the viewer keeps each once and refers to it by its place. What is too much for one page is left
out by fixed rules (dialogues in which something went wrong stay) and the page says so.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import polars as pl
from sqlalchemy import select

from personafit.items.dialogue_questions import DIALOGUE_QUESTIONS, INSTRUMENT, SCORE
from personafit.kinds.dialogue_scores import (
    BOUNDS,
    SCORE_RANK,
    DialogueRun,
    dialogue_lines,
    load_dialogues,
)
from personafit.people import render_person, select_facets
from personafit.raters.dialogues.counting import RULES, Counted, Mark
from personafit.reporting import dialogue_tables as tables
from personafit.reporting.asked import endings, shown_settings
from personafit.reporting.claims import context_effect, legend_for
from personafit.reporting.dialogue_figures import context_picture, history_pictures, turn_picture
from personafit.reporting.dialogue_results import (
    FAULTS,
    Signature,
    SimulatorAudit,
    audit_results,
    audit_simulator,
    context_effects,
    dialogue_coverage,
    dialogue_results,
    find_signatures,
    history_curve,
    judge_human_kappa,
)
from personafit.reporting.dialogue_tables import ResultIndex, short_names
from personafit.reporting.pieces import (
    Browser,
    Errors,
    Grid,
    Instrument,
    Participant,
    Piece,
    Prose,
    Section,
    count_row,
)
from personafit.reporting.report import KindReport, ReportPart
from personafit.reporting.report_page import browser_piece
from personafit.reporting.result import Result
from personafit.reporting.written import when
from personafit.statistics.decisions import MARGIN, Hypothesis, decide_together
from personafit.store import RunRecord, Status, Store
from personafit.store import tables as t

CONTEXTS = {
    "given": "Judges of personalization were shown what the assistant was told (context `given`): not knowing the rest is no fault.",
    "full": "Judges of personalization were shown everything about the person (context `full`): a low mark may only mean that the "
    "assistant was not told.",
}
SUMMARY = (
    "Personalization is a mark from 1 to 4. Brought in first is counted: the share of the preferences that bear on a task which the "
    "assistant brought in before the user did. The users are simulated."
)
MAX_DIALOGUES = 1_500
MAX_CHARACTERS = 30_000_000  # of turns: beyond this browsers struggle to open the page
MAX_TEXT = 8_000  # characters of one turn or reply
WRONG = ("contradicts", "reasks", "invents", "strays")
LABELS = {
    "contradicts": "goes against",
    "reasks": "asks again",
    "invents": "memory in no history",
    "states": "user says",
    "leaks": "user tells unasked",
    "strays": "user against profile",
}


class DialogueReport(KindReport):
    """A run in which assistants talked with simulated users and judges marked what they said."""

    def __init__(self, store: Store, run: RunRecord) -> None:
        self._store = store
        self.run = load_dialogues(store, run)
        self.opened = dialogue_lines(store, self.run)
        self.audit = audit_simulator(self.run)
        self.signatures = find_signatures(self.run, self.opened)
        self.benchmark: str = self.run.info["name"]
        self.coverage_bar: float = self.run.info["coverage_bar"]
        self.results: list[Result] = [
            *dialogue_results(self.run, self.opened),
            *context_effects(self.opened),
            *audit_results(self.run, self.opened, self.audit),
            *judge_human_kappa(store, self.run.marks, self.run.units, self.run.raters),
        ]

    @cached_property
    def index(self) -> ResultIndex:
        """The results by what tells them apart."""
        return ResultIndex(self.results)

    def part(self) -> ReportPart:
        """The assistants in one picture and one table, everything else in sections, and the viewer of transcripts."""
        return self._part

    @cached_property
    def _part(self) -> ReportPart:
        run, info = self.run.run, self.run.info
        view = self.run.views[0]
        picture = context_picture(self.index, view)
        shown = [CONTEXTS[name] for name in self.run.views] if self.run.raters else []
        people = self.run.units["person"].n_unique()
        return ReportPart(
            run.name,
            str(info["title"] or self.benchmark),
            self.sentences(),
            [
                *(Prose(text, "warning") for text in self._warnings()),
                *([picture] if picture else []),
                tables.summary_table(self.index, view, " ".join([SUMMARY, *shown])),
            ],
            [section for section in self._sections() if section.pieces],
            [self._viewer()],
            self._instrument(),
            [
                f"run {run.name}",
                when(run.started),
                f"{self._whole:,} of {self.run.planned:,} dialogues ran to an end",
                f"{people:,} simulated people",
            ],
        )

    def sentences(self) -> list[str]:
        """What contexts did, what failed, where assistants rank, what guessing would reach, what the simulated user spoilt."""
        first = [row for row in self.results if row.view in (None, self.run.views[0])]
        asked = [row for row in first if row.control in (None, "no context")]
        effects, legend = self._effects(asked)
        return [
            *effects,
            *(self._signature_sentence(one) for one in self.signatures),
            *self._ranks(asked),
            *self._guessing(asked),
            *self._spoilt(asked),
            *legend,
        ]

    def worst_coverage(self) -> tuple[str, float] | None:
        """The assistant, context and judge with the least coverage."""
        return dialogue_coverage(self.run, self.opened.lines)

    @property
    def _whole(self) -> int:
        return int(self.run.units["whole"].sum())

    def _warnings(self) -> Iterator[str]:
        if self.run.run.finished is None:
            yield "This run is not finished: the same command continues it, and all numbers may still change."
        elif self.run.planned and self._whole / self.run.planned < self.coverage_bar:
            share = 100 * self._whole / self.run.planned
            yield (
                f"Only {share:.1f} % of the planned dialogues ran to an end: what is missing may differ from what is there."
            )

    def _sections(self) -> list[Section]:
        index = self.index
        curve = history_curve(self.results)
        turns = turn_picture(index)
        contents: list[tuple[str, str, list[Piece]]] = [
            (
                "By kind of task",
                "Tasks of one domain and of several, beside published figures where the tasks are the published ones.",
                [tables.score_table(index, self.benchmark)],
            ),
            (
                "Effects of contexts",
                "What an assistant gains from what it is told, paired by task.",
                [
                    tables.effect_table(index),
                    *history_pictures(index, curve),
                    tables.history_table(index, curve),
                ],
            ),
            (
                "Counted preferences",
                "What fixed rules find in the transcripts, without a judge.",
                [tables.counted_table(index)],
            ),
            (
                "Language",
                "How judges mark the language of both sides.",
                [tables.quality_table(index)],
            ),
            (
                "By domain and turn",
                "Where in a dialogue, and in which domains, an assistant does well.",
                [tables.domain_table(index), *([turns] if turns else []), tables.turn_table(index)],
            ),
            (
                "Failure modes",
                "Patterns that say where an assistant fails.",
                [tables.signature_table(index, self.signatures)],
            ),
            (
                "Simulated user",
                "What the simulated users did wrong, and how dialogues ended.",
                [tables.audit_table(index), tables.stop_table(index)],
            ),
            (
                "Agreement with people",
                "How far each judge agrees with people who marked the same dialogues.",
                [tables.kappa_table(index)],
            ),
            (
                "Raters that score",
                "Rules and reward models score what an assistant says; scores are compared within a task.",
                [tables.rank_table(index)],
            ),
            (
                "Asks",
                "A reply that cannot be read is asked for once more; a failure is never a score, it lowers coverage.",
                list(self._asks()),
            ),
        ]
        return [
            Section(title, [one for one in pieces if not isinstance(one, Grid) or one.rows], lead)
            for title, lead, pieces in contents
        ]

    def _asks(self) -> Iterator[Piece]:
        """How the asks of each judge ended, by question, and what went wrong."""
        asks = self.run.answers.unique("ask", maintain_order=True)
        rows, errors = [], []
        asked = [(rater, one.name) for rater in self.run.raters for one in DIALOGUE_QUESTIONS]
        asked += [(rater, SCORE.name) for rater in self.run.scorers]
        for rater, question in asked:
            ended = endings(asks.filter(rater=rater["fingerprint"], question=question))
            rows.append(count_row([rater["name"], question], ended["counts"]))
            if ended["errors"]:
                errors.append(Errors(f"{rater['name']} · {question}", ended["errors"]))
        columns = [status.value for status in Status]
        yield Grid("How asks ended", "Number of asks by their status.", ("judge", "question"), columns, rows)
        yield from errors

    def _instrument(self) -> Instrument:
        """Everything that shaped the numbers, and the command that makes them again."""
        run, info, config = self.run.run, self.run.info, self.run.run.config
        settings = shown_settings(self._store)
        roles = [
            *(("assistant", one) for one in self.run.systems),
            ("simulated user", config["user"]),
            *(("judge", one) for one in self.run.raters),
            *(("rater that scores", one) for one in self.run.scorers),
        ]
        members = [
            Participant(one["name"], role, one["fingerprint"], settings.get(one["fingerprint"], {}))
            for role, one in roles
        ]
        about = " ".join(str(info.get("description") or "").split())
        facts = {
            "run": run.name,
            "data set": run.dataset,
            **({"about": about} if about else {}),
            "benchmark version": info["version"],
            "licence of the data": info["licence"],
            "system contexts": ", ".join(self.run.givens),
            "contexts of judges": ", ".join(self.run.views),
            "seed": str(config["seed"]),
            "samples": str(config["samples"]),
            "rubrics": INSTRUMENT,
            "counting rules": RULES,
            "started": when(run.started),
            "finished": "not finished" if run.finished is None else when(run.finished),
        }
        rubrics = {question.name: question.rubric for question in DIALOGUE_QUESTIONS}
        notes = list(dict.fromkeys(note.strip() for note in config.get("notes", []) if note.strip()))
        return Instrument(config.get("command"), facts, members, rubrics, notes)

    def _viewer(self) -> Browser:
        return browser_piece(
            self.run.run.name,
            "dialogue",
            template="dialogues.html.j2",
            data_id="viewer-data",
            data=viewer_data(self._store, self.run, self.audit),
            values={"shown": [(self._signature_sentence(one), one.evidence) for one in self.signatures]},
        )

    # -- sentences -----------------------------------------------------------------------------------------------------

    def _told(self, row: Result | Signature) -> str:
        """The assistant and what it was told, as sentences call them."""
        return f"{self.index.called(row.system)} given {row.given}"

    def _judged_by(self, rater: str | None) -> str:
        return f", judged by {self.index.called(rater)}" if len(self.run.raters) > 1 else ""

    def _signature_sentence(self, one: Signature) -> str:
        return f"{self._told(one)}{self._judged_by(one.rater)}: {one.sentence}"

    def _effects(self, results: Sequence[Result]) -> tuple[list[str], list[str]]:
        """What each context does to personalization, tested together, and how to read these claims."""
        rows = [
            row
            for row in results
            if row.metric == "personalization_effect"
            and set(row.slice) == {"against"}
            and row.value is not None
            and row.given is not None
            and not row.given.startswith("wrong:")
        ]
        low, high = BOUNDS["personalization"]
        findings = decide_together([Hypothesis(row, margin=MARGIN * (high - low)) for row in rows])
        said = [
            context_effect(
                self.index.called(row.system),
                str(row.given),
                row.slice["against"],
                finding,
                self._judged_by(row.rater),
            )
            for row, finding in zip(rows, findings, strict=True)
        ]
        return said, legend_for(findings)

    def _ranks(self, results: Sequence[Result]) -> list[str]:
        """Where raters that score put an assistant among all that talked about the same task."""
        return [
            f"{self.index.called(row.rater)} puts {self._told(row)} above {100 * row.value:.0f} % of the other dialogues on the same "
            "task (by rank: a score is no mark)."
            for row in results
            if row.metric == SCORE_RANK and not row.slice and row.value is not None
        ]

    def _guessing(self, results: Sequence[Result]) -> list[str]:
        """Where coverage is no better than guessing what most people prefer."""
        totals = {(r.system, r.given, r.metric): r for r in results if not r.slice and r.value is not None}
        said = []
        for (system, given, metric), row in totals.items():
            guess = totals.get((system, given, "majority_coverage"))
            if metric != "coverage_before" or guess is None or row.control:
                continue
            share, guessed = row.value or 0.0, guess.value or 0.0
            if share <= guessed:
                said.append(
                    f"{self._told(row)} brings in {100 * share:.0f} % of the preferences by itself; always naming what most other "
                    f"people prefer would reach {100 * guessed:.0f} %."
                )
        return said

    def _spoilt(self, results: Sequence[Result]) -> list[str]:
        """Where the score moves without the dialogues that the simulated user spoilt."""
        said = []
        for row in results:
            if row.slice != {"simulator": "unspoilt"} or row.metric != "personalization" or row.value is None:
                continue
            base = self.index.find(row.metric, (row.system, row.given, row.rater, row.view))
            if base is None or base.value is None or abs(base.value - row.value) < 0.05 or row.control:
                continue
            left = (row.note or "").rpartition("; ")[2]
            said.append(
                f"{self._told(row)}: without the dialogues its simulated user spoilt, personalization is {row.value:.2f} and not "
                f"{base.value:.2f} ({left})."
            )
        return said


# -- the viewer --------------------------------------------------------------------------------------------------------


def viewer_data(store: Store, run: DialogueRun, audit: SimulatorAudit) -> dict[str, Any]:
    """All the page needs to list, filter, search and show dialogues."""
    kept = _kept(run)
    roles = [*run.systems, *run.raters, run.run.config["user"]]
    called = short_names(one["name"] for one in roles)
    contexts: dict[str, int] = {}
    scores = _scores(run)
    turn_scores = _turn_scores(run)
    replies = _replies(store, run, kept)
    rows = []
    for item in kept:
        counted = run.counted[item]
        rows.append(
            _row(run, counted, contexts, called)
            | {
                "scores": scores.get(item, []),
                "turnScores": turn_scores.get(item, {}),
                "replies": replies.get(item, []),
                "faults": [FAULTS[kind] for kind in audit.faults[item].found] if item in audit.faults else [],
            }
        )
    return {
        "judges": [called[rater["name"]] for rater in run.raters],
        "questions": [question.name for question in DIALOGUE_QUESTIONS],
        "systems": [called[system["name"]] for system in run.systems],
        "givens": run.givens,
        "stops": sorted(set(run.units["stop"])),
        "texts": [run.given.get(context, "") for context in contexts],
        "marks": LABELS | {"before": "brought in first", "after": "brought in after the user"},
        "dialogues": rows,
        "total": len(run.counted),
    }


def _kept(run: DialogueRun) -> list[str]:
    """The dialogues to embed: all, or first those in which something went wrong, as far as the page can hold them."""
    items = list(run.counted)
    if len(items) > MAX_DIALOGUES:
        items.sort(key=lambda item: not run.counted[item].of(*WRONG))
    kept, room = [], MAX_CHARACTERS
    for item in items[:MAX_DIALOGUES]:
        room -= sum(min(len(turn.text), MAX_TEXT) for turn in run.counted[item].dialogue.turns)
        if room < 0:
            break
        kept.append(item)
    return kept


def _row(
    run: DialogueRun, counted: Counted, contexts: dict[str, int], called: dict[str, str]
) -> dict[str, Any]:
    one = counted.dialogue
    person = run.people[one.person]
    marks: dict[int, list[list[Any]]] = defaultdict(list)
    for mark in counted.marks:
        marks[mark.turn].append(_mark(mark))
    return {
        "id": one.id,
        "person": one.person,
        "task": one.task.id,
        "kind": one.task.kind,
        "domain": " + ".join(one.task.domains),
        "intent": one.task.intent,
        "goal": one.task.goal,
        "preferences": render_person(person, select_facets(person.facets, one.task.preferences)),
        "situation": "\n".join(f"{name}: {value}" for name, value in one.task.situation.items()),
        "system": called.get(one.system_name, one.system_name),
        "user": called.get(one.user_name, one.user_name),
        "given": one.given,
        "told": contexts.setdefault(one.context, len(contexts)),
        "brief": contexts.setdefault(one.brief, len(contexts)),
        "stop": one.stop.value,
        "detail": one.detail,
        "closing": one.closing,
        "switches": [turn + 1 for turn in counted.switches],
        "turns": [
            {
                "role": turn.role,
                "text": _cut(turn.text),
                "thought": _cut(turn.thought or ""),
                "marks": marks[turn.index],
            }
            for turn in one.turns
        ],
    }


def _mark(mark: Mark) -> list[Any]:
    kind = mark.when if mark.kind == "covers" else mark.kind
    return [mark.start, mark.end, kind, mark.path, mark.value]


def _scores(run: DialogueRun) -> dict[str, list[list[Any]]]:
    """Per dialogue: judge, view, question, mean mark, answered, asked."""
    judges = {rater["fingerprint"]: place for place, rater in enumerate(run.raters)}
    found: dict[str, list[list[Any]]] = defaultdict(list)
    for row in run.marks.iter_rows(named=True):
        if row["rater"] in judges:
            found[row["item"]].append(
                [
                    judges[row["rater"]],
                    row["view"],
                    row["question"],
                    row["value"],
                    row["answered"],
                    row["asked"],
                ]
            )
    return found


def _turn_scores(run: DialogueRun) -> dict[str, dict[str, list[list[Any]]]]:
    """Per dialogue and turn of the assistant: judge, view, mark."""
    judges = {rater["fingerprint"]: place for place, rater in enumerate(run.raters)}
    found: dict[str, dict[str, list[list[Any]]]] = defaultdict(lambda: defaultdict(list))
    for row in run.turn_marks.iter_rows(named=True):
        if row["rater"] in judges:
            turn = str(2 * row["exchange"] - 1)
            found[row["item"]][turn].append([judges[row["rater"]], row["view"], row["value"]])
    return found


def _replies(store: Store, run: DialogueRun, kept: list[str]) -> dict[str, list[list[Any]]]:
    """Per dialogue every ask: judge, view, question, sample, status, detail, reply."""
    judges = {rater["fingerprint"]: place for place, rater in enumerate(run.raters)}
    asks = run.answers.unique("ask", maintain_order=True).filter(pl.col("item").is_in(kept))
    query = select(t.asks.c.id, t.asks.c.reply)
    texts = {row.id: row.reply for row in store.rows_among(query, t.asks.c.id, asks["ask"].to_list())}
    found: dict[str, list[list[Any]]] = defaultdict(list)
    for row in asks.iter_rows(named=True):
        if row["rater"] in judges:
            found[row["item"]].append(
                [
                    judges[row["rater"]],
                    row["view"],
                    row["question"],
                    row["sample"],
                    row["status"],
                    _cut(row["detail"] or ""),
                    _cut(texts.get(row["ask"]) or ""),
                ]
            )
    return found


def _cut(text: str) -> str:
    if len(text) <= MAX_TEXT:
        return text
    return f"{text[:MAX_TEXT]} … ({len(text) - MAX_TEXT:,} more characters in the store)"
