"""Read the answers of all raters: of a run of any kind, or of the voters in a benchmark folder, and gold.

A judge is one rater, under one context: that of the benchmark where it was asked under it, else the first. A folder brings the votes of
its `votes.jsonl` and the runs on the same items and people that the store holds, so that people and judges meet in one place.

`rating_tables` turns the answers into tables of units × raters, one per question. There a rater's answers over orders and samples become
one rating: summed margins decide between two answers, numbers are averaged, otherwise the most frequent label counts. Where nothing
decides between two answers, as when a judge without margins names one answer in each order, the rating is a tie, which half agrees with
either answer.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import polars as pl
from sqlalchemy import select

from personafit._errors import UserError
from personafit.benchmarks import FolderBenchmark
from personafit.benchmarks.folder_records import FolderRecords
from personafit.benchmarks.lines import read_lines, validated
from personafit.items.relevance import NO, YES
from personafit.kinds import run_lines
from personafit.kinds.choice import choice_items, headline_context
from personafit.kinds.lines import Reference, RunLines, own_context
from personafit.statistics.agreement import Floats, Ints, ranked
from personafit.statistics.clusters import dense_codes
from personafit.store import (
    TIE,
    Item,
    Judgment,
    RaterRecord,
    RunRecord,
    Status,
    Store,
    gold_answers,
    run_answers,
)
from personafit.store import tables as t

GOLD, HUMAN, SIMULATED = "gold", "human", "simulated"
MEDIAN = f"gold:{HUMAN}"
"""The pooled answer of people, used where it is known without their single votes."""
VOTE = {
    "question": pl.String,
    "item": pl.String,
    "target": pl.String,
    "rater": pl.String,
    "label": pl.String,
    "value": pl.Float64,
}


@dataclass(frozen=True)
class VotingRater:
    """The rater of one column of ratings."""

    name: str
    kind: str
    control: bool = False
    met: str | None = None
    """The sentence that the rater was fitted on these people, if it was: its agreement here is no evidence."""


@dataclass
class Source:
    """The answers of all raters, one row per answer, before they are combined over orders and samples."""

    name: str
    people: dict[str, str]
    """Item → person."""
    choices: frozenset[str]
    """Items that are a choice between products; their labels are positions, not numbers."""
    raters: dict[str, VotingRater] = field(default_factory=dict)
    parts: list[pl.DataFrame] = field(default_factory=list)
    jobs: set[str] = field(default_factory=set)
    """Jobs already added: a rater may occur in several runs, and its answers count once."""
    unanswered: int = 0
    prompts: dict[str, str] = field(default_factory=dict)
    """Item → prompt; an item without one counts as a prompt of its own."""
    scales: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Question → ends of its rating scale; mean marks are rounded to the nearest mark where labels are compared."""
    contexts: dict[str, str | None] = field(default_factory=dict)
    """Judge → the context under which its answers count."""

    def counts(self, judge: str, context: str | None) -> bool:
        """Return whether the judge's answers under this context count: a judge asked under several contexts is still one rater."""
        return self.contexts.setdefault(judge, context) == context

    def add(self, votes: pl.DataFrame, raters: Mapping[str, VotingRater]) -> None:
        """Add answers; those about unknown items are ignored."""
        for key, rater in raters.items():
            self.raters.setdefault(key, rater)
        self.parts.append(votes.filter(pl.col("item").is_in(list(self.people))))

    def votes(self) -> pl.DataFrame:
        return pl.concat([pl.DataFrame(schema=VOTE), *self.parts])

    def silent(self) -> list[str]:
        """Return the names of raters that were asked and gave no answer."""
        heard = set(self.votes()["rater"].unique())
        return [rater.name for key, rater in self.raters.items() if key not in heard]


