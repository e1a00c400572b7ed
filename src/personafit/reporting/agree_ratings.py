"""Everybody's answers side by side: those of a run's raters, or of a benchmark folder's voters, and gold.

One rater is one rater spec under the headline view. A folder brings the votes of its `votes.jsonl` and whatever runs on
the same items and people the store holds, so that people and judges meet in one place.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from personafit._errors import UserError, located
from personafit.benchmarks import FolderBenchmark
from personafit.benchmarks.lines import read_lines, validated
from personafit.reporting.results import headline_view
from personafit.store import (
    Item,
    Judgment,
    RaterRecord,
    RunRecord,
    Status,
    Store,
    gold_answers,
    item_rows,
    run_answers,
)

GOLD, HUMAN = "gold", "human"
VOTE = {
    "question": pl.String,
    "item": pl.String,
    "target": pl.String,
    "rater": pl.String,
    "label": pl.String,
    "value": pl.Float64,
}


@dataclass(frozen=True)
class Rater:
    """Who gave a column of ratings; an ensemble names the kind of rater it is made `of`."""

    name: str
    kind: str
    control: bool = False
    of: str | None = None
    met: str | None = None
    """The sentence that says it was fitted on these people, where it was: its agreement here is no evidence."""


@dataclass
class Source:
    """The answers of all raters, one row per answer, before orders and samples are made one."""

    name: str
    people: dict[str, str]
    """Item to person."""
    choices: frozenset[str]
    """Items that are a choice between products, whose labels are places and no numbers."""
    raters: dict[str, Rater] = field(default_factory=dict)
    parts: list[pl.DataFrame] = field(default_factory=list)
    jobs: set[str] = field(default_factory=set)
    """Jobs already in: the same rater may have been part of several runs, and its answers count once."""
    unanswered: int = 0
    prompts: dict[str, str] = field(default_factory=dict)
    """Item to prompt; an item without one has a prompt of its own."""

    def add(self, votes: pl.DataFrame, raters: Mapping[str, Rater]) -> None:
        """Put in more answers; only those about known items count."""
        for key, rater in raters.items():
            self.raters.setdefault(key, rater)
        self.parts.append(votes.filter(pl.col("item").is_in(list(self.people))))

    def votes(self) -> pl.DataFrame:
        """All answers."""
        return pl.concat([pl.DataFrame(schema=VOTE), *self.parts])

    def silent(self) -> list[str]:
        """Raters who were asked and gave no answer."""
        heard = set(self.votes()["rater"].unique())
        return [rater.name for key, rater in self.raters.items() if key not in heard]


def run_source(store: Store, run: RunRecord, answers: pl.DataFrame | None = None) -> Source:
    """All raters of a run, and gold where the benchmark has any; answers are read unless they are here already."""
    info = store.dataset_info(run.dataset)
    items = item_rows(store, run.dataset)
    if run.config["selected"] is not None:
        items = items.filter(pl.col("item").is_in(run.config["selected"]))
    people = dict(zip(items["item"], items["person"], strict=True))
    prompts = dict(zip(items["item"], items["prompt"], strict=True))
    source = Source(run.name, people, frozenset(people), prompts=prompts)
    add_run(source, store, run, info, source.people, answers)
    # In a run of answers "gold" only marks which answer was tested: nobody said that it is right.
    if info["metric"] != "win_rate":
        gold = gold_answers(store, run.dataset).select(
            pl.lit(run.config["question"]).alias("question"),
            "item",
            pl.lit("").alias("target"),
            (pl.lit("gold:") + pl.col("gold_rater")).alias("rater"),
            pl.col("gold").cast(pl.String).alias("label"),
            pl.col("gold_value").cast(pl.Float64).alias("value"),
        )
        names = gold["rater"].unique(maintain_order=True)
        source.add(gold, {key: Rater(key.removeprefix("gold:"), GOLD) for key in names})
    return source


def folder_source(folder: Path, store: Store | None) -> Source:
    """The votes and gold of a benchmark folder, and every run of choices in the store on the same items and people."""
    benchmark = FolderBenchmark(folder, kind=None)
    items = {item.id: item for item in benchmark.items()}
    source = Source(
        benchmark.info.name,
        {item.id: item.person for item in items.values()},
        frozenset(item.id for item in items.values() if item.kind == "choice"),
        prompts={item.id: item.prompt for item in items.values()},
    )
    known = _rater_records(folder / "raters.jsonl")
    votes = list(_votes(folder / "votes.jsonl", items))
    source.unanswered += sum(not _answered(vote) for vote in votes)
    source.add(
        _frame(votes),
        {
            vote.rater: Rater(known[vote.rater].name, known[vote.rater].kind)
            if vote.rater in known
            else Rater(vote.rater, HUMAN)
            for vote in votes
        },
    )
    gold = [row.model_copy(update={"rater": f"gold:{row.rater}"}) for row in benchmark.gold()]
    source.add(_frame(gold), {row.rater: Rater(row.rater.removeprefix("gold:"), GOLD) for row in gold})
    if store is not None:
        people = {person.id: person.version for person in benchmark.people()}
        for run in store.runs():
            # Of runs of other kinds, whose asks are about lists or several answers, the reports of their own speak.
            choices = run.config.get("kind", "choice") == "choice" and "raters" in run.config
            if choices and run.config.get("benchmark") == benchmark.info.name:
                same = same_items(store, run.dataset, items, people)
                add_run(source, store, run, store.dataset_info(run.dataset), same)
    if all(rater.kind == GOLD for rater in source.raters.values()):
        raise UserError(
            f"{folder} has no votes (votes.jsonl) and the store no run on it, so there is nobody to compare; "
            f"try: personafit run {folder} --rater rule:overlap."
        )
    return source


def add_run(
    source: Source,
    store: Store,
    run: RunRecord,
    info: Mapping[str, Any],
    items: Collection[str],
    answers: pl.DataFrame | None = None,
) -> None:
    """The answers of a run's raters about these items; a rater whom nobody asked about any stays out."""
    if not items:
        return
    view = headline_view(run.config["views"], info)
    shown = "" if view == info["view"] else f" ({view})"
    answers = run_answers(store, run.id) if answers is None else answers
    votes = pl.DataFrame(schema=VOTE)
    if not answers.is_empty():
        wanted = (pl.col("view") == view) & (pl.col("target") == "") & pl.col("item").is_in(list(items))
        # Asks that made what is told about people (a filter's, a profiler's) are nobody's answers.
        wanted &= pl.col("rater").is_in([rater["fingerprint"] for rater in run.config["raters"]])
        answers = answers.filter(wanted & ~pl.col("job").is_in(list(source.jobs)))
        answered = pl.col("status") == Status.OK.value
        source.unanswered += len(answers.filter(~answered))
        source.jobs.update(answers["job"])
        votes = (
            answers.filter(answered)
            .with_columns(pl.col("rater") + pl.lit(f"|{view}"))
            .select(pl.col(name).cast(dtype) for name, dtype in VOTE.items())
        )
    raters = {
        f"{rater['fingerprint']}|{view}": Rater(
            rater["name"] + shown,
            rater["kind"],
            rater["control"],
            met=run.met_people.get(rater["fingerprint"]),
        )
        for rater in run.config["raters"]
    }
    source.add(votes, raters)


