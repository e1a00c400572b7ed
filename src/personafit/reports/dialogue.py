"""The report of a run of dialogues: what came out in sentences, tables and figures, and the viewer of transcripts.

Contexts occur in many dialogues, so the viewer keeps each once and refers to it by its place. What is too much for one page is left
out by fixed rules (dialogues in which something went wrong stay) and the page says so.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib.resources import files
from typing import Any

import orjson
import polars as pl
from sqlalchemy import select

from personafit.items.dialogue import DIALOGUE_QUESTIONS, INSTRUMENT
from personafit.kinds.dialogue_scores import (
    BOUNDS,
    COUNTED,
    HEADLINES,
    SCORE_RANK,
    DialogueRun,
    dialogue_lines,
    load_dialogues,
)
from personafit.people import render_person, select_facets
from personafit.raters.counting import RULES, Counted, Mark
from personafit.reports.browse import cut_text
from personafit.reports.claims import MARKS, ClaimWords, claim, legend_for
from personafit.reports.dialogue_results import (
    FAULTS,
    Signature,
    UserAudit,
    audit_results,
    audit_simulator,
    context_effects,
    dialogue_coverage,
    dialogue_results,
    find_signatures,
)
from personafit.reports.kind_report import Column, KindReport, LineId
from personafit.reports.pieces import Browser, Grid, Picture, Piece, Section
from personafit.reports.result import Result
from personafit.statistics import Estimate
from personafit.statistics.decisions import MARGIN, Hypothesis, HypothesisTest, decide_together
from personafit.store import RunRecord, Store
from personafit.store import tables as t

PUBLISHED_FOR = "personalens"
CANNED = "canned assistant"
CLUSTERED = "Below each number its 95 % interval, clustered by person and, where tasks recur, by task."
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
        ]
        super().__init__(store, run, self.run.info, results)

    def sentences(self) -> list[str]:
        """What contexts did, what failed, where assistants rank, and what guessing would reach."""
        first = [row for row in self.results if row.view in (None, self.run.views[0])]
        asked = [row for row in first if row.control in (None, "no context")]
        effects, legend = self._effects(asked)
        return [
            *effects,
            *(self._signature_sentence(one) for one in self.signatures),
            *self._ranks(asked),
            *self._guessing(asked),
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

    def answered(self) -> tuple[int, int]:
        """How many dialogues were planned, and how many ran to an end."""
        return self.run.planned, int(self.run.units["whole"].sum())

    @cached_property
    def _headline(self) -> dict[LineId, str | None]:
        """The lines that sum the run up: those judged under the first context, else those scored, else those only counted."""
        judged = self.lines_of("personalization").items()
        first = {line: control for line, control in judged if line[3] == self.run.views[0]}
        scored = self.lines_of(SCORE_RANK)
        return _without_repeats(first or scored or self.lines_of("exchanges"))

    def picture(self) -> Picture | None:
        """Each assistant, context and judge in a row, a panel for each headline metric."""
        from personafit.reports.plots import Panel

        percent = (-4.0, 104.0)
        panels: list[tuple[Panel, str, dict[str, str]]] = [
            (Panel("completion, %", limits=percent), "completion", {}),
            (Panel("personalization, 1–4", None, 2, (0.88, 4.12)), "personalization", {}),
            (Panel("rank on the same task, %", limits=percent), SCORE_RANK, {}),
            (Panel("brought in first, %", limits=percent), "coverage_before", {}),
        ]
        caption = "One row per assistant, system context and judge; bars are 95 % intervals, hollow marks are controls."
        title = "Assistants under each context"
        return self.plot(title, caption, self._headline, panels)

    def table(self) -> Grid:
        """The assistants, controls last."""
        judges = dict.fromkeys(line[2] for line in self._headline if line[2])
        shown = [CONTEXTS[name] for name in self.run.views] if self.run.raters else []
        columns: list[Column] = [
            ("personalization, 1–4", "personalization", {}),
            ("completion, %", "completion", {}),
            ("rank, %", SCORE_RANK, {}),
            ("brought in first, %", "coverage_before", {}),
        ]
        head = next(name for name in ("personalization", SCORE_RANK, "exchanges") if self.lines_of(name))
        judge = f"Judge: {next(iter(judges))}. " if len(judges) == 1 else ""
        note = " ".join([SUMMARY, *shown])
        lines = self._headline
        return self.grid("Assistants", f"{judge}{CLUSTERED}", lines, columns, head, note=note)

    def sections(self) -> Iterator[Section]:
        """Tables by what they show, those without rows left out."""
        sliced = [one.slice for one in self.results]
        by_kind = [(f"{kind} ", {"tasks": kind}) for kind in ("SD", "MD") if {"tasks": kind} in sliced]
        quoted = published_results(self.benchmark)
        marks = [
            *((f"{kind}completion, %", "completion", where) for kind, where in by_kind),
            *((f"{kind}personalization, 1–4", "personalization", where) for kind, where in by_kind),
            ("personalization, equal weight per person", "personalization_by_person", {}),
        ]
        note = published_note() if quoted else ""
        yield Section(
            "By kind of task",
            self._grids(
                "Completion and personalization by kind of task",
                CLUSTERED,
                "personalization",
                marks,
                quoted,
                note,
            ),
            "SD: tasks of one domain; MD: tasks of several domains; beside published figures.",
        )
        compared = ("personalization", "completion", "coverage_before", "contradictions", "reasking")
        points = f"Completion and coverage in points. {CLUSTERED}"
        title, metrics = "Differences between contexts", [*compared, "invented_memories"]
        yield Section(
            "Effects of contexts",
            self.differences(title, points, metrics, "effect", CANNED),
            "What an assistant gains from what it is told, paired by task.",
        )
        labels = "; ".join(f"{name.replace('_', ' ')}: {label}" for name, label in COUNTED.items())
        counts: list[Column] = [(name.replace("_", " "), name, {}) for name in COUNTED]
        title, shares = "Counted without a judge", f"Shares in %. {CLUSTERED}"
        yield Section(
            "Counted preferences",
            self._grids(title, shares, "exchanges", counts, note=f"{labels}."),
            "What fixed rules find in the transcripts, without a judge.",
        )
        names = ("naturalness", "coherence", "naturalness_user", "coherence_user")
        language: list[Column] = [(name.replace("_", " "), name, {}) for name in names]
        simulated = "Marks from 1 to 5. The user is simulated: its marks say how good the simulation is."
        yield Section(
            "Language", self._grids("Naturalness and coherence", simulated, "naturalness", language)
        )
        domains = sorted({one["domain"] for one in sliced if "domain" in one})
        turns = sorted({one["turn"] for one in sliced if "turn" in one}, key=int)
        places = [
            piece
            for title, metric, kind in (
                ("Personalization", "personalization", "SD"),
                ("Preferences brought in", "coverage", "SD"),
                ("Preferences brought in", "coverage", "MD"),
            )
            for piece in self._grids(
                f"{title} by domain, {kind} tasks",
                "",
                metric if self.lines_of(metric) else "exchanges",
                [(domain, metric, {"tasks": kind, "domain": domain}) for domain in domains],
            )
        ]
        later = "Later turns exist only in longer dialogues: a curve over turns is also one over dialogues."
        by_turn: list[Column] = [(f"turn {turn}", "personalization", {"turn": turn}) for turn in turns]
        places += self._grids("Personalization by the assistant's turn", later, "personalization", by_turn)
        yield Section("By domain and turn", places)
        yield Section("Simulated user", self._user())
        if any(reference.known(line) for reference in self.opened.references for line in self.opened.lines):
            yield self.agreement(self.opened)
        asks = self.run.answers.unique("ask", maintain_order=True)
        yield self.asks(asks, "Number of asks by their status.")

    def _user(self) -> list[Piece]:
        """What the simulated user did wrong, how dialogues ended, and the scores without those it spoilt."""
        told = "; ".join(f"{kind}: the user {text}" for kind, text in FAULTS.items())
        note = f"{told}; helped, hurt: a fault that made the task easier or harder for the assistant."
        faults: list[Column] = [(kind, f"user_{kind}", {}) for kind in (*FAULTS, "helped", "hurt")]
        ends: list[tuple[str, dict[str, str]]] = [("all", {}), ("without", {"simulator": "unspoilt"})]
        unspoilt = [(f"{name}, {end}", name, where) for name in HEADLINES for end, where in ends]
        stops = sorted({one.slice["stop"] for one in self.results if one.metric == "stopped"})
        stopped = [(stop, "stopped", {"stop": stop}) for stop in stops]
        title = "Without the dialogues that the user spoilt"
        how = "Those in which it said something against its profile, told preferences unasked, or repeated the assistant."
        return [
            *self._grids(
                "Faults of the simulated user", "In % of dialogues.", "user_leaked", faults, note=note
            ),
            *self._grids(title, how, "personalization", unspoilt),
            *self._grids("How dialogues ended", "In % of the dialogues planned.", "exchanges", stopped),
        ]

    def _grids(
        self,
        title: str,
        caption: str,
        metric: str,
        columns: Sequence[Column],
        quoted: Sequence[Result] = (),
        note: str = "",
    ) -> list[Piece]:
        """The table of the lines that have a metric; none where nothing is in it."""
        grid = self.grid(title, caption, _without_repeats(self.lines_of(metric)), columns, None, quoted, note)
        return [grid] if grid.rows and grid.columns else []

    def browser(self) -> Browser:
        """The transcripts, and the turns that show what failed."""
        from personafit.reports.report_page import browser_piece

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
        return f"{row.system} given {row.given}"

    def _judged_by(self, rater: str | None) -> str:
        return f", judged by {rater}" if len(self.run.raters) > 1 else ""

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
                str(row.system),
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
            f"{row.rater} puts {self._told(row)} above {100 * row.value:.0f} % of the other dialogues on the same "
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


def _without_repeats(lines: Mapping[LineId, str | None]) -> dict[LineId, str | None]:
    """The lines but for those of a canned assistant under other contexts: it does not listen, so one stands for all."""
    kept: dict[tuple[str | None, ...], LineId] = {}
    for line, control in lines.items():
        kept.setdefault((line[0], *line[2:]) if control == CANNED else line, line)
    return {line: lines[line] for line in kept.values()}


# -- published figures -------------------------------------------------------------------------------------------------


def published_body() -> dict[str, Any]:
    """What was published about PersonaLens: protocol, scores, agreement."""
    text = (files("personafit.benchmarks") / "published" / "personalens.json").read_bytes()
    body: dict[str, Any] = orjson.loads(text)
    return body


def published_results(benchmark: str) -> list[Result]:
    """The published scores by kind of task, each with its source; none for other data."""
    rows = published_body()["scores"] if benchmark == PUBLISHED_FOR else []
    return [
        Result.of(
            Estimate(score / 100 if metric == "completion" else score, None, None, 0, 0),
            metric=metric,
            slice={"tasks": kind},
            system=row["model"],
            given=row["given"],
            note=row["source"],
        )
        for row in rows
        for name, score in row["scores"].items()
        for metric, _, kind in [name.partition("/")]
    ]


def published_note() -> str:
    """How the published figures were made, in a sentence or two."""
    body = published_body()
    protocol, kappa = body["protocol"], body["agreement"]["judge_human_kappa"]
    held = protocol["dialogues"]
    return " ".join(
        [
            f"Published rows are quoted from {protocol['source']}: {protocol['people']} people, {held['SD']:,} SD and {held['MD']} MD "
            f"dialogues per row, user {protocol['user']}, judge {protocol['judge']}.",
            *protocol["remarks"],
            f"Judge against people, published: kappa {kappa['completion']} for completion, {kappa['personalization']} for "
            "personalization.",
        ]
    )


# -- the viewer --------------------------------------------------------------------------------------------------------


def viewer_data(store: Store, run: DialogueRun, audit: UserAudit) -> dict[str, Any]:
    """All the page needs to list, filter, search and show dialogues."""
    kept = _kept(run)
    contexts: dict[str, int] = {}
    scores = _scores(run)
    turn_scores = _turn_scores(run)
    replies = _replies(store, run, kept)
    rows = []
    for item in kept:
        counted = run.counted[item]
        rows.append(
            _row(run, counted, contexts)
            | {
                "scores": scores.get(item, []),
                "turnScores": turn_scores.get(item, {}),
                "replies": replies.get(item, []),
                "faults": [FAULTS[kind] for kind in audit[item].found] if item in audit else [],
            }
        )
    return {
        "judges": [rater["name"] for rater in run.raters],
        "questions": [question.name for question in DIALOGUE_QUESTIONS],
        "systems": [system["name"] for system in run.systems],
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


def _row(run: DialogueRun, counted: Counted, contexts: dict[str, int]) -> dict[str, Any]:
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
        "system": one.system_name,
        "user": one.user_name,
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
