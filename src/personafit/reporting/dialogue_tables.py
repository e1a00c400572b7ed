"""The tables of a run of dialogues, made from its results."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any

import orjson

from personafit.kinds.dialogue_scores import COUNTED, SCORE_RANK
from personafit.reporting.dialogue_results import FAULTS
from personafit.reporting.pieces import Cell, Grid, Row, metric_cell, share_cell
from personafit.reporting.result import Result

PUBLISHED_FOR = "personalens"
CANNED = "canned assistant"
HEADS = ("assistant", "system context")
CLUSTERED = "Below each number its 95 % interval, clustered by person and, where tasks recur, by task."
KINDS = ("SD", "MD")

LineKey = tuple[str | None, str | None, str | None, str | None]
"""Assistant, what it was told, judge, and what the judge was shown."""
Column = tuple[str, Callable[[LineKey], Cell]]
"""A heading, and a line's cell below it."""


def short(name: str | None) -> str:
    """A spec without its address and options."""
    return re.split(r"[@,]", str(name))[0]


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Each name to its short form, or to itself where two names would have the same one."""
    full = set(names)
    taken = Counter(short(name) for name in full)
    return {name: short(name) if taken[short(name)] == 1 else name for name in full}


class DialogueTables:
    """The results of a run by what tells them apart, and what to call assistants and judges."""

    def __init__(self, results: Sequence[Result]) -> None:
        self.results = results
        self._found: dict[tuple[Any, ...], list[Result]] = {}
        for one in results:
            key = (one.metric, one.system, one.given, one.rater, _key(one.slice))
            self._found.setdefault(key, []).append(one)
        self._controls = {(one.system, one.given): one.control for one in reversed(results)}
        self._called = short_names({name for one in results for name in (one.system, one.rater) if name})
        totals = [one for one in results if one.metric in ("personalization", SCORE_RANK) and not one.slice]
        self.judges = list(dict.fromkeys((one.rater, one.view) for one in totals))
        self._views = {view for _, view in self.judges}
        self.kinds = [kind for kind in KINDS if any(one.slice == {"tasks": kind} for one in results)]

    def called(self, name: str | None) -> str:
        """The short name of an assistant or judge."""
        return self._called.get(str(name), str(name))

    def judge(self, rater: str | None, view: str | None) -> str:
        """The judge, with what it was shown of the person where judges were shown different things."""
        name = self.called(rater)
        return f"{name} ({view})" if len(self._views) > 1 else name

    def names(self, line: LineKey) -> list[str]:
        """The first cells of a line's row: assistant, system context, and the judge where there are several."""
        system, given, rater, view = line
        several = rater is not None and len(self.judges) > 1
        return [self.called(system), str(given), *([self.judge(rater, view)] if several else [])]

    def heads(self, lines: Sequence[LineKey]) -> tuple[str, ...]:
        """The headings of these names."""
        return (*HEADS, "judge") if any(len(self.names(line)) > 2 for line in lines) else HEADS

    def by(self, rater: str | None, view: str | None) -> str:
        """The end of a heading that names the judge, where there are several."""
        return f", {self.judge(rater, view)}" if len(self.judges) > 1 else ""

    def find(self, metric: str, line: LineKey, where: Mapping[str, str] | None = None) -> Result | None:
        """A line's result; a question that shows nothing of the person was asked once, whatever else judges were shown."""
        system, given, rater, view = line
        found = self._found.get((metric, system, given, rater, _key(where or {})), [])
        return next((one for one in found if one.view == view), next(iter(found), None))

    def total(self, metric: str, line: LineKey) -> Result | None:
        """The total of a headline metric; what is counted has no judge."""
        return self.find(metric, counted_line(line) if metric == "coverage_before" else line)

    def cell(self, metric: str, line: LineKey, where: Mapping[str, str] | None = None) -> Cell:
        """A line's result as tables show it."""
        return metric_cell(self.find(metric, line, where))

    def column(self, heading: str, metric: str, where: Mapping[str, str] | None = None) -> Column:
        """A column of a metric, in a slice where one is named."""
        return heading, lambda line: self.cell(metric, line, where)

    def coverage(self, *metrics: str) -> Column:
        """A column of coverage in percent: that of the first of these metrics which a line has."""

        def cell(line: LineKey) -> Cell:
            found = next(filter(None, (self.find(metric, line) for metric in metrics)), None)
            covered = None if found is None else found.coverage
            return share_cell(covered)

        return "coverage, %", cell

    def size(self, heading: str, metric: str, of: str) -> Column:
        """A column of how many people or units (`people`, `n`) a metric is over."""
        return heading, lambda line: _count(getattr(self.find(metric, line), of, 0))

    def lines(self, metric: str) -> list[LineKey]:
        """The lines that have a total of a metric, in the order of tables."""
        return self.ordered(one for one in self.results if one.metric == metric and not one.slice)

    def headline_lines(self, view: str) -> list[LineKey]:
        """The lines that sum a run up: those judged under the first context, else those scored, else those only counted."""
        judged = [line for line in self.lines("personalization") if line[3] == view]
        return judged or self.lines(SCORE_RANK) or self.lines("exchanges")

    def ordered(self, results: Iterable[Result]) -> list[LineKey]:
        """The lines of these results, controls last; a canned assistant does not listen, so one of its contexts stands for all."""
        lines = dict.fromkeys((one.system, one.given, one.rater, one.view) for one in results)
        kept: dict[tuple[str | None, ...], LineKey] = {}
        for line in sorted(lines, key=lambda line: self.control(line) is not None):
            system, _, *judge = line
            kept.setdefault((system, *judge) if self.control(line) == CANNED else line, line)
        return list(kept.values())

    def control(self, line: LineKey) -> str | None:
        """What kind of control a line's assistant or context is."""
        return self._controls.get(line[:2])

    def grid(
        self, title: str, caption: str, lines: Sequence[LineKey], columns: Sequence[Column], note: str = ""
    ) -> Grid:
        """A table with a row for each line."""
        rows = [
            Row(self.names(line), [cell(line) for _, cell in columns], self.control(line)) for line in lines
        ]
        headings = [heading for heading, _ in columns]
        return Grid(title, caption, self.heads(lines), headings, rows, note=note).filled()