def same_items(store: Store, dataset: str, items: Mapping[str, Item], people: Mapping[str, str]) -> set[str]:
    """Items that have the same texts and the same version of the person in the store and in the folder."""
    stored = {person.id: person.version for person in store.people(dataset).values()}
    return {
        item.id
        for item in store.items(dataset)
        if item.id in items
        and item.hash == items[item.id].hash
        and stored.get(item.person) == people.get(item.person)
    }


def _rater_records(path: Path) -> dict[str, RaterRecord]:
    if not path.is_file():
        return {}
    records = [validated(RaterRecord, row, path, number) for number, row in read_lines(path)]
    # A vote may name its rater either way; a fingerprint is the surer one.
    return {record.name: record for record in records} | {record.fingerprint: record for record in records}


def _votes(path: Path, items: Mapping[str, Item]) -> Iterator[Judgment]:
    if not path.is_file():
        return
    last: dict[tuple[str, ...], int] = {}
    rows = []
    for number, row in read_lines(path):
        vote = validated(Judgment, row, path, number)
        if vote.item not in items:
            raise UserError(f"{located(path, number, 'item')}: '{vote.item}' is not in items.jsonl.")
        key = (vote.ask, vote.item, vote.question, vote.target, vote.rater)
        last[key] = max(vote.parse, last.get(key, 0))
        rows.append((key, vote))
    # A reply that was read again counts as it was read last.
    yield from (vote for key, vote in rows if vote.parse == last[key])


def _answered(vote: Judgment) -> bool:
    return vote.status is Status.OK and (vote.label is not None or vote.value is not None)


def _frame(votes: list[Judgment]) -> pl.DataFrame:
    return pl.DataFrame(
        [tuple(getattr(vote, name) for name in VOTE) for vote in votes if _answered(vote)],
        schema=VOTE,
        orient="row",
    )
