"""The report of a run of dialogues: what came out in sentences, tables and figures, and the viewer of transcripts.

Contexts occur in many dialogues, so the viewer keeps each once and refers to it by its place. What is too much for one page is left
out by fixed rules (dialogues in which something went wrong stay) and the page says so.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl
from sqlalchemy import select

from personafit.items.dialogue import DIALOGUE_QUESTIONS, INSTRUMENT, SCORE
from personafit.kinds.dialogue_scores import (
    BOUNDS,
    SCORE_RANK,
    DialogueRun,
    dialogue_lines,
    load_dialogues,
)
from personafit.people import render_person, select_facets
from personafit.raters.counting import RULES, Counted, Mark
from personafit.reporting import dialogue_tables as tables
from personafit.reporting.asked import asks_section, endings
from personafit.reporting.browse import cut_text
from personafit.reporting.claims import MARKS, ClaimWords, claim, legend_for
from personafit.reporting.dialogue_results import (
    FAULTS,
    Signature,
    UserAudit,
    audit_results,
    audit_simulator,
    context_effects,
    dialogue_coverage,
    dialogue_results,
    find_signatures,
    judge_human_kappa,
)
from personafit.reporting.dialogue_tables import DialogueTables, short_names
from personafit.reporting.kind_report import KindReport
from personafit.reporting.pieces import Browser, Grid, Picture, Piece, Section
from personafit.reporting.result import Result
from personafit.statistics.decisions import MARGIN, Hypothesis, HypothesisTest, decide_together
from personafit.store import RunRecord, Store
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
        self.run = load_dialogues(store, run)
        self.opened = dialogue_lines(store, self.run)
        self.audit = audit_simulator(self.run)
        self.signatures = find_signatures(self.run, self.opened)
        results = [
            *dialogue_results(self.run, self.opened),
            *context_effects(self.opened),
            *audit_results(self.run, self.opened, self.audit),
            *judge_human_kappa(store, self.run.marks, self.run.units, self.run.raters),
        ]
        super().__init__(store, run, self.run.info, results)
        self.index = DialogueTables(results)

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

    def counts(self) -> list[str]:
        """Dialogues and people."""
        whole = int(self.run.units["whole"].sum())
        people = self.run.units["person"].n_unique()
        return [
            f"{whole:,} of {self.run.planned:,} dialogues ran to an end",
            f"{people:,} simulated people",
        ]

    def warnings(self) -> Iterator[str]:
        """What is missing of the dialogues."""
        whole, planned = int(self.run.units["whole"].sum()), self.run.planned
        if self.record.finished is None:
            yield from super().warnings()
        elif planned and whole / planned < self.coverage_bar:
            share = 100 * whole / planned
            yield f"Only {share:.1f} % of the planned dialogues ran to an end: what is missing may differ from what is there."

    def picture(self) -> Picture | None:
        """The assistants under each context."""
        from personafit.reporting.dialogue_figures import context_picture

        return context_picture(self.index, self.run.views[0])

    def table(self) -> Grid:
        """The assistants, controls last."""
        shown = [CONTEXTS[name] for name in self.run.views] if self.run.raters else []
        return tables.summary_table(self.index, self.run.views[0], " ".join([SUMMARY, *shown]))

    def sections(self) -> Iterator[Section]:
        """Tables by what they show, those without rows left out."""
        from personafit.reporting.dialogue_figures import history_pictures, turn_picture

        index, turns = self.index, turn_picture(self.index)
        contents: list[tuple[str, str, list[Piece]]] = [
            (
                "By kind of task",
                "Tasks of one domain and of several, beside published figures where the tasks are the published ones.",
                [tables.score_table(index, self.benchmark)],
            ),
            (
                "Effects of contexts",
                "What an assistant gains from what it is told, paired by task.",
                [tables.effect_table(index), *history_pictures(index)],
            ),
            (
                "Counted preferences",
                "What fixed rules find in the transcripts, without a judge.",
                [tables.counted_table(index)],
            ),
            ("Language", "How judges mark the language of both sides.", [tables.quality_table(index)]),
            (
                "By domain and turn",
                "Where in a dialogue, and in which domains, an assistant does well.",
                [tables.domain_table(index), *([turns] if turns else []), tables.turn_table(index)],
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
        ]
        for title, lead, pieces in contents:
            yield Section(title, [one for one in pieces if not isinstance(one, Grid) or one.rows], lead)
        asks = self.run.answers.unique("ask", maintain_order=True)
        asked = [(rater, one.name) for rater in self.run.raters for one in DIALOGUE_QUESTIONS]
        asked += [(rater, SCORE.name) for rater in self.run.scorers]
        ended = (
            ([rater["name"], name], endings(asks, rater=rater["fingerprint"], question=name), None)
            for rater, name in asked
        )
        yield asks_section(ended, "Number of asks by their status.", ("judge", "question"))

    def browser(self) -> Browser:
        """The transcripts, and the turns that show what failed."""
        from personafit.reporting.report_page import browser_piece

        shown = [(self._signature_sentence(one), one.evidence) for one in self.signatures]
        data = viewer_data(self.store, self.run, self.audit)
        return browser_piece(self.record.name, "dialogue", data, shown=shown)

    def facts(self) -> dict[str, str]:
        """The contexts of both sides, and the instruments."""
        return {
            "system contexts": ", ".join(self.run.givens),
            "contexts of judges": ", ".join(self.run.views),
            "rubrics": INSTRUMENT,
            "counting rules": RULES,
        }

    def members(self) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, str]]]:
        """Assistants, the simulated user, judges, and raters that score."""
        roles = {
            "assistant": self.run.systems,
            "simulated user": [self.record.config["user"]],
            "judge": self.run.raters,
            "rater that scores": self.run.scorers,
        }
        for role, members in roles.items():
            for one in members:
                yield role, one, {}

    def questions(self) -> dict[str, str]:
        """The rubrics."""
        return {question.name: question.rubric for question in DIALOGUE_QUESTIONS}

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


def context_effect(system: str, given: str, against: str, finding: HypothesisTest, judge: str) -> str:
    """What a context does to personalization, over no context, a wrong person's or the full history."""
    control = against == "none" or against.startswith("wrong:")
    words = ClaimWords(
        above=f"being given {given} helps" if control else f"{given} does better than {against}",
        below=f"being given {given} harms"
        if control
        else f"{given} does worse than {against}, so the history is used",
        unclear=f"no evidence that being given {given} changes anything"
        if control
        else f"{given} and {against} are not distinguishable",
        equivalent=f"{given} and {against} differ by less than {MARKS.plain(finding.margin)}",
        constant=f"the same marks given {given} and {against}",
    )
    figure = f"personalization over {against}{judge},"
    return claim(system, finding, words, figure, MARKS)