def run_source(store: Store, run: RunRecord, answers: pl.DataFrame | None = None) -> Source:
    """Read all raters of a run of any kind, gold if the benchmark has any, and the human votes that came with its data.

    Answers of a run of choices are read unless they are here already.
    """
    items = choice_items(store, run)
    if items is None:
        return lines_source(store, run_lines(store, run))
    info = store.dataset_info(run.dataset)
    people = dict(zip(items["item"], items["person"], strict=True))
    prompts = dict(zip(items["item"], items["prompt"], strict=True))
    source = Source(run.name, people, frozenset(people), prompts=prompts)
    add_run(source, store, run, info, source.people, answers)
    # In a run of answers "gold" only marks which answer was tested, not which one is right.
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
        source.add(gold, {key: VotingRater(key.removeprefix("gold:"), GOLD) for key in names})
    return source


def lines_source(store: Store, opened: RunLines) -> Source:
    """Read the answers to each question that people can answer too: one per rater and unit, and people's."""
    run = opened.run
    if not opened.references:
        raise UserError(
            f"{run.name} is a run of {opened.kind} items, {opened.why_no_people}: there are no raters who could agree; "
            f"`personafit compare` sets such runs side by side."
        )
    frames = [line.frame.select("item", "person", "prompt") for line in opened.lines]
    units = pl.concat(frames, how="vertical_relaxed")
    units = units.drop_nulls("item").unique("item", keep="last", maintain_order=True)
    source = Source(
        run.name,
        dict(zip(units["item"], units["person"], strict=True)),
        frozenset(),
        prompts=dict(zip(units["item"], units["prompt"], strict=True)),
        scales={one.question: one.bounds for one in opened.references},
    )
    add_lines(source, opened, source.people)
    for reference in opened.references:
        _add_people(source, store, opened, reference)
    return source


def add_lines(source: Source, opened: RunLines, items: Collection[str]) -> None:
    """Add the answers of a run's raters about these items, under the context that counts."""
    for reference in opened.references:
        lines = [line for line in opened.lines if reference.answer in line.frame.columns and line.rater]
        headline = opened.headline_context(lines)
        for line in lines:
            judge = f"{reference.question}|{line.fingerprint or line.rater}"
            if line.context != headline or not source.counts(judge, line.context):
                continue
            frame = line.frame.filter(pl.col("item").is_in(list(items)))
            if reference is opened.references[0]:
                source.unanswered += max(0, int(frame["asked"].sum()) - int(frame["answered"].sum()))
            key, met = f"{line.fingerprint}|{line.context}", opened.run.met_people.get(str(line.fingerprint))
            kind = opened.rater_kinds.get(
                str(line.fingerprint), "llm"
            )  # unknown raters: votes of models that came with the data
            rater = VotingRater(str(line.rater), kind, not line.asked_for, met=met)
            source.add(_numbers(frame, reference, reference.answer, key), {key: rater})


def _add_people(source: Source, store: Store, opened: RunLines, reference: Reference) -> None:
    """Add each person's votes if they came with the data, otherwise people's pooled answer if it is known."""
    votes = data_votes(store, opened.run.dataset, reference.question)
    single = votes.filter(pl.col("voter").is_in([HUMAN, SIMULATED]))
    if not single.is_empty():
        kinds = dict(single.select("rater", "voter").unique(maintain_order=True).iter_rows())
        source.add(
            single.select(pl.col(name).cast(dtype) for name, dtype in VOTE.items()),
            {key: VotingRater(key, kind) for key, kind in kinds.items()},
        )
    if reference.who is None or not single.is_empty():
        return
    key = f"gold:{reference.who}"
    gold = VotingRater(reference.who if reference.who != HUMAN else "median of people", GOLD)
    for line in opened.lines:
        if reference.known(line):
            said = _numbers(line.frame, reference, reference.people, key)
            source.add(said.unique(maintain_order=True), {key: gold})


