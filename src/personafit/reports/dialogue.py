"""The report of a run of dialogues: results in sentences, tables and a figure, and the transcripts.

Dialogues that do not fit on one page are left out by fixed rules (those with faults stay), and the page says so.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import polars as pl

from personafit.benchmarks.published import published_file
from personafit.items.dialogue import DIALOGUE_QUESTIONS, GOAL_ALONE, INSTRUMENT, Dialogue, StopReason
from personafit.kinds.dialogue_scores import (
    BOUNDS,
    BY_KIND,
    COUNTED,
    FAULTS,
    GOAL_ONLY,
    HEADLINES,
    LAST_TURN,
    SCORE_RANK,
    USER,
    DialogueRun,
    dialogue_lines,
    load_dialogues,
)
from personafit.people import render_person, select_facets
from personafit.raters.counting import RULES, Counted
from personafit.raters.counting.marks import Mark
from personafit.reports.browse import LETTERS, BrowserItem, PageTexts, cut_text, pack_items, raw_replies
from personafit.reports.claims import MARKS, ClaimWords, claim, legend_for, people_words
from personafit.reports.kind_report import Column, KindReport, LineId, quote, user_style
from personafit.reports.line_results import context_pairs, differences_of, results_of
from personafit.reports.pieces import Grid, Picture, Section
from personafit.reports.result import Result
from personafit.statistics.decisions import MARGIN, Hypothesis, HypothesisTest, decide_together
from personafit.store import RunRecord, Store

PUBLISHED_FOR = "personalens"
CANNED = "canned assistant"
CONTEXTS = {
    "given": "Judges of personalization were shown what the assistant was told (context `given`): not knowing the rest is no fault.",
    "full": "Judges of personalization were shown everything about the person (context `full`): a low mark may only mean that the "
    "assistant was not told.",
    GOAL_ONLY: "Completion was judged once more by the goal alone, without the person’s preferences (context `none`), as published.",
}
SUMMARY = (
    "Personalization is a mark from 1 to 4. Brought in first is counted: the share of the preferences that bear on a task which the "
    "assistant brought in before the user did. The users are simulated."
)


def _columns(names: Sequence[str]) -> list[Column]:
    return [(name.removeprefix("user_").replace("_", " "), name, {}) for name in names]


FEW_COLUMNS: list[Column] = [
    ("personalization, 1–4", "personalization", {}),
    ("completion, %", "completion", {}),
    ("rank, %", SCORE_RANK, {}),
    ("brought in first, %", "coverage_before", {}),
]
BY_TASK: list[Column] = [
    *((f"{kind} completion, %", "completion", {"tasks": kind}) for kind in ("SD", "MD")),
    *((f"{kind} personalization, 1–4", "personalization", {"tasks": kind}) for kind in ("SD", "MD")),
    ("personalization, equal weight per person", "personalization_by_person", {}),
]
COMPARED = (
    "personalization",
    "completion",
    "coverage_before",
    "contradictions",
    "reasking",
    "invented_memories",
)
LANGUAGE = _columns(("naturalness", "coherence", "naturalness_user", "coherence_user"))
BY_TURN: list[Column] = [
    (f"turn {turn}", "personalization", {"turn": str(turn)}) for turn in range(1, LAST_TURN + 1)
]
UNSPOILT: list[Column] = [
    (f"{name}, {end}", name, where)
    for name in HEADLINES
    for end, where in (("all", {}), ("without", {"simulator": "unspoilt"}))
]
ENDS: list[Column] = [(stop.value, "stopped", {"stop": stop.value}) for stop in StopReason]
COUNTS_NOTE = "; ".join(f"{name.replace('_', ' ')}: {label}" for name, label in COUNTED.items())
FAULTS_NOTE = "; ".join(f"{kind}: the user {text}" for kind, text in FAULTS.items())


class DialogueReport(KindReport):
    """The report of a run in which assistants talked with simulated users and judges rated them."""

    clustered: ClassVar[str] = "person and, where tasks recur, by task"
    searched: ClassVar[Mapping[str, str]] = {
        "searched": "words, person, task or reply",
        "rater_label": "Judge",
        "explained": "What is marked in the turns was counted by fixed rules, which miss paraphrases and can err.",
    }

    asks_whether: ClassVar[str] = "does the assistant use what it is told about the person?"

    def __init__(self, store: Store, run: RunRecord) -> None:
        self.run = load_dialogues(store, run)
        self.opened = dialogue_lines(store, self.run)
        self.lines = [line for line in self.opened.lines if line.rater] or self.opened.lines
        effects = differences_of(
            self.opened, context_pairs(self.opened.lines), "effect", BY_KIND, lambda line: None
        )
        super().__init__(store, run, self.run.info, [*results_of(self.opened), *effects])

    def sentences(self) -> list[str]:
        """Return the effect of each context on personalization, tested together."""
        rows = [
            row
            for row in self.results
            if row.metric == "personalization_effect"
            and row.context == self.run.contexts[0]
            and set(row.slice) == {"against"}
            and row.control in (None, "no context")
            and row.value is not None
        ]
        low, high = BOUNDS["personalization"]
        findings = decide_together([Hypothesis(row, margin=MARGIN * (high - low)) for row in rows])
        several = len(self.run.judges) > 1
        said = [
            context_effect(
                str(row.system),
                str(row.system_context),
                row.slice["against"],
                finding,
                f", judged by {row.rater}" if several else "",
            )
            for row, finding in zip(rows, findings, strict=True)
        ]
        return [*said, *legend_for(findings)]

    def counts(self) -> list[str]:
        whole, people = int(self.run.units["whole"].sum()), self.run.units["person"].n_unique()
        return [
            f"{whole:,} of {self.run.planned:,} dialogues finished",
            people_words(people, "simulated "),
        ]

    @cached_property
    def _head(self) -> str:
        """The headline metric: judged if possible, else scored, else counted."""
        names = ("personalization", SCORE_RANK, "exchanges")
        return next((name for name in names if self.lines_of(name)), names[-1])

    @property
    def _headline(self) -> dict[LineId, str | None]:
        """The lines of the headline metric, under the judges' first context."""
        first = (None, self.run.contexts[0])
        return {line: control for line, control in self.lines_of(self._head).items() if line[3] in first}

    def lines_of(self, metric: str) -> dict[LineId, str | None]:
        """Return the lines that have a metric; a canned assistant ignores its context, so only its first one is kept."""
        found = super().lines_of(metric)
        kept: dict[tuple[str | None, ...], LineId] = {}
        for line, control in found.items():
            kept.setdefault((line[0], *line[2:]) if control == CANNED else line, line)
        return {line: found[line] for line in kept.values()}

    def picture(self) -> Picture | None:
        """Plot a row per assistant, context and judge, and a panel per headline metric."""
        from personafit.reports.plots import Panel

        percent = (-4.0, 104.0)
        panels: list[tuple[Panel, str, dict[str, str]]] = [
            (Panel("Personalization, 1–4", None, 2, (0.88, 4.12)), "personalization", {}),
            (Panel("Completion, %", limits=percent), "completion", {}),
            (Panel("Rank on the same task, %", limits=percent), SCORE_RANK, {}),
            (Panel("Brought in first, %", limits=percent), "coverage_before", {}),
        ]
        caption = "One row per assistant, system context and judge."
        return self.plot("Assistants under each context", caption, self._headline, panels)

    def table(self) -> Grid:
        shown = [CONTEXTS[name] for name in self.run.contexts] if self.run.judges else []
        note = " ".join([SUMMARY, *shown])
        return self.grid("Assistants", "", self._headline, FEW_COLUMNS, self._head, note=note)

    def sections(self) -> Iterator[Section]:
        quoted = published_results(self.benchmark)
        title = "Completion and personalization by kind of task"
        note = published_file(PUBLISHED_FOR)["note"] if quoted else ""
        judged = self.lines_of("personalization")
        kinds = self.filled(title, "", judged | self.lines_of("completion"), BY_TASK, note, quoted)
        lead = "SD: tasks of one domain; MD: tasks of several domains; beside published figures."
        yield Section("By kind of task", kinds, lead)
        points, title = "Completion and coverage in points.", "Differences between contexts"
        lead = "What an assistant gains from what it is told, paired by task."
        yield Section(
            "Effects of contexts", self.differences(title, points, COMPARED, "effect", CANNED), lead
        )
        shares = "Shares in %."
        counted, held = _columns([*COUNTED]), self.lines_of("exchanges")
        counts = self.filled("Counted without a judge", shares, held, counted, f"{COUNTS_NOTE}.")
        lead = "What fixed rules find in the transcripts, without a judge."
        yield Section("Counted preferences", counts, lead)
        simulated = "Marks from 1 to 5. The user is simulated: its marks say how good the simulation is."
        natural = self.lines_of("naturalness")
        yield Section("Language", self.filled("Naturalness and coherence", simulated, natural, LANGUAGE))
        domains = sorted({one.slice["domain"] for one in self.results if "domain" in one.slice})
        by_domain = [(one, "personalization", {"tasks": "SD", "domain": one}) for one in domains]
        later = "Later turns exist only in longer dialogues: a curve over turns is also one over dialogues."
        title = "Personalization by the assistant's turn"
        places = [
            *self.filled("Personalization by domain, SD tasks", "", judged, by_domain),
            *self.filled(title, later, judged, BY_TURN),
        ]
        yield Section("By domain and turn", places)
        note = f"{FAULTS_NOTE}; helped, hurt: a fault that made the task easier or harder for the assistant."
        spoilt = "Those in which it said something against its profile, told preferences unasked, or repeated the assistant."
        share, planned = "In % of dialogues.", "In % of the dialogues planned."
        user = [
            *self.filled(
                "Faults of the simulated user", share, self.lines_of("user_leaked"), _columns(USER), note
            ),
            *self.filled("Without the dialogues that the user spoilt", spoilt, judged, UNSPOILT),
            *self.filled("How dialogues ended", planned, held, ENDS),
        ]
        yield Section("Simulated user", user)
        if any(reference.known(line) for reference in self.opened.references for line in self.opened.lines):
            yield self.agreement(self.opened)
        asks = self.run.answers.unique("ask", maintain_order=True)
        yield self.asks(asks, "Number of asks by their status.")

    def items(self) -> dict[str, Any]:
        return dialogue_items(self.store, self.run)

    def facts(self) -> dict[str, str]:
        return {
            "system contexts": ", ".join(self.record.system_contexts),
            "contexts of judges": ", ".join(self.run.contexts),
            "style of the simulated user": user_style(self.record.config["user"]),
            "rubrics": INSTRUMENT,
            "counting rules": RULES,
        }

    def members(self) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, str]]]:
        roles = {
            "assistant": self.record.config["systems"],
            "simulated user": [self.record.config["user"]],
            "judge": self.run.judges,
            "rater that scores": self.run.scorers,
        }
        for role, members in roles.items():
            for one in members:
                yield role, one, {}

    def questions(self) -> dict[str, str]:
        rubrics = {question.name: question.rubric for question in DIALOGUE_QUESTIONS}
        alone = {"completion, context none": GOAL_ALONE.rubric} if GOAL_ONLY in self.run.contexts else {}
        return rubrics | alone