def _key(where: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(where.items()))


def _count(number: int) -> Cell:
    return Cell(f"{number:,}", sort=float(number))


# -- tables ------------------------------------------------------------------------------------------------------------


def summary_table(index: DialogueTables, view: str, note: str) -> Grid:
    """The table a reader needs first: each assistant, context and judge, controls last."""
    lines = index.headline_lines(view)
    columns = [
        index.column("personalization, 1–4", "personalization"),
        index.column("completion, %", "completion"),
        index.column("rank, %", SCORE_RANK),
        ("brought in first, %", lambda line: metric_cell(index.total("coverage_before", line))),
        index.coverage("personalization", SCORE_RANK, "exchanges"),
    ]
    judge = f"Judge: {index.called(index.judges[0][0])}. " if len(index.judges) == 1 else ""
    return index.grid("Assistants", f"{judge}{CLUSTERED}", lines, columns, note)


def counted_line(line: LineKey) -> LineKey:
    """The line of what was counted in the same dialogues, which has no judge."""
    return (*line[:2], None, None)


def score_table(index: DialogueTables, benchmark: str) -> Grid:
    """Completion and personalization by kind of task, with the published rows where these are the published tasks."""
    shown = [(metric, kind) for kind in index.kinds for metric in ("completion", "personalization")]
    units = {"completion": "%", "personalization": "1–4"}
    lines = index.lines("personalization")
    grid = index.grid(
        "Completion and personalization by kind of task",
        f"SD: tasks of one domain; MD: tasks of several domains. {CLUSTERED}",
        lines,
        [
            *(index.column(f"{kind} {one}, {units[one]}", one, {"tasks": kind}) for one, kind in shown),
            index.column("personalization, equal weight per person", "personalization_by_person"),
            index.coverage("personalization"),
            index.size("people", "personalization", "people"),
        ],
    )
    if not lines or not (published := published_rows(benchmark)):
        return grid
    rows = []
    for one in published:
        scores = {f"{kind} {metric}, {units[metric]}": f"{metric}/{kind}" for metric, kind in shown}
        values = [one["scores"].get(scores.get(heading)) for heading in grid.columns]
        cells = [
            Cell() if value is None else Cell(f"{value:.{1 if '%' in heading else 2}f}", sort=value)
            for heading, value in zip(grid.columns, values, strict=True)
        ]
        names = [one["model"], one["given"], "published"][: len(grid.heads)]
        rows.append(Row(names, cells, source=one["source"]))
    return replace(grid, rows=[*grid.rows, *rows], note=published_note())