def data_votes(store: Store, dataset: str, question: str) -> pl.DataFrame:
    """Return the single votes that came with a data set: the columns of `VOTE`, and `voter`, the kind of rater."""
    judgment = t.judgments.c
    columns = [judgment[name] for name in VOTE]
    query = select(*columns, judgment.extra).where(
        judgment.ask.like(f"{dataset}#%"), judgment.question == question, judgment.extra.is_not(None)
    )
    rows = [(*row[:-1], (orjson.loads(row[-1]) or {}).get("voter")) for row in store.frame(query).iter_rows()]
    found = pl.DataFrame(rows, schema={**VOTE, "voter": pl.String}, orient="row")
    return found.filter(pl.col("voter").is_not_null())


def _numbers(frame: pl.DataFrame, reference: Reference, column: str, rater: str) -> pl.DataFrame:
    """Return a line's column as votes; yes and no are labels, as in judgments."""
    target = pl.col("target") if "target" in frame.columns else pl.lit("")
    said = pl.col(column)
    label = pl.when(said).then(pl.lit(YES)).otherwise(pl.lit(NO))
    boolean = frame[column].dtype == pl.Boolean
    return frame.filter(said.is_not_null() & pl.col("item").is_not_null()).select(
        pl.lit(reference.question).alias("question"),
        "item",
        target.alias("target"),
        pl.lit(rater).alias("rater"),
        (label if boolean else pl.lit(None, pl.String)).alias("label"),
        said.cast(pl.Float64).alias("value"),
    )


def folder_source(folder: Path, store: Store | None) -> Source:
    """Read the votes and gold of a benchmark folder, and every run in the store on the same items and people."""
    benchmark = FolderBenchmark(folder, kind=None)
    items = {item.id: item for item in benchmark.items()}
    source = Source(
        benchmark.info.name,
        {item.id: item.person for item in items.values()},
        frozenset(item.id for item in items.values() if item.kind == "choice"),
        prompts={item.id: item.prompt for item in items.values()},
    )
    known = _rater_records(folder / "raters.jsonl")
    votes = _votes(folder)
    source.unanswered += sum(not _answered(vote) for vote in votes)
    source.add(
        _frame(votes),
        {
            vote.rater: VotingRater(known[vote.rater].name, known[vote.rater].kind)
            if vote.rater in known
            else VotingRater(vote.rater, HUMAN)
            for vote in votes
        },
    )
    gold = [row.model_copy(update={"rater": f"gold:{row.rater}"}) for row in benchmark.gold()]
    source.add(_frame(gold), {row.rater: VotingRater(row.rater.removeprefix("gold:"), GOLD) for row in gold})
    if store is not None:
        people = {person.id: person.version for person in benchmark.people()}
        for run in judged_runs(store):
            if run.config.get("benchmark") != benchmark.info.name:
                continue
            same = same_items(store, run.dataset, items, people)
            if choice_items(store, run) is not None:
                add_run(source, store, run, store.dataset_info(run.dataset), same)
            elif same:
                opened = run_lines(store, run)
                source.scales |= {one.question: one.bounds for one in opened.references}
                add_lines(source, opened, same)
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
    """Add the answers of a run's raters about these items; raters not asked about any are left out."""
    if not items:
        return
    context = headline_context(run.contexts, info)
    shown = "" if context == own_context(info) else f" ({context})"
    answers = run_answers(store, run.id) if answers is None else answers
    wanted = (pl.col("context") == context) & (pl.col("target") == "") & pl.col("item").is_in(list(items))
    # Asks of a filter or profiler produce contexts: they are not answers of raters.
    judges = [rater for rater in run.config["raters"] if source.counts(rater["fingerprint"], context)]
    wanted &= pl.col("rater").is_in([rater["fingerprint"] for rater in judges])
    answers = answers.filter(wanted & ~pl.col("job").is_in(list(source.jobs)))
    answered = pl.col("status") == Status.OK.value
    source.unanswered += len(answers.filter(~answered))
    source.jobs.update(answers["job"].to_list())
    votes = (
        answers.filter(answered)
        .with_columns(pl.col("rater") + pl.lit(f"|{context}"))
        .select(pl.col(name).cast(dtype) for name, dtype in VOTE.items())
    )
    raters = {
        f"{rater['fingerprint']}|{context}": VotingRater(
            rater["name"] + shown,
            rater["kind"],
            rater["control"],
            met=run.met_people.get(rater["fingerprint"]),
        )
        for rater in judges
    }
    source.add(votes, raters)