# -- contexts ----------------------------------------------------------------------------------------------------------


def context_effect(
    system: str, system_context: str, against: str, finding: HypothesisTest, judge: str
) -> str:
    """Return the claim on a context's effect on personalization, over no context or a wrong person's."""
    words = ClaimWords(
        above=f"being told “{system_context}” helps",
        below=f"being told “{system_context}” harms",
        unclear=f"no evidence that being told “{system_context}” changes anything",
        equivalent=f"“{system_context}” and “{against}” differ by less than {MARKS.plain(finding.margin)}",
        constant=f"the same marks told “{system_context}” and “{against}”",
    )
    return claim(system, finding, words, f"personalization over {against}{judge},", MARKS)


# -- published figures -------------------------------------------------------------------------------------------------


@lru_cache(1)
def published_results(benchmark: str) -> list[Result]:
    """Return the published scores by kind of task with their source; empty for other benchmarks."""
    rows = published_file(PUBLISHED_FOR)["scores"] if benchmark == PUBLISHED_FOR else []
    return [
        quote(
            metric,
            score / 100 if metric == "completion" else score,
            row["source"],
            slice={"tasks": kind},
            system=row["model"],
            system_context=row["given"],
        )
        for row in rows
        for name, score in row["scores"].items()
        for metric, _, kind in [name.partition("/")]
    ]


