"""The report of a run of writing: how close systems come to what people wrote, with the right person, none and a wrong one.

The item browser is that of choices, with systems in the place of raters and system contexts in the place of contexts; a verdict is whether
the text is closer to the person's own than without a person or with a wrong one.
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from personafit.benchmarks.lamp import MAKERS
from personafit.kinds.writing import METRICS, WritingScores, load_writing, writing_lines
from personafit.reports.browse import BrowserItem, PageTexts, pack_items
from personafit.reports.claims import decided_lifts, legend_for, people_words
from personafit.reports.kind_report import Column, KindReport, LineId, line_id, quote
from personafit.reports.line_results import results_of
from personafit.reports.pieces import Grid, Picture, Section, percent_cell
from personafit.reports.totals import MAX_ITEMS
from personafit.store import RunRecord, Status, Store

TASKS = {"LaMP_4": "headlines", "LaMP_5": "paper titles", "LaMP_6": "subject lines", "LaMP_7": "tweets"}
SHORT = {"rouge_1": "R1", "rouge_l": "RL"}
MEASURED = "ROUGE-1 and ROUGE-L (F1) in %: the words, and the longest sequence of words, that a text shares with what the person wrote."
LIFT = "Lift: ROUGE-1 told about the person minus the better of told about nobody and told about somebody else, in points."
MAX_PROFILE = 4_000  # characters of a profile: some people have written hundreds of papers
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
    "Nearer: by ROUGE-1 the text is nearer to what the person wrote than the better of the two texts that the same system wrote when "
    "told about nobody and about somebody else."
)


class WritingReport(KindReport):
    """The report of a run in which systems wrote what people wrote."""

    clustered: ClassVar[str] = "person"
    searched: ClassVar[Mapping[str, str]] = {"rater_label": "System", "explained": EXPLAINED}

    def __init__(self, store: Store, run: RunRecord) -> None:
        self.scores = load_writing(store, run)
        super().__init__(store, run, self.scores.info, results_of(writing_lines(self.scores)))
        self.lines = [line for line in self.scores.lines if line.fingerprint is not None]

    def counts(self) -> list[str]:
        people = self.scores.lines[0].frame["person"].n_unique()
        return [f"{len(self.scores.own):,} texts", people_words(people)]

    def sentences(self) -> list[str]:
        totals = [one for one in self.results if one.metric == METRICS[0] and not one.slice]
        copied = [one for one in totals if one.fingerprint is None and one.value is not None]
        if not copied:
            return []
        best = max(copied, key=lambda one: one.value or 0.0)
        return [
            f"Copying {best.system} reaches ROUGE-1 {percent_cell(best).text} % without writing a word.",
            *legend_for(tested for _, tested in decided_lifts(self.results, self.margin)),
        ]

    def table(self) -> Grid:
        columns: list[Column] = [("ROUGE-1, %", METRICS[0], {}), ("ROUGE-L, %", METRICS[1], {})]
        columns.append(("lift, points", "lift", {}))
        caption = f"{MEASURED} {LIFT}"
        return self.grid("Systems", caption, self.lines_of(METRICS[0]), columns, METRICS[0])

    @property
    def _every(self) -> dict[LineId, str | None]:
        """The lines with the metric in any slice, including those that only some tasks have; controls last."""
        found = {line_id(one): one.control for one in self.results if one.metric == METRICS[0]}
        return dict(sorted(found.items(), key=lambda line: line[1] is not None))

    def _by_task(self) -> Grid:
        columns: list[Column] = [
            (f"{TASKS.get(task, task)} {SHORT[metric]}", metric, {"task": task})
            for task in self.scores.tasks
            for metric in METRICS
        ]
        quoted = [
            quote(
                metric,
                score / 100,
                one["source"],
                slice={"task": task},
                system=one["model"],
                system_context=one["view"],
            )
            for one in self.scores.info.get("published", [])
            for task in self.scores.tasks
            for metric in METRICS
            if (score := one["scores"].get(f"{task}/{metric}")) is not None
        ]
        caption = "R1 and RL are ROUGE-1 and ROUGE-L in %."
        return self.grid("ROUGE by task", caption, self._every, columns, quoted=quoted)

    def picture(self) -> Picture | None:
        from personafit.reports.plots import Panel

        panels = [(Panel(TASKS.get(task, task)), METRICS[0], {"task": task}) for task in self.scores.tasks]
        caption = "ROUGE-1 in %. Controls were told about nobody or about somebody else, or copied."
        return self.plot("ROUGE-1 by task", caption, self._every, panels)

    def sections(self) -> Iterator[Section]:
        yield Section("By task", [self._by_task()], "Each writing task by itself, beside published figures.")
        planned = len(self.scores.own) * len(self.record.config["contexts"])
        counted = "Number of texts by their status."
        yield self.asks(self.scores.answers, counted, lambda _: planned, "systems")

    def items(self) -> dict[str, Any]:
        return writing_browser(self.store, self.scores)

    def facts(self) -> dict[str, str]:
        return {"measure": self.record.config["instrument"]}

    def members(self) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, str]]]:
        for system in self.record.config["systems"]:
            yield "system", system, {}


# -- the item browser --------------------------------------------------------------------------------------------------


def writing_browser(store: Store, scores: WritingScores) -> dict[str, Any]:
    """Return all data the page needs to list, filter, search and show the texts."""
    items = scores.lines[0].frame.head(MAX_ITEMS)
    written = [line for line in scores.lines if line.fingerprint is not None]
    copied = {line.system: line for line in scores.lines if line.fingerprint is None}
    systems = {system["fingerprint"]: system["name"] for system in scores.run.config["systems"]}
    said = [scores.own]  # per maker: item → text
    for line in [*(copied.get(maker) for maker in MAKERS[1:]), *written]:
        found = () if line is None else line.frame.select("item", "text").drop_nulls().iter_rows()
        said.append(dict(found))
    near = {
        (str(line.fingerprint), str(line.system_context)): dict(
            line.frame.select("item", METRICS[0]).iter_rows()
        )
        for line in written
    }
    asks, told = _asks(store, scores, set(items["item"]), near)
    first = next(iter(scores.run.system_contexts), None)
    texts, shown = PageTexts(), []
    for item, prompt, person, task in items.select("item", "prompt", "person", "task").iter_rows():
        makers = [maker for maker, of in enumerate(said) if item in of]
        shown.append(
            BrowserItem(
                id=item,
                question=prompt,
                person=person,
                verdicts="".join(_verdict(near, system, first, item) for system in systems),
                facets={"task": task},
                gold="0",
                answers=[texts.place(said[maker][item]) for maker in makers],
                makers=makers,
                asks=asks.get(item, []),
                told=[
                    [context, text, Status.OK.value, []]
                    for context, text in sorted(told.get(item, {}).items())
                ],
            )
        )
    return pack_items(
        store,
        scores.run,
        shown,
        texts,
        list(systems.values()),
        contexts=list(scores.run.config["contexts"]),
        makers=[*MAKERS, *(f"{line.system}, told {line.system_context}" for line in written)],
        total=len(scores.own),
        words=WORDS,
        longest_profile=MAX_PROFILE,
    )


Nearness = Mapping[tuple[str, str], Mapping[str, float | None]]
"""(System, context) → item → ROUGE-1 of the text."""


def _asks(
    store: Store, scores: WritingScores, items: set[str], near: Nearness
) -> tuple[dict[str, list[dict[str, Any]]], dict[str, dict[int, str]]]:
    """Return, by item, the status and ROUGE-1 of every requested text, and the contexts given to systems."""
    config = scores.run.config
    systems = [system["fingerprint"] for system in config["systems"]]
    rows = [row for row in scores.answers.iter_rows(named=True) if row["item"] in items]
    texts = store.texts({row["context_id"] for row in rows if row["context_id"]})
    asks: dict[str, list[dict[str, Any]]] = {}
    told: dict[str, dict[int, str]] = {}
    for row in rows:
        item, context = row["item"], config["contexts"].index(row["context"])
        value = near[row["rater"], row["context"]].get(item)
        one = {"rater": systems.index(row["rater"]), "context": context, "order": "", "status": row["status"]}
        rounded = None if value is None else round(value, 4)
        asks.setdefault(item, []).append({**one, "detail": row["detail"], "value": rounded})
        if text := texts.get(row["context_id"]):
            told.setdefault(item, {})[context] = text
    return asks, told


def _verdict(near: Nearness, system: str, system_context: str | None, item: str) -> str:
    """Return a letter: closer than under the better control, as close, farther, or none without a context or if a text is missing."""
    if system_context is None:
        return "n"
    own, *others = (
        near[system, told].get(item) for told in (system_context, "none", f"wrong:{system_context}")
    )
    controls = [other for other in others if other is not None]
    if own is None or len(controls) < len(others):
        return "n"
    best = max(controls)
    return "r" if own > best else "w" if own < best else "m"