def judged_runs(store: Store) -> list[RunRecord]:
    """Return the runs with raters, those under their benchmark's own context first."""

    def elsewhere(run: RunRecord) -> bool:
        own = own_context(store.dataset_info(run.dataset)) if store.has_dataset(run.dataset) else None
        return own not in run.contexts

    return sorted((run for run in store.runs() if "raters" in run.config), key=elsewhere)


def same_items(store: Store, dataset: str, items: Mapping[str, Item], people: Mapping[str, str]) -> set[str]:
    """Return the ids of items with the same texts and the same version of the person in the store and the folder."""
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
    # A vote may name its rater by name or fingerprint; the fingerprint takes precedence.
    return {record.name: record for record in records} | {record.fingerprint: record for record in records}


def _votes(folder: Path) -> list[Judgment]:
    """Return the votes of a folder; only the latest parse of each reply counts."""
    records = FolderRecords(folder)
    list(records.items())  # checks the items that the votes refer to
    votes = list(records.votes())
    last: dict[tuple[str, ...], int] = {}
    for vote in votes:
        last[_place(vote)] = max(vote.parse, last.get(_place(vote), 0))
    return [vote for vote in votes if vote.parse == last[_place(vote)]]


def _place(vote: Judgment) -> tuple[str, ...]:
    return vote.ask, vote.item, vote.question, vote.target, vote.rater


def _answered(vote: Judgment) -> bool:
    return vote.status is Status.OK and (vote.label is not None or vote.value is not None)


def _frame(votes: list[Judgment]) -> pl.DataFrame:
    rows = [tuple(getattr(vote, name) for name in VOTE) for vote in votes if _answered(vote)]
    return pl.DataFrame(rows, schema=VOTE, orient="row")


_WIDEST_SCALE = 64
_PAIR_LABELS = {"0", "1", TIE}


@dataclass(frozen=True)
class Ratings:
    """Units × raters: integer codes (-1 if missing), and numbers (nan if missing) where answers have any."""

    question: str
    raters: tuple[VotingRater, ...]
    people: Ints
    """Index of the person each unit is about."""
    prompts: Ints
    codes: Ints
    values: Floats
    ordinal: bool
    halves: bool = False
    """Whether labels are two answers and a tie, coded 0, 2 and 1; a tie half agrees with either answer."""
    flips: Mapping[str, int] = field(default_factory=dict)
    """Rater → number of units on which its two orders named different answers and no margin decided."""

    def columns(self, *kinds: str) -> list[int]:
        return [place for place, rater in enumerate(self.raters) if rater.kind in kinds]

    @property
    def judges(self) -> list[int]:
        """The columns of all raters except gold."""
        return [place for place, rater in enumerate(self.raters) if rater.kind != GOLD]


def rating_tables(source: Source) -> list[Ratings]:
    """Return one table of ratings per question."""
    names = _distinct_names(source.raters)
    return [
        _table(source, names, str(question[0]), part)
        for question, part in source.votes().group_by("question", maintain_order=True)
    ]


def _distinct_names(raters: Mapping[str, VotingRater]) -> dict[str, VotingRater]:
    """Append the start of their key to raters whose names are not unique."""
    names = [rater.name for rater in raters.values()]
    return {
        key: rater if names.count(rater.name) == 1 else replace(rater, name=f"{rater.name} [{key[:12]}]")
        for key, rater in raters.items()
    }