# -- the item browser --------------------------------------------------------------------------------------------------------

MAX_DIALOGUES = 1_500
MAX_CHARACTERS = 30_000_000  # characters of turns: beyond this browsers struggle to open the page
MAX_TEXT = 8_000  # characters of one turn or reply
WRONG = ("contradicts", "reasks", "invents", "strays")
LABELS = {
    "contradicts": "goes against",
    "reasks": "asks again",
    "invents": "memory in no history",
    "states": "user says",
    "leaks": "user tells unasked",
    "strays": "user against profile",
    "before": "brought in first",
    "after": "brought in after the user",
}


JUDGED = {
    "rms": "task done",
    "hwx": "task not done",
    "rhp": "personalization 3 or more",
    "swq": "personalization 2 or less",
    "s": "done, personalization 2 or less",
    "n": "not judged",
}
"""Filters of dialogues: the letters they cover (see `_letter`) → label."""
WORDS = {
    "rater": "judge",
    "anybody": "any judge",
    "right": "done, personalization 3 or more",
    "wrong": "otherwise",
    "differ": "judges differ",
    "status": "Counted",
    "chosen": "Marks of the judges",
    "cut": ", first those in which something went wrong",
}


def dialogue_items(store: Store, run: DialogueRun) -> dict[str, Any]:
    """Return the item browser's data; an item is a dialogue with each side's context, its turns, and the judges' marks."""
    kept = _kept(run)
    judges = {rater["fingerprint"]: rater["name"] for rater in run.judges}
    means, cells, tags = _marks(run, judges)
    replies = raw_replies(store, run.run, dict(zip(kept, kept, strict=True)), list(judges), run.contexts)
    found = {item: {_kind(mark) for mark in run.counted[item].marks} for item in kept}
    counted = [kind for kind in LABELS if any(kind in one for one in found.values())]
    texts, shown = PageTexts(), []
    for item in kept:
        one = run.counted[item].dialogue
        bits = sum(1 << place for place, kind in enumerate(counted) if kind in found[item])
        shown.append(
            BrowserItem(
                id=f"{one.id} · {one.task.id} · {' + '.join(one.task.domains)}",
                question=one.task.intent,
                person=one.person,
                about=_about(one.task.id, one.stop.value, means[item]),
                verdicts="".join(_letter(means[item].get(judge, {})) for judge in judges),
                statuses=chr(LETTERS + bits) * len(judges),
                facets={
                    "assistant": one.system_name,
                    "system context": one.system_context,
                    "tasks": one.task.kind,
                    "ended": one.stop.value,
                },
                asks=[{**ask, "about": ask["question"], "order": ""} for ask in replies.get(item, [])],
                told=_told(run, one, texts),
                turns=_transcript(run, run.counted[item], tags, texts),
                marks=[[texts.place(name), None, row] for name, row in cells[item].items()],
            )
        )
    return pack_items(
        store,
        run.run,
        shown,
        texts,
        list(judges.values()),
        contexts=run.contexts,
        words=WORDS,
        verdicts=JUDGED,
        statuses=[LABELS[kind] for kind in counted],
        total=len(run.counted),
        columns=["question", *judges.values()],
    )