def quality_table(index: DialogueTables) -> Grid:
    """Naturalness and coherence of both sides."""
    names = {
        "naturalness": "naturalness assistant",
        "naturalness_user": "naturalness user",
        "coherence": "coherence assistant",
        "coherence_user": "coherence user",
    }
    columns = [
        index.column(f"{name} {kind}", metric, {"tasks": kind})
        for metric, name in names.items()
        for kind in index.kinds
    ]
    caption = "Marks from 1 to 5. The user is simulated: its marks say how good the simulation is."
    return index.grid("Naturalness and coherence", caption, index.lines("naturalness"), columns)


def effect_table(index: DialogueTables) -> Grid:
    """Differences between contexts, paired by task."""
    against = dict.fromkeys(
        ((one.system, one.given, one.rater, one.view), one.slice["against"])
        for one in index.results
        if one.metric == "personalization_effect" and one.control != CANNED
    )
    kinds = ["", *(index.kinds if len(index.kinds) > 1 else [])]
    judged = [(metric, kind) for metric in ("completion", "personalization") for kind in kinds]
    counted = ("coverage_before", "contradictions", "reasking", "invented_memories")
    rows = []
    for line, base in against:
        cells = [
            index.cell(f"{metric}_effect", line, {"against": base, **({"tasks": kind} if kind else {})})
            for metric, kind in judged
        ]
        cells += [index.cell(f"{metric}_effect", counted_line(line), {"against": base}) for metric in counted]
        system, _, *judge = index.names(line)
        rows.append(Row([system, f"{line[1]} − {base}", *judge], cells))
    headings = [" ".join(filter(None, pair)) for pair in judged]
    return Grid(
        "Differences between contexts",
        f"The first context minus the second, paired by task; completion and coverage in points. {CLUSTERED}",
        ("assistant", "system contexts", *index.heads([line for line, _ in against])[2:]),
        [*headings, *(name.replace("_", " ") for name in counted)],
        rows,
    ).filled()


def counted_table(index: DialogueTables) -> Grid:
    """What was counted, without a judge."""
    columns = [index.column(name.replace("_", " "), name) for name in COUNTED]
    caption = f"Shares in %. {CLUSTERED}"
    grid = index.grid("Counted without a judge", caption, index.lines("exchanges"), columns)
    labels = {name.replace("_", " "): label for name, label in COUNTED.items()}
    note = "; ".join(f"{heading}: {labels[heading]}" for heading in grid.columns)
    return replace(grid, note=f"{note}.")


def domain_table(index: DialogueTables) -> Grid:
    """By domain: marks of tasks of one domain, coverage also of several."""
    sliced = [one for one in index.results if "domain" in one.slice and one.metric == "coverage"]
    domains = sorted({one.slice["domain"] for one in sliced})
    lines = index.ordered(sliced)
    judged = [
        (metric, rater, view)
        for rater, view in index.judges
        for metric in ("completion", "personalization")
        if metric == "personalization" or view == index.judges[0][1]
    ]
    counted = [("coverage_before", "SD"), ("coverage", "SD"), ("coverage", "MD")]
    rows = []
    for domain in domains:
        own = {"tasks": "SD", "domain": domain}
        for line in lines:
            cells = [index.cell(metric, (*line[:2], rater, view), own) for metric, rater, view in judged]
            cells += [index.cell(metric, line, {"tasks": kind, "domain": domain}) for metric, kind in counted]
            if any(cell.text for cell in cells):
                rows.append(Row([domain, *index.names(line)], cells))
    headings = [f"{metric}{index.by(rater, view)}" for metric, rater, view in judged]
    return Grid(
        "By domain",
        "Marks are of tasks of that one domain; in tasks of several, only coverage can be told apart by domain.",
        ("domain", *HEADS),
        [*headings, "brought in first SD, %", "coverage SD, %", "coverage MD, %"],
        rows,
    ).filled()


