"""Relevance: which of the things known of a person matter for what they ask. An ask is about one attribute, a list, or part of a list."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, ClassVar

import orjson
from sqlalchemy import select

from personafit._hashing import hash_text
from personafit.benchmarks.benchmark import Benchmark, BenchmarkInfo, Controls
from personafit.benchmarks.recentering.labels import CONTROLS
from personafit.contexts import Context
from personafit.items.reading import Part, QuestionSet, Shown
from personafit.items.relevance import (
    ALONE,
    ATTRIBUTES,
    CONTEXTS,
    EMPTY,
    GRADED,
    LIST,
    MOST_LISTED,
    PAIR,
    RELEVANCE,
    VIEWS,
    list_asks,
    list_name,
    with_parts,
)
from personafit.kinds.kind import Kind, RunPlan, ShownAgain, rows_of_users, rows_where
from personafit.kinds.lines import Metric, RunLines
from personafit.raters import Rater
from personafit.store import Item, RunRecord, Store
from personafit.store import tables as t

CHUNK = 500  # values in one IN (...): below every database's limit on bound parameters


class RelevanceKind(Kind):
    """Which attributes matter."""

    name = RELEVANCE
    asks: ClassVar[QuestionSet] = ATTRIBUTES
    own_contexts = VIEWS
    controls: ClassVar[Controls | None] = CONTROLS

    bars: ClassVar[tuple[str, ...]] = ("f1", "precision", "recall", "accuracy", "kappa", "average_precision")

    def default_contexts(self, info: BenchmarkInfo) -> list[str]:
        """The prompt and the attribute, and the attribute alone."""
        return ["none", ALONE]

    def select(self, plan: RunPlan) -> frozenset[str] | None:
        """The items that people, slices and limit leave; a limit takes whole lists, one of each prompt before a second of any."""
        config = plan.config
        if config.limit is None and config.users is None and not config.where:
            return None
        rows = rows_of_users(rows_where(self.rows(plan), config), config)
        if config.limit is None:
            return frozenset(rows["item"])
        wanted = set(rows["item"])
        lists: dict[tuple[str, str], list[Item]] = {}
        for item in plan.store.items(plan.dataset):
            if item.id in wanted:
                lists.setdefault((item.person, item.group), []).append(item)
        taken: list[Item] = []
        for members in _spread(list(lists.values()), config.seed):
            if not taken or len(taken) + len(members) <= config.limit:
                taken += members
        return frozenset(item.id for item in taken)

    def shown(self, plan: RunPlan, rater: Rater) -> Iterator[Shown]:
        """Everything the rater is to be shown, by person: whole lists, parts of long ones, or an attribute at a time."""
        if "reasons" not in plan.state:
            every = plan.store.items(plan.dataset)
            plan.state["reasons"] = attribute_reasons(plan.store, [item.products[0] for item in every])
        for _, items in groupby(plan.items(), key=lambda item: item.person):
            lists = _lists(plan, rater, list(items))
            for name in contexts_for(plan, rater):
                for shown in _cut(lists, rater, name, plan.config.seed):
                    for sample in range(plan.config.samples):
                        yield replace(shown, sample=sample)

    def count(self, plan: RunPlan, rater: Rater) -> int:
        """How many asks the rater gets."""
        return sum(1 for _ in self.shown(plan, rater))

    def facts(self, plan: RunPlan) -> dict[str, Any]:
        """The kind and the question; how it is asked is the rater's."""
        return {"kind": self.name, "question": RELEVANCE}

    def rater_facts(self, plan: RunPlan, rater: Rater) -> dict[str, Any]:
        """Whether it gets lists, and what it is told."""
        return {"by_list": rater.most_parts != 1, "views": contexts_for(plan, rater)}

    def notes(self, plan: RunPlan, benchmark: Benchmark) -> Iterator[str]:
        """Lists that were cut, and raters that met the prompts in training."""
        for rater in plan.raters:
            if rater.most_parts in (None, 1):
                continue
            # It picks the few of each part, which are more than the few of the whole.
            cut = {shown.about for shown in self.shown(plan, rater) if shown.place}
            if cut:
                yield (
                    f"{rater.record.name} got {len(cut)} lists in parts, because they have more than {rater.most_parts} "
                    "attributes; it picked from each part by itself."
                )
        yield from super().notes(plan, benchmark)

    def shown_again(self, store: Store, run: RunRecord) -> ShownAgain:
        """The list as it was shown, in its drawn order; of one attribute, whatever items it stands for."""
        ways = {question.fingerprint: question for question in (PAIR, LIST, GRADED)}
        asked = {
            row.fingerprint: ways.get(orjson.loads(row.settings).get("question", ""))
            for row in store.rows_among(
                select(t.raters.c.fingerprint, t.raters.c.settings),
                t.raters.c.fingerprint,
                [one["fingerprint"] for one in run.config["raters"]],
            )
        }
        lists: dict[str, dict[str, tuple[Part, ...]]] = {}

        def again(rows: Sequence[Any]) -> Shown | None:
            ask, question = rows[0], asked.get(rows[0].rater)
            if question is None:
                return None
            shown = Shown(question, ask.item, "", "", "", (), context=CONTEXTS[ask.view])
            if question is not LIST:
                items = dict.fromkeys(row.judged for row in rows if row.judged is not None)
                return replace(shown, parts=tuple(map(Part, items or (ask.item,))))
            if not lists:
                lists.update(_shown_lists(store, run, shown))
            parts = lists.get(ask.item, {}).get(ask.order)
            return None if parts is None else replace(shown, parts=parts)

        return again

    def metrics(self, info: Mapping[str, Any]) -> Sequence[Metric]:
        """How far the picks are people's, and how the scores rank."""
        from personafit.kinds.relevance_scores import RELEVANCE_METRICS

        return RELEVANCE_METRICS

    def lines(self, store: Store, run: RunRecord) -> RunLines:
        """A line per rater and context, and one per rater whose votes came with the data."""
        from personafit.kinds.relevance_scores import load_relevance, opened_relevance

        return opened_relevance(load_relevance(store, run))

    def ask_words(self, rater: Rater) -> str:
        """What an ask is called in estimates."""
        return "asks" if rater.most_parts == 1 else "lists"