def _kept(run: DialogueRun) -> list[str]:
    """Return the dialogues to embed, as many as fit; if there are too many, those with faults first."""
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


def _kind(mark: Mark) -> str:
    return mark.when if mark.kind == "covers" else mark.kind


def _told(run: DialogueRun, one: Dialogue, texts: PageTexts) -> list[tuple[str, int]]:
    """Return what each side was told and the task's context, as titles and indices of texts."""
    person = run.people[one.person]
    situation = "\n".join(f"{name}: {value}" for name, value in one.task.situation.items())
    preferences = render_person(person, select_facets(person.facets, one.task.preferences))
    known = {
        f"The assistant, {one.system_name}, was given {one.system_context}": run.told.get(
            one.system_context_id, ""
        ),
        f"The simulated user, {one.user_name}, was told": run.told.get(one.brief, ""),
        "The task": "\n\n".join(filter(None, [f"Goal: {one.task.goal}", preferences, situation])),
    }
    return [(title, texts.place(text or "Nothing.")) for title, text in known.items()]


def _transcript(
    run: DialogueRun, counted: Counted, tags: Mapping[tuple[str, int], list[str]], texts: PageTexts
) -> dict[str, Any]:
    """Return turns (speaker, role, index of the text, marks, tags, thought), how the dialogue ended, and the simulated user's faults."""
    one = counted.dialogue
    marks: dict[int, list[list[Any]]] = defaultdict(list)
    for mark in counted.marks:
        label = " · ".join(
            filter(None, [LABELS[_kind(mark)], (mark.path or "").partition(".")[2] or mark.path])
        )
        marks[mark.turn].append([mark.start, mark.end, _kind(mark), label])
    said = [
        [
            "Simulated user" if turn.role == "user" else "Assistant",
            turn.role,
            texts.place(_cut(turn.text)),
            marks[turn.index],
            [*tags.get((one.id, place), []), *(["another domain"] if place in counted.switches else [])],
            _cut(turn.thought),
        ]
        for place, turn in enumerate(one.turns)
    ]
    if one.closing:
        said.append(["User, in closing", "user", texts.place(one.closing), [], [], ""])
    faults = run.faults[one.id].found if one.id in run.faults else ()
    return {
        "turns": said,
        "ended": f"Ended: {one.stop.value}{f'. {one.detail}' if one.detail else ''}",
        "notes": [f"The simulated user {FAULTS[kind]}." for kind in faults],
    }