def turn_table(index: DialogueTables) -> Grid:
    """Personalization turn by turn."""
    marked = [one for one in index.results if set(one.slice) == {"turn"}]
    turns = sorted({int(one.slice["turn"]) for one in marked})
    lines = index.ordered(marked)
    columns = [index.column(f"turn {turn}", "personalization", {"turn": str(turn)}) for turn in turns]
    caption = "Later turns exist only in longer dialogues: a curve over turns is also one over dialogues."
    return index.grid("Personalization by the assistant's turn", caption, lines, columns)


def audit_table(index: DialogueTables) -> Grid:
    """What the simulated user did wrong, and the scores without those dialogues."""
    spoilt = {"simulator": "unspoilt"}
    judges = dict.fromkeys((one.rater, one.view) for one in index.results if one.slice == spoilt)

    def pair(metric: str, rater: str | None, view: str | None) -> Column:
        def cell(line: LineKey) -> Cell:
            judged = (*line[:2], rater, view)
            both = index.cell(metric, judged), index.cell(metric, judged, spoilt)
            return Cell(" → ".join(one.text or "–" for one in both))

        return f"{metric}, all → without{index.by(rater, view)}", cell

    faults = "; ".join(f"{kind}: the user {text}" for kind, text in FAULTS.items())
    return index.grid(
        "Faults of the simulated user",
        "In % of dialogues; the last columns give scores of all dialogues and without those the user spoilt.",
        index.lines("user_leaked"),
        [
            *(index.column(kind, f"user_{kind}") for kind in (*FAULTS, "helped", "hurt")),
            *(pair(metric, *judge) for judge in judges for metric in ("completion", "personalization")),
        ],
        f"{faults}; helped, hurt: a fault that made the task easier or harder for the assistant.",
    )


def stop_table(index: DialogueTables) -> Grid:
    """How dialogues ended."""
    ended = [one for one in index.results if one.metric == "stopped"]
    stops = sorted({one.slice["stop"] for one in ended})
    lines = index.ordered(ended)
    columns = [index.column(stop, "stopped", {"stop": stop}) for stop in stops]
    return index.grid("How dialogues ended", "In % of the dialogues planned.", lines, columns)


def kappa_table(index: DialogueTables) -> Grid:
    """Judges against people, where people voted."""
    pairs: dict[tuple[str | None, str | None, str], dict[str, Result]] = {}
    for one in index.results:
        if one.metric in ("kappa", "kappa_linear"):
            pairs.setdefault((one.rater, one.view, one.slice["question"]), {})[one.metric] = one
    rows = [
        Row(
            [index.judge(rater, view), question],
            [
                metric_cell(found.get("kappa")),
                metric_cell(found.get("kappa_linear")),
                _count(found["kappa"].n),
            ],
        )
        for (rater, view, question), found in pairs.items()
    ]
    return Grid(
        "Judges against people",
        "Cohen's kappa of each judge with the median of people's marks; marks on a scale are also weighted linearly.",
        ("judge", "question"),
        ("kappa", "linear kappa", "dialogues"),
        rows,
    )


def rank_table(index: DialogueTables) -> Grid:
    """Where raters that score put each assistant among all that talked about the same task."""
    kinds = index.kinds if len(index.kinds) > 1 else []
    return index.grid(
        "Rank by score",
        "The share of the other dialogues on the same task that a dialogue outscores, 50 being the middle: a score is no mark, so it is "
        f"compared within a task only. {CLUSTERED}",
        index.lines(SCORE_RANK),
        [
            index.column("all tasks, %", SCORE_RANK),
            *(index.column(f"{kind}, %", SCORE_RANK, {"tasks": kind}) for kind in kinds),
            index.size("dialogues", SCORE_RANK, "n"),
            index.coverage(SCORE_RANK),
        ],
    )


# -- published figures -------------------------------------------------------------------------------------------------


def published_body() -> dict[str, Any]:
    """What was published about PersonaLens: protocol, scores, agreement."""
    text = (files("personafit.benchmarks") / "published" / "personalens.json").read_bytes()
    body: dict[str, Any] = orjson.loads(text)
    return body


def published_rows(benchmark: str) -> list[dict[str, Any]]:
    """The published rows: model, given, source and scores by metric and kind of task; none for other data."""
    rows: list[dict[str, Any]] = published_body()["scores"] if benchmark == PUBLISHED_FOR else []
    return rows


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