def _table(source: Source, names: Mapping[str, VotingRater], question: str, votes: pl.DataFrame) -> Ratings:
    choice = set(votes["item"].unique()) <= source.choices
    number = pl.coalesce(
        pl.col("label").cast(pl.Float64, strict=False), pl.when(pl.col("label").is_null()).then("value")
    )
    votes = votes.with_columns(number.alias("number"))
    numeric = not choice and votes["number"].null_count() == 0 and bool(votes["number"].is_finite().all())
    made_one = votes.group_by("item", "target", "rater", maintain_order=True).agg(
        pl.col("number").mean(),
        pl.col("value").mean(),
        (pl.col("value").is_not_null().all() & (pl.len() > 1)).alias("weighed"),
        pl.col("label").drop_nulls().mode().sort().alias("most"),
        (pl.col("label").drop_nulls().n_unique() > 1).alias("differ"),
    )
    pairs = choice and set(votes["label"].drop_nulls().unique()) <= _PAIR_LABELS
    most, margin = pl.col("most"), pl.col("value")
    undecided = pl.lit(TIE if choice else None, pl.String)
    plural = pl.when(most.list.len() == 1).then(most.list.first()).otherwise(undecided)
    sign = pl.when(margin > 0).then(pl.lit("0")).when(margin == 0).then(pl.lit(TIE)).otherwise(pl.lit("1"))
    label = pl.when(pl.lit(pairs) & pl.col("weighed")).then(sign).otherwise(plural)
    made_one = made_one.with_columns(label.alias("label"))
    present = set(made_one["rater"].unique())
    keys = [key for key in names if key in present]
    units = made_one.select("item", "target").unique(maintain_order=True).with_row_index("unit")
    rows = made_one.join(units, on=["item", "target"], how="left")
    unit = rows["unit"].to_numpy()
    places = {key: place for place, key in enumerate(keys)}
    rater = rows["rater"].replace_strict(places, return_dtype=pl.Int64).to_numpy()
    values = np.full((len(units), len(keys)), np.nan)
    values[unit, rater] = rows["number" if numeric else "value"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    codes = np.full(values.shape, -1, dtype=np.int64)
    halves = False
    if numeric:
        low = source.scales.get(question, (None,))[0]
        codes = _number_codes(values) if low is None else _nearest_marks(values, low)
    else:
        halves = pairs and TIE in rows["label"]
        known = ["0", TIE, "1"] if halves else sorted(rows["label"].drop_nulls().unique())
        labels = {label: code for code, label in enumerate(known)}
        codes[unit, rater] = rows["label"].replace_strict(labels, default=-1, return_dtype=pl.Int64)
    differing = rows.filter(pl.col("differ") & pl.lit(pairs))
    flips = differing.filter(pl.col("label") == TIE)["rater"].value_counts()
    about = units["item"].to_list()
    return Ratings(
        question=question,
        raters=tuple(names[key] for key in keys),
        people=dense_codes([source.people[item] for item in about])[0],
        prompts=dense_codes([source.prompts.get(item, item) for item in about])[0],
        codes=codes,
        values=values,
        ordinal=numeric and len(np.unique(codes[codes >= 0])) > 2,
        halves=halves,
        flips={names[key].name: count for key, count in flips.iter_rows()},
    )


def _nearest_marks(values: Floats, low: float) -> Ints:
    """Round mean marks to the nearest mark, coded from 0 for the lowest."""
    present = np.isfinite(values)
    return np.where(present, np.rint(np.where(present, values, low)) - low, -1).astype(np.int64)


def _number_codes(values: Floats) -> Ints:
    """Code numbers: whole numbers keep their distances, which weighted kappa uses; others become ranks."""
    present = np.isfinite(values)
    known = values[present]
    if not len(known) or (known % 1).any() or known.max() - known.min() >= _WIDEST_SCALE:
        return ranked(values)
    return np.where(present, np.where(present, values, 0) - known.min(), -1).astype(np.int64)
