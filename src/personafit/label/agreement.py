"""Agreement between the raters of a study, computed with the same code as `personafit agree`.

Live figures cover the study's own raters; `study_source` adds the judgments of models on the same items.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from sqlalchemy import select

from personafit.label.forms.form import LETTERS
from personafit.label.records import Arrangement, Page, Role
from personafit.label.studies import Studies
from personafit.label.votes import adjudicated_votes, study_votes
from personafit.reports.agree_ratings import (
    GOLD,
    HUMAN,
    MEDIAN,
    VOTE,
    Ratings,
    Source,
    VotingRater,
    add_run,
    judged_runs,
    rating_tables,
    same_items,
)
from personafit.statistics import Estimate
from personafit.statistics.agreement_intervals import TableFigure, table_agreement
from personafit.statistics.raters import panel_ceiling
from personafit.store import Item, RunRecord, Status, Store, item_rows, tables

ANSWERED = pl.col("label").is_not_null() | pl.col("value").is_not_null()


@dataclass(frozen=True)
class QuestionAgreement:
    """Inter-rater agreement on one question."""

    question: str
    raters: int
    units: int
    """Number of items (and targets) judged by two or more raters."""
    figures: dict[str, Estimate]
    """Estimates by name: percent, fleiss, nominal and, for numeric answers, ordinal."""
    with_others: dict[str, Estimate]
    """Agreement of each rater with the majority of the others."""


def votes_source(studies: Studies, name: str, votes: pl.DataFrame) -> Source:
    """Return the votes as the `Source` from which all agreement is computed."""
    pages = studies.pages(name, (Role.ITEM,))
    people = {item: page.person for page in pages for item in page.items}
    people |= dict(votes.select("item", "person").iter_rows())  # dialogues made by raters are on no page
    source = Source(name, people, _choices(studies, name, pages), prompts=_prompts(studies, name))
    kinds = dict(votes.select("rater", "kind").unique(maintain_order=True).iter_rows())
    source.unanswered = votes.filter(pl.col("status") == "skipped").height
    raters = {code: VotingRater(f"{kind}:{code}", kind) for code, kind in kinds.items()}
    source.add(_columns(votes.filter(ANSWERED)), raters)
    return source


def _columns(votes: pl.DataFrame) -> pl.DataFrame:
    """Select and cast the columns that agreement is computed from."""
    return votes.select(pl.col(column).cast(dtype) for column, dtype in VOTE.items())


def study_source(studies: Studies, name: str) -> Source:
    """Return the non-excluded raters of a study with gold, decisions, and every model that judged the same items."""
    study, store = studies.study(name), studies.store
    votes = study_votes(studies, name)
    source = votes_source(studies, name, votes)
    questions = set(votes["question"])
    same = _SameItems(store, study.dataset, source.people)
    for run in judged_runs(store):
        if not (items := same.of(run.dataset)):
            continue
        if run.config.get("kind", "choice") == "choice":
            add_run(source, store, run, store.dataset_info(run.dataset), items)
        else:
            _add_judged(source, store, run, items)
    _add_gold(source, study.dataset, store)
    _add_gold_rows(source, adjudicated_votes(studies, name))
    source.parts = [part.filter(pl.col("question").is_in(questions)) for part in source.parts]
    return source


def add_studies(source: Source, store: Store, dataset: str) -> None:
    """Add the standing votes of every study of the store on the items of a source.

    Items match by id if they are in the data set or were made in a run, where the id depends on the content; items of other data sets match
    if their texts and the person are the same.
    """
    studies = Studies(store)
    names = studies.names()
    if not names:
        return
    same = _SameItems(store, dataset, source.people)
    made = source.people.keys() - same.ids
    for name in names:
        other = studies.study(name).dataset
        known = same.of(other) if store.has_dataset(other) else ()
        answered = study_votes(studies, name).filter(pl.col("item").is_in([*known, *made]) & ANSWERED)
        kinds = dict(answered.select("rater", "kind").unique(maintain_order=True).iter_rows())
        raters = {f"{name}:{code}": VotingRater(f"{kind}:{code}", kind) for code, kind in kinds.items()}
        keyed = (pl.lit(f"{name}:") + pl.col("rater")).alias("rater")
        source.add(_columns(answered.with_columns(keyed)), raters)
        if HUMAN in kinds.values():  # individual votes replace the median computed from them
            asked = set(answered.filter(pl.col("kind") == HUMAN)["question"])
            median = (pl.col("rater") == MEDIAN) & pl.col("question").is_in(asked)
            source.parts = [part.filter(~median) for part in source.parts]


class _SameItems:
    """Finds the items of other data sets that equal a study's items in their texts and version of the person."""

    def __init__(self, store: Store, dataset: str, asked: Mapping[str, str]) -> None:
        self._store, self._dataset, self._asked = store, dataset, asked
        self._found: dict[str, Collection[str]] = {dataset: asked}

    def of(self, dataset: str) -> Collection[str]:
        if dataset not in self._found:
            self._found[dataset] = same_items(self._store, dataset, self._items, self._people)
        return self._found[dataset]

    @property
    def ids(self) -> Collection[str]:
        """Ids of the study's items in its own data set."""
        return self._items.keys()

    @cached_property
    def _items(self) -> dict[str, Item]:
        return {item.id: item for item in self._store.items(self._dataset) if item.id in self._asked}

    @cached_property
    def _people(self) -> dict[str, str]:
        return {person.id: person.version for person in self._store.people(self._dataset).values()}


