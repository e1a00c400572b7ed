"""The report of a run of writing: how near systems come to what people wrote, told of the person, of nobody and of somebody else.

The items are browsed as those of choices are. A system stands where a rater does, what it was told where the context does; its verdict
is whether it came nearer to the person's own words than when told of nobody or of somebody else.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import polars as pl

from personafit.benchmarks.lamp import MAKERS
from personafit.kinds.lines import Line
from personafit.kinds.writing import METRICS, WritingScores, load_writing, writing_lines
from personafit.people import Person
from personafit.reports.browse import pack_browser
from personafit.reports.claims import decided_lifts, legend_for, lift_claim
from personafit.reports.kind_report import Column, KindReport, LineId, line_id
from personafit.reports.line_results import line_coverage, results_of, worst_coverage
from personafit.reports.pieces import Grid, Picture, Section, percent_cell
from personafit.reports.result import Result
from personafit.reports.totals import MAX_ITEMS
from personafit.statistics import Estimate
from personafit.store import RunRecord, Status, Store

TASKS = {"LaMP_4": "headlines", "LaMP_5": "paper titles", "LaMP_6": "subject lines", "LaMP_7": "tweets"}
SHORT = {"rouge_1": "R1", "rouge_l": "RL"}
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


class WritingReport(KindReport):
    """A run in which systems wrote what people wrote."""

    searched: ClassVar[Mapping[str, str]] = {"rater_label": "System", "explained": EXPLAINED}

    def __init__(self, store: Store, run: RunRecord) -> None:
        self.scores = load_writing(store, run)
        super().__init__(store, run, self.scores.info, results_of(writing_lines(self.scores)))

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

    def table(self) -> Grid:
        """Totals and lift."""
        columns: list[Column] = [("ROUGE-1, %", METRICS[0], {}), ("ROUGE-L, %", METRICS[1], {})]
        columns.append(("lift, points", "lift", {}))
        caption = f"{MEASURED} {LIFT} {CLUSTERED}"
        return self.grid("Systems", caption, self.lines_of(METRICS[0]), columns, METRICS[0])

    @property
    def _every(self) -> dict[LineId, str | None]:
        """The systems, and what some tasks alone have."""
        found = {line_id(one): one.control for one in self.results if one.metric == METRICS[0]}
        return dict(sorted(found.items(), key=lambda line: line[1] is not None))

    def _by_task(self) -> Grid:
        columns: list[Column] = [
            (f"{TASKS.get(task, task)} {SHORT[metric]}", metric, {"task": task})
            for task in self.scores.tasks
            for metric in METRICS
        ]
        quoted = [
            Result.of(
                Estimate(score / 100, None, None, 0, 0),
                metric=metric,
                slice={"task": task},
                system=one["model"],
                given=one["view"],
                note=one["source"],
            )
            for one in self.scores.info.get("published", [])
            for task in self.scores.tasks
            for metric in METRICS
            if (score := one["scores"].get(f"{task}/{metric}")) is not None
        ]
        caption = f"R1 and RL are ROUGE-1 and ROUGE-L in %. {CLUSTERED}"
        return self.grid("ROUGE by task", caption, self._every, columns, quoted=quoted)

    def picture(self) -> Picture | None:
        """ROUGE-1 of every system and context, a panel for each task."""
        from personafit.reports.plots import Panel

        panels = [(Panel(TASKS.get(task, task)), METRICS[0], {"task": task}) for task in self.scores.tasks]
        caption = "ROUGE-1 in % with 95 % intervals; hollow squares are controls: told of nobody or of somebody else, or copied."
        return self.plot("ROUGE-1 by task", caption, self._every, panels)

    def sections(self) -> Iterator[Section]:
        """Each task, and how the asks ended."""
        yield Section("By task", [self._by_task()], "Each writing task by itself, beside published figures.")
        planned = len(self.scores.own) * len(self.record.config["contexts"])
        counted = "Number of texts by their status."
        yield self.asks(self.scores.answers, counted, lambda _: planned, "systems")

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
    first: dict[
        str | None, Line
    ] = {}  # of each system what it wrote under the first context that was asked for
    for line in written:
        first.setdefault(line.fingerprint, line)
    copied = {line.system: line for line in scores.lines if line.fingerprint is None}
    said = [scores.own]  # of every maker, item to text
    for made_by in [*(copied.get(maker) for maker in MAKERS[1:]), *written]:
        texts_of = () if made_by is None else made_by.frame.select("item", "text").drop_nulls().iter_rows()
        said.append(dict(texts_of))
    makers = [[maker for maker, found in enumerate(said) if item in found] for item in items["item"]]
    texts: dict[str, int] = {}  # every text is kept once
    answers = [
        [texts.setdefault(said[maker][item], len(texts)) for maker in made]
        for item, made in zip(items["item"], makers, strict=True)
    ]
    asks, told = _asks(store, scores, set(items["item"]), written, contexts)
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
            "verdicts": [_verdicts(scores, line, items) for line in first.values()],
        },
        people={
            person: _profile(everyone.get(person)) for person in items["person"].unique(maintain_order=True)
        },
        texts=texts,
        asks=[asks.get(item, []) for item in items["item"]],
        told=[
            [[place, text, Status.OK.value, []] for place, text in sorted(told.get(item, {}).items())]
            for item in items["item"]
        ],
        raters=[system["name"] for system in systems],
        controls=[False] * len(systems),
        views=contexts,
        facets=[{"name": "task", "values": scores.tasks}] if several else [],
        makers=[*MAKERS, *(f"{line.system}, told {line.given}" for line in written)],
        total=len(scores.own),
        words=WORDS,
    )


def _asks(
    store: Store, scores: WritingScores, items: set[str], written: list[Line], contexts: list[str]
) -> tuple[dict[str, list[dict[str, Any]]], dict[str, dict[int, str]]]:
    """By item how every text that was asked for ended, with its ROUGE-1, and what systems were told under each context."""
    systems = {system["fingerprint"]: place for place, system in enumerate(scores.run.config["systems"])}
    values = {
        (line.fingerprint, line.given): dict(line.frame.select("item", METRICS[0]).iter_rows())
        for line in written
    }
    rows = [row for row in scores.answers.iter_rows(named=True) if row["item"] in items]
    texts = store.texts({row["context"] for row in rows if row["context"]})
    asks: dict[str, list[dict[str, Any]]] = {}
    told: dict[str, dict[int, str]] = {}
    for row in rows:
        item, view = row["item"], contexts.index(row["view"])
        value = values[row["rater"], row["view"]].get(item)
        one = {"rater": systems[row["rater"]], "view": view, "order": "", "status": row["status"]}
        near = None if value is None else round(value, 4)
        asks.setdefault(item, []).append({**one, "detail": row["detail"], "value": near})
        if text := texts.get(row["context"]):
            told.setdefault(item, {})[view] = text
    return asks, told


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