Means = dict[str, dict[str, dict[str, float | None]]]
"""Dialogue → judge → question → mark, under the judges' first context."""


def _marks(
    run: DialogueRun, judges: Mapping[str, str]
) -> tuple[Means, dict[str, dict[str, list[list[Any]]]], dict[tuple[str, int], list[str]]]:
    """Return the judges' marks under the first context, the rows of the table of marks, and the marks of single turns."""
    means: Means = defaultdict(lambda: defaultdict(dict))
    cells: dict[str, dict[str, list[list[Any]]]] = defaultdict(dict)
    places = list(judges)
    columns = ("item", "rater", "context", "question", "value", "answered", "asked")
    mine = pl.col("rater").is_in(places)
    for item, rater, context, question, value, answered, asked in (
        run.marks.filter(mine).select(columns).iter_rows()
    ):
        if context == run.contexts[0]:
            means[item][rater][question] = value
        whole = {1.0: "done", 0.0: "not done"} if question == "completion" else {}
        text = "no answer" if value is None else whole.get(value, f"{value:.3g}")
        if value is not None and answered < asked:
            text += f" ({answered} of {asked} answered)"
        row = cells[item].setdefault(f"{question}, context {context}", [["–", False, None] for _ in places])
        row[places.index(rater)] = [text, False, None]
    tags: dict[tuple[str, int], list[str]] = defaultdict(list)
    turns = run.turn_marks.filter(mine).select("item", "exchange", "rater", "context", "value")
    for item, exchange, rater, context, value in turns.iter_rows():
        given = "–" if value is None else f"{value:.3g}"
        tags[item, 2 * exchange - 1].append(f"{judges[rater]}: {given} of 4 ({context})")
    return means, cells, tags


def _letter(marks: Mapping[str, float | None]) -> str:
    """Return a letter for completion (rms done, hwx not done, others not judged) and personalization (high, low, other)."""
    done, mark = marks.get("completion"), marks.get("personalization")
    level = 2 if mark is None else 0 if mark >= 3 else 1 if mark <= 2 else 2
    if done is None:
        return "n" if mark is None else "pqo"[level]
    return "rsm"[level] if done >= 0.5 else "hwx"[level]


def _about(task: str, stop: str, judged: Mapping[str, Mapping[str, float | None]]) -> str:
    """Return a list entry: the task, how it ended, and the judges' mean marks."""
    parts = [task, stop]
    for question in ("completion", "personalization"):
        known = [mark for marks in judged.values() if (mark := marks.get(question)) is not None]
        if known:
            mean = sum(known) / len(known)
            parts.append(
                ("done" if mean >= 0.5 else "not done")
                if question == "completion"
                else f"personalization {mean:.3g}"
            )
    return " · ".join(parts)


def _cut(text: str | None) -> str:
    return cut_text(text, MAX_TEXT) or ""