def _add_judged(source: Source, store: Store, run: RunRecord, items: Collection[str]) -> None:
    """Add the judgments of a run whose asks are about lists, dialogues or several answers, by item."""
    ask, judgment = tables.asks.c, tables.judgments.c
    joined = tables.run_jobs.join(tables.asks, ask.job == tables.run_jobs.c.job)
    query = (
        select(
            judgment.question, judgment.item, judgment.target, judgment.label, judgment.value,
            ask.rater, ask.context, ask.job, ask.generation, ask.at, judgment.parse,
        )
        .select_from(joined.join(tables.judgments, judgment.ask == ask.id))
        .where(tables.run_jobs.c.run == run.id, judgment.status == Status.OK.value)
    )  # fmt: skip
    found = store.frame(query)
    if found.is_empty():
        return
    found = found.filter(pl.col("item").is_in(list(items)) & ~pl.col("job").is_in(list(source.jobs)))
    found = _under_one_context(found, source, run.contexts)
    source.jobs.update(found["job"])
    last = found.sort("generation", "at", "parse").unique(
        ["job", "item", "target"], keep="last", maintain_order=True
    )
    keyed = last.with_columns(pl.col("rater") + pl.lit("|") + pl.col("context"))
    names = {rater["fingerprint"]: rater for rater in run.config["raters"]}
    raters = {}
    for key, fingerprint, context in zip(keyed["rater"], last["rater"], last["context"], strict=True):
        known = names.get(fingerprint, {"name": fingerprint[:12], "kind": "llm", "control": False})
        met = run.met_people.get(fingerprint)
        raters[key] = VotingRater(
            f"{known['name']} ({context})", known["kind"], known.get("control", False), met=met
        )
    source.add(_columns(keyed), raters)


def _under_one_context(found: pl.DataFrame, source: Source, contexts: Sequence[str]) -> pl.DataFrame:
    """Keep each rater's judgments under one context, since a judge asked under several is still one rater.

    This is the context under which the rater was added from an earlier run, or else the first context of the run that it was asked under.
    """
    chosen = dict(key.rsplit("|", 1) for key in source.raters if "|" in key)
    asked = dict(found.group_by("rater").agg("context").iter_rows())
    for rater, there in asked.items():
        chosen.setdefault(rater, next((context for context in contexts if context in there), there[0]))
    own = pl.col("rater").replace_strict(chosen, return_dtype=pl.String)
    return found.filter(pl.col("context") == own)


def _add_gold(source: Source, dataset: str, store: Store) -> None:
    if not store.has_dataset(dataset):
        return  # raters' own chats, or what `extract` wrote
    if store.dataset_info(dataset)["metric"] == "win_rate":
        return  # there the label only marks which answer was tested, not which is right
    judgment = tables.judgments.c
    columns = [judgment[name] for name in VOTE]
    _add_gold_rows(source, store.frame(select(*columns).where(judgment.ask.like(f"{dataset}#%"))))


def _add_gold_rows(source: Source, gold: pl.DataFrame) -> None:
    if not gold.is_empty():
        keyed = _columns(gold.with_columns(pl.lit("gold:") + pl.col("rater")))
        names = keyed["rater"].unique()
        source.add(keyed, {key: VotingRater(key.removeprefix("gold:"), GOLD) for key in names})


def study_agreement(studies: Studies, name: str, votes: pl.DataFrame) -> list[QuestionAgreement]:
    """Estimate agreement on every question with labels, with intervals clustered by person and prompt."""
    return [_figures(table) for table in rating_tables(votes_source(studies, name, votes))]


def _prompts(studies: Studies, name: str) -> dict[str, str]:
    dataset = studies.study(name).dataset
    if not studies.store.has_dataset(dataset):
        return {}  # raters' own chats, or what `extract` wrote
    return dict(item_rows(studies.store, dataset).select("item", "prompt").iter_rows())


def _choices(studies: Studies, name: str, pages: Sequence[Page]) -> frozenset[str]:
    """Return the items whose labels are indices of answers rather than numbers: those answered by letter or in writing."""
    form = studies.form(name)
    return frozenset(
        field.item
        for page in pages
        if page.sides
        for field in form.fields(page, Arrangement.stored(page))
        if field.kind == "written"
        or (field.options and {option.value for option in field.options} <= set(LETTERS))
    )


def _figures(table: Ratings) -> QuestionAgreement:
    names = [rater.name.partition(":")[2] for rater in table.raters]
    people, prompts = np.array(table.people), np.array(table.prompts)
    wanted: list[TableFigure] = ["percent", "fleiss", "nominal"]
    wanted += ["ordinal"] if table.ordinal else []
    figures: dict[str, Estimate] = {
        figure: table_agreement(
            table.values if figure == "ordinal" else table.codes, people, prompts, figure, table.halves
        )
        for figure in wanted
    }
    others = panel_ceiling(table.codes, list(range(len(names))), people, prompts, table.halves).raters
    units = int(((table.codes >= 0).sum(1) >= 2).sum())
    return QuestionAgreement(
        table.question, len(names), units, figures, dict(zip(names, others, strict=True))
    )