# -- the viewer --------------------------------------------------------------------------------------------------------


def viewer_data(store: Store, run: DialogueRun, audit: UserAudit) -> dict[str, Any]:
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
                "faults": [FAULTS[kind] for kind in audit[item].found] if item in audit else [],
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
                "thought": _cut(turn.thought),
                "marks": marks[turn.index],
            }
            for turn in one.turns
        ],
    }


def _mark(mark: Mark) -> list[Any]:
    kind = mark.when if mark.kind == "covers" else mark.kind
    return [mark.start, mark.end, kind, mark.path, mark.value]


def _judges(run: DialogueRun) -> dict[str, int]:
    return {rater["fingerprint"]: place for place, rater in enumerate(run.raters)}


def _scores(run: DialogueRun) -> dict[str, list[list[Any]]]:
    """Per dialogue: judge, view, question, mean mark, answered, asked."""
    judges = _judges(run)
    columns = ("item", "rater", "view", "question", "value", "answered", "asked")
    found: dict[str, list[list[Any]]] = defaultdict(list)
    for item, rater, *rest in run.marks.select(columns).iter_rows():
        if rater in judges:
            found[item].append([judges[rater], *rest])
    return found


def _turn_scores(run: DialogueRun) -> dict[str, dict[str, list[list[Any]]]]:
    """Per dialogue and turn of the assistant: judge, view, mark."""
    judges = _judges(run)
    found: dict[str, dict[str, list[list[Any]]]] = defaultdict(lambda: defaultdict(list))
    for row in run.turn_marks.iter_rows(named=True):
        if row["rater"] in judges:
            turn = str(2 * row["exchange"] - 1)
            found[row["item"]][turn].append([judges[row["rater"]], row["view"], row["value"]])
    return found


def _replies(store: Store, run: DialogueRun, kept: list[str]) -> dict[str, list[list[Any]]]:
    """Per dialogue every ask: judge, view, question, sample, status, detail, reply."""
    judges = _judges(run)
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
                    _cut(row["detail"]),
                    _cut(texts.get(row["ask"])),
                ]
            )
    return found


def _cut(text: str | None) -> str:
    return cut_text(text, MAX_TEXT) or ""