def contexts_for(plan: RunPlan, rater: Rater) -> list[str]:
    """The contexts that make sense for a rater."""
    return [name for name in plan.contexts if name != ALONE or not rater.needs_prompt]


def _lists(plan: RunPlan, rater: Rater, items: list[Item]) -> list[Shown]:
    """The lists of one person, each with all of its attributes."""
    texts = plan.store.texts({item.products[0] for item in items})
    reasons: dict[str, str] = plan.state["reasons"]
    lists: dict[tuple[str, str], list[Item]] = {}
    for item in items:  # a group of a folder's own may hold several prompts; a list is about one
        lists.setdefault((item.group, item.prompt), []).append(item)
    return [
        Shown(
            question=rater.questions[0],
            about=list_name(group, members[0].person),
            content="",
            person=members[0].person,
            prompt=prompt,
            parts=tuple(_part(item, texts, reasons) for item in members),
        )
        for (group, prompt), members in lists.items()
    ]


def _shown_lists(store: Store, run: RunRecord, shown: Shown) -> dict[str, dict[str, tuple[Part, ...]]]:
    """The attributes of every list of a run, by the list's name and which part of it was shown."""
    texts = store.texts({item.products[0] for item in store.items(run.dataset)})
    selected = run.config["selected"]
    wanted = None if selected is None else set(selected)
    lists: dict[tuple[str, str], list[Part]] = {}
    for item in store.items(run.dataset):
        if wanted is None or item.id in wanted:
            part = _part(item, texts, {})
            lists.setdefault((list_name(item.group, item.person), item.prompt), []).append(part)
    found: dict[str, dict[str, tuple[Part, ...]]] = {}
    for (name, _), parts in lists.items():
        for one in list_asks(replace(shown, parts=tuple(parts)), MOST_LISTED, run.config["seed"]):
            found.setdefault(name, {})[one.place] = tuple(part for part in one.parts if part.skip is None)
    return found


def _part(item: Item, texts: dict[str, str], reasons: dict[str, str]) -> Part:
    text = texts[item.products[0]]
    skip = None if text.strip() else EMPTY
    return Part(item.id, "", text, reasons.get(item.products[0]), item.hash, skip)


def _cut(lists: Sequence[Shown], rater: Rater, name: str, seed: int) -> Iterator[Shown]:
    """The lists of one person under one context."""
    context = CONTEXTS[name]
    if rater.most_parts == 1 and name == ALONE:
        yield from _by_attribute(lists, context)
        return
    for whole in lists:
        shown = replace(whole, context=context, prompt="" if name == ALONE else whole.prompt)
        if rater.most_parts == 1:
            for part in whole.parts:
                yield with_parts(replace(shown, about=part.item), (part,))
            continue
        yield from list_asks(shown, rater.most_parts, seed)


def _by_attribute(lists: Sequence[Shown], context: Context) -> Iterator[Shown]:
    """Without the prompt an attribute is the same question in every list: it is asked once for all of them."""
    same: dict[str, list[Part]] = {}
    for whole in lists:
        for part in whole.parts:
            same.setdefault(part.text, []).append(part)
    for parts in same.values():
        shown = replace(lists[0], about=parts[0].item, prompt="", context=context)
        yield with_parts(shown, tuple(parts))


def _spread(lists: Sequence[list[Item]], seed: int) -> list[list[Item]]:
    """Lists in a drawn order that takes one of each prompt before it takes a second of any."""
    drawn = sorted(lists, key=lambda members: hash_text("select", members[0].group, str(seed)))
    turns: dict[str, int] = {}
    keyed = []
    for place, members in enumerate(drawn):
        turn = turns[members[0].prompt] = turns.get(members[0].prompt, -1) + 1
        keyed.append((turn, place, members))
    return [members for _, _, members in sorted(keyed, key=lambda entry: entry[:2])]


def attribute_reasons(store: Store, attributes: Iterable[str]) -> dict[str, str]:
    """Why attributes are believed, by the attribute's product id: the text of the product that is its parent, where it has one."""
    parents: dict[str, str] = {}
    ids = list(dict.fromkeys(attributes))
    for start in range(0, len(ids), CHUNK):
        query = select(t.products.c.id, t.products.c.parents).where(
            t.products.c.id.in_(ids[start : start + CHUNK])
        )
        for product, names in store.frame(query).iter_rows():
            if listed := orjson.loads(names):
                parents[product] = listed[0]
    texts = store.texts(set(parents.values()))
    return {product: texts[parent] for product, parent in parents.items() if texts.get(parent)}
