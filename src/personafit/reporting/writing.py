"""The report of a run of writing: how near systems come to what people wrote, told of the person, of nobody and of somebody else.

The items are browsed as those of choices are. A system stands where a rater does, what it was told where the context does; its verdict
is whether it came nearer to the person's own words than when told of nobody or of somebody else.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import polars as pl

from personafit.benchmarks.lamp import MAKERS
from personafit.kinds.lines import CONTROL_CONTEXTS, Line
from personafit.kinds.writing import METRICS, WritingScores, load_writing, writing_lines
from personafit.people import Person
from personafit.reporting.asked import asks_section, endings
from personafit.reporting.browse import pack_browser
from personafit.reporting.claims import decided_lifts, legend_for, lift_claim
from personafit.reporting.kind_report import KindReport
from personafit.reporting.line_results import line_coverage, results_of, worst_coverage
from personafit.reporting.pieces import (
    Cell,
    Grid,
    Picture,
    Row,
    Section,
    percent_cell,
    share_cell,
)
from personafit.reporting.result import Result
from personafit.reporting.totals import MAX_ITEMS
from personafit.store import RunRecord, Status, Store

TASKS = {"LaMP_4": "headlines", "LaMP_5": "paper titles", "LaMP_6": "subject lines", "LaMP_7": "tweets"}
SHORT = {"rouge_1": "R1", "rouge_l": "RL"}
HEADS = ("system", "system context")
MEASURED = "ROUGE-1 and ROUGE-L (F1) in %: the words, and the longest sequence of words, that a text shares with what the person wrote."
LIFT = "Lift: ROUGE-1 told of the person minus the better of told of nobody and told of somebody else, in points."
CLUSTERED = "Below each number its 95 % interval, clustered by person."
MAX_PROFILE = 4_000  # characters of a profile: a person may have written hundreds of papers
WORDS = {
    "rater": "system",
    "anybody": "any system",
    "gold": "",
    "right": "nearer",
    "wrong": "farther",
    "mixed": "as near",
    "differ": "systems differ",
    "answers": "Texts",
    "chosen": "How near each came",
    "measure": "ROUGE-1",
}
EXPLAINED = (
    "Nearer: by ROUGE-1 the text is nearer to what the person wrote than what the same system wrote told of nobody or of somebody else, "
    "whichever of these came nearer."
)
LETTERS = ("w", "m", "r")  # farther, as near, nearer

Key = tuple[str | None, str | None]
"""System and what it was told."""


class WritingReport(KindReport):
    """A run in which systems wrote what people wrote."""

    searched: ClassVar[Mapping[str, str]] = {"rater_label": "System", "explained": EXPLAINED}

    def __init__(self, store: Store, run: RunRecord) -> None:
        self.scores = load_writing(store, run)
        super().__init__(store, run, self.scores.info, results_of(writing_lines(self.scores)))
        keys = {(one.system, one.given): _shown_control(one.control) for one in self.results}
        self.keys: dict[Key, str | None] = dict(sorted(keys.items(), key=lambda pair: pair[1] is not None))
        """Each system and context with what kind of control it is, controls last."""

    def counts(self) -> list[str]:
        """Texts and people."""
        people = self.scores.lines[0].frame["person"].n_unique()
        return [f"{len(self.scores.own):,} texts", f"{people:,} people"]

    def sentences(self) -> list[str]:
        """How near each system comes under every context asked for, its lifts tested together, and what copying reaches."""
        totals = [one for one in self.results if not one.slice and one.value is not None]
        copied = [one for one in totals if one.metric == METRICS[0] and one.fingerprint is None]
        # The measure stands where a rater does; the claim is about what the system was told.
        own = [replace(one, rater=None, view=None) for one in self.results]
        lifts = {(row.system, row.given): (row, tested) for row, tested in decided_lifts(own)}
        said = []
        for head in totals:
            if head.metric != METRICS[0] or head.control is not None:
                continue
            said.append(f"{head.system} given {head.given}: ROUGE-1 {_percent(head)} with what people wrote.")
            if (head.system, head.given) in lifts:
                said.append(lift_claim(*lifts[head.system, head.given]))
        if copied:
            best = max(copied, key=lambda one: one.value or 0.0)
            said.append(f"Copying {best.system} reaches {_percent(best)} without writing a word.")
        return [*said, *legend_for(tested for _, tested in lifts.values())]

    def worst_coverage(self) -> tuple[str, float] | None:
        """The system and context with the least coverage."""
        return worst_coverage(
            (f"{line.system} ({line.given})", line_coverage(line.frame), line.asked_for)
            for line in self.scores.lines
            if line.fingerprint is not None
        )

    def _find(self, key: Key, metric: str, **where: str) -> Result | None:
        return next(
            (
                one
                for one in self.results
                if (one.system, one.given) == key and one.metric == metric and one.slice == where
            ),
            None,
        )

    def _coverage(self, key: Key) -> Cell:
        covered = next(one.coverage for one in self.results if (one.system, one.given) == key)
        return share_cell(covered or 0.0)

    def table(self) -> Grid:
        """Totals and lift."""
        rows = [
            Row(
                [str(key[0]), key[1] or ""],
                [
                    *(percent_cell(self._find(key, metric)) for metric in METRICS),
                    percent_cell(self._find(key, "lift"), signed=True),
                    self._coverage(key),
                ],
                control,
            )
            for key, control in self.keys.items()
            if self._find(key, METRICS[0]) is not None
        ]
        columns = ("ROUGE-1, %", "ROUGE-L, %", "lift, points", "coverage, %")
        return Grid("Systems", f"{MEASURED} {LIFT} {CLUSTERED}", HEADS, columns, rows)

    def _by_task(self) -> Grid:
        columns = [(metric, task) for task in self.scores.tasks for metric in METRICS]
        rows = []
        for key, control in self.keys.items():
            cells = [percent_cell(self._find(key, metric, task=task)) for metric, task in columns]
            rows.append(Row([str(key[0]), key[1] or ""], [*cells, self._coverage(key)], control))
        for published in self.scores.info.get("published", []):
            found = [published["scores"].get(f"{task}/{metric}") for metric, task in columns]
            if any(score is not None for score in found):
                cells = [
                    Cell() if score is None else Cell(f"{score:.1f}", sort=score / 100) for score in found
                ]
                names = [published["model"], published["view"]]
                rows.append(Row(names, [*cells, Cell()], source=published["source"]))
        headings = [f"{TASKS.get(task, task)} {SHORT[metric]}" for metric, task in columns]
        caption = f"R1 and RL are ROUGE-1 and ROUGE-L in %. {CLUSTERED}"
        return Grid("ROUGE by task", caption, HEADS, [*headings, "coverage, %"], rows)

    def picture(self) -> Picture:
        """ROUGE-1 of every system and context, a panel for each task."""
        from personafit.reporting.plots import Panel, PlotRow, dot_of, panels_figure

        tasks = self.scores.tasks
        rows = [
            PlotRow(
                " · ".join(filter(None, key)),
                [dot_of(self._find(key, METRICS[0], task=task)) for task in tasks],
                control=control is not None,
            )
            for key, control in self.keys.items()
        ]
        panels = [Panel(TASKS.get(task, task)) for task in tasks]
        caption = "ROUGE-1 in % with 95 % intervals; hollow squares are controls: told of nobody or of somebody else, or copied."
        return Picture("ROUGE-1 by task", caption, panels_figure(rows, panels))

    def sections(self) -> Iterator[Section]:
        """Each task, and how the asks ended."""
        yield Section("By task", [self._by_task()], "Each writing task by itself, beside published figures.")
        planned = len(self.scores.own) * len(self.record.config["contexts"])
        ended = (
            ([one["name"]], endings(self.scores.answers, rater=one["fingerprint"]), planned)
            for one in self.record.config["systems"]
        )
        yield asks_section(ended, "Number of texts by their status.", HEADS[:1])

    def items(self) -> dict[str, Any]:
        """The texts."""
        return writing_browser(self.store, self.scores)

    def facts(self) -> dict[str, str]:
        """The measure."""
        return {"measure": self.record.config["instrument"]}

    def members(self) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, str]]]:
        """The systems."""
        for system in self.record.config["systems"]:
            yield "system", system, {}


def _shown_control(control: str | None) -> str | None:
    """What kind of control a line is, in the words of reports."""
    return "no context" if control == CONTROL_CONTEXTS["none"] else control


def _percent(result: Result) -> str:
    shown = percent_cell(result)
    return f"{shown.text} % ({shown.interval})" if shown.interval else f"{shown.text} %"


# -- the item browser --------------------------------------------------------------------------------------------------


def writing_browser(store: Store, scores: WritingScores) -> dict[str, Any]:
    """All the page needs to list, filter, search and show the texts."""
    items = scores.lines[0].frame.head(MAX_ITEMS)
    written = [line for line in scores.lines if line.fingerprint is not None]
    systems, contexts = scores.run.config["systems"], list(scores.run.config["contexts"])
    several = len(scores.tasks) > 1
    texts: dict[str, int] = {}
    answers, makers = _texts(scores, items, texts)
    everyone = store.people(scores.run.dataset)
    return pack_browser(
        index={
            "id": items["item"].to_list(),
            "question": items["prompt"].to_list(),
            "person": items["person"].to_list(),
            "answers": answers,
            "makers": makers,
            "gold": ["0"] * len(items),
            "facets": [[scores.tasks.index(task) for task in items["task"]]] if several else [],
            "verdicts": [_verdicts(scores, line, items) for line in _headlines(scores, written)],
        },
        people={
            person: _profile(everyone.get(person)) for person in items["person"].unique(maintain_order=True)
        },
        texts=texts,
        asks=_asks(scores, items, written, contexts),
        told=list(_told(store, scores, items, contexts)),
        raters=[system["name"] for system in systems],
        controls=[False] * len(systems),
        views=contexts,
        facets=[{"name": "task", "values": scores.tasks}] if several else [],
        makers=[*MAKERS, *(f"{line.system}, told {line.given}" for line in written)],
        total=len(scores.own),
        words=WORDS,
    )


def _headlines(scores: WritingScores, written: list[Line]) -> Iterator[Line]:
    """Of each system what it wrote under the first context that was asked for."""
    for system in scores.run.config["systems"]:
        yield next(line for line in written if line.fingerprint == system["fingerprint"])


def _texts(
    scores: WritingScores, items: pl.DataFrame, texts: dict[str, int]
) -> tuple[list[list[int]], list[list[int]]]:
    """Of each item the places of its texts, and who made each; every text is kept once."""
    copied = {line.system: line for line in scores.lines if line.fingerprint is None}
    written = [line for line in scores.lines if line.fingerprint is not None]
    said = [scores.own]
    for line in [*(copied.get(maker) for maker in MAKERS[1:]), *written]:
        said.append({} if line is None else dict(line.frame.select("item", "text").drop_nulls().iter_rows()))
    answers, makers = [], []
    for item in items["item"]:
        made = [(maker, found[item]) for maker, found in enumerate(said) if item in found]
        makers.append([maker for maker, _ in made])
        answers.append([texts.setdefault(text, len(texts)) for _, text in made])
    return answers, makers


def _verdicts(scores: WritingScores, line: Line, items: pl.DataFrame) -> str:
    """One letter an item: nearer than under the better control, as near, farther, or none where something was not written."""
    others = [
        one.frame[METRICS[0]]
        for one in scores.lines
        if one.fingerprint == line.fingerprint and one.given in ("none", f"wrong:{line.given}")
    ]
    frame = pl.DataFrame({"own": line.frame[METRICS[0]], **{f"c{n}": one for n, one in enumerate(others)}})
    best = pl.max_horizontal(pl.exclude("own")) if others else pl.lit(None, pl.Float64)
    whole = pl.all_horizontal(pl.all().is_not_null())
    letters = (pl.col("own") - best).sign().cast(pl.Int64) + 1
    found = frame.head(len(items)).select(pl.when(whole).then(letters)).to_series()
    return "".join("n" if letter is None else LETTERS[letter] for letter in found)


def _asks(
    scores: WritingScores, items: pl.DataFrame, written: list[Line], contexts: list[str]
) -> pl.DataFrame:
    """A row an item, a list a column: of every text asked for its system, context, status, ROUGE-1 and what went wrong."""
    systems = {system["fingerprint"]: place for place, system in enumerate(scores.run.config["systems"])}
    if scores.answers.is_empty():
        return pl.DataFrame([{"rater": []}] * len(items), schema={"rater": pl.List(pl.Int64)})
    parts = []
    for line in written:
        ended = scores.answers.filter(rater=line.fingerprint, view=line.given).select(
            "item", "status", pl.col("detail").cast(pl.String)
        )
        scored = line.frame.select("item", pl.col(METRICS[0]).round(4).alias("value"))
        parts.append(
            ended.join(scored, on="item").with_columns(
                pl.lit(systems[line.fingerprint or ""]).alias("rater"),
                pl.lit(contexts.index(line.given or "")).alias("view"),
                pl.lit("").alias("order"),
            )
        )
    lists = pl.concat(parts).group_by("item", maintain_order=True).agg(pl.all())
    whole = items.select("item").join(lists, on="item", how="left", maintain_order="left")
    return whole.drop("item").with_columns(pl.all().fill_null([]))


def _told(
    store: Store, scores: WritingScores, items: pl.DataFrame, contexts: list[str]
) -> Iterator[list[list[Any]]]:
    """Of each item what its systems were told: the context's place, the text, how making it ended and from what."""
    if scores.answers.is_empty():
        yield from ([] for _ in range(len(items)))
        return
    rows = scores.answers.filter(pl.col("item").is_in(items["item"].implode())).unique(
        ["item", "view"], maintain_order=True
    )
    texts = store.texts(rows["context"].unique().drop_nulls())
    found = {
        (item, view): texts[context]
        for item, view, context in rows.select("item", "view", "context").iter_rows()
        if texts.get(context)
    }
    for item in items["item"]:
        yield [
            [place, found[item, view], Status.OK.value, []]
            for place, view in enumerate(contexts)
            if (item, view) in found
        ]


def _profile(person: Person | None) -> str:
    """What is known of the person, as far as there is room."""
    lines = [memory.text for memory in person.memories] if person else []
    shown: list[str] = []
    room = MAX_PROFILE
    for line in lines:
        room -= len(line)
        if room < 0 and shown:
            shown.append(f"… and {len(lines) - len(shown):,} more in the store")
            break
        shown.append(line)
    return "\n".join(shown)
