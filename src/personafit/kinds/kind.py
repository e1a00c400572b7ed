"""The base class of kinds of item, which define what is asked about an item and how it is shown, made and scored; and the plan of a run.

A kind is one file. Everything else is shared: `personafit.run` plans, makes, rates and estimates, the store keeps asks and
judgments, reports read them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import polars as pl

from personafit._errors import UserError
from personafit._hashing import draw, hash_text
from personafit.benchmarks.benchmark import Benchmark, BenchmarkInfo, Controls, ingest
from personafit.benchmarks.config import RunConfig, run_name
from personafit.contexts import (
    Context,
    ContextBuilder,
    People,
    Unmade,
    context_fingerprint,
    default_model,
    make_context,
)
from personafit.engine import Lane, Summary
from personafit.items.reading import PLACES, Part, QuestionSet, Shown, order_places
from personafit.kinds.lines import CONTROL_CONTEXTS, Line, Metric, RunLines, layouts_of
from personafit.models import Model, one_line
from personafit.people import Person
from personafit.raters import Rater
from personafit.store import (
    MET,
    Item,
    RaterRecord,
    RunRecord,
    Status,
    Store,
    gold_answers,
    item_rows,
    run_answers,
    run_items,
)

if TYPE_CHECKING:
    from personafit.engine import ProgressView


T = TypeVar("T")
ShownAgain = Callable[[Sequence[Any]], Shown | None]
PAGE = 500  # maximum number of items processed together


@dataclass
class RunPlan:
    """The plan of a run: items, raters, contexts and systems, and the record that is stored with it."""

    kind: "Kind"
    store: Store
    config: RunConfig
    info: BenchmarkInfo
    dataset: str
    people: People
    contexts: list[str]
    """Names of the contexts that raters are shown."""
    selected: frozenset[str] | None = None
    """Ids of the items to judge; None for all."""
    raters: list[Rater] = field(default_factory=list)
    asked_for: list[bool] = field(default_factory=list)
    """For each rater, True if the user asked for it, False for a control."""
    builders: list[ContextBuilder] = field(default_factory=list)
    """Context builders; some need a model to make their contexts before anything is judged."""
    models: list[Model] = field(default_factory=list)
    """Models to close at the end: the systems, and the one that plays the user."""
    speakers: list[RaterRecord] = field(default_factory=list)
    """Records of the systems and the simulated user, stored beside those of the raters."""
    making: list[Callable[[], Lane]] = field(default_factory=list)
    """One lane of work for each system that makes what is judged in this run (dialogues, texts)."""
    systems: list[Model] = field(default_factory=list)
    """The systems of those lanes, in the same order."""
    attempt: str = ""
    """Name of the run whose answers are made anew; empty if stored ones are reused."""
    record: dict[str, Any] = field(default_factory=dict)
    run: RunRecord | None = None
    """The run, once it has begun."""
    state: dict[str, Any] = field(default_factory=dict)
    """Working data of the kind."""

    @classmethod
    def of(
        cls, kind: "Kind", store: Store, config: RunConfig, benchmark: Benchmark, contexts: Sequence[str] = ()
    ) -> "RunPlan":
        """Begin the plan of a run on a benchmark, which is ingested into the store."""
        dataset = ingest(store, benchmark)
        people = People(store.people(dataset))
        return cls(kind, store, config, benchmark.info, dataset, people, list(contexts))

    @property
    def name(self) -> str:
        """The run's name: the same configuration and data give the same name, so the same command resumes."""
        return self.kind.run_name(self)

    @property
    def asks(self) -> int:
        return self.kind.planned(self)

    def items(self) -> Iterator[Item]:
        """The items to judge, in the order of work."""
        for item in self.store.items(self.dataset):
            if self.selected is None or item.id in self.selected:
                yield item

    def count_items(self) -> int:
        return self.store.count_items(self.dataset) if self.selected is None else len(self.selected)

    @property
    def context_prints(self) -> dict[str, Any]:
        """Record entry: the fingerprints of the contexts that have one."""
        prints = {one.name: print for one in self.builders if (print := context_fingerprint(one))}
        return {"contexts": prints} if prints else {}

    def priced(self) -> list[tuple[str, Any]]:
        """Raters and models by name, to check prices before the run."""
        return [
            *((rater.record.name, rater) for rater in self.raters),
            *((model.name, model) for model in self.models),
        ]

    async def close(self) -> None:
        for rater in self.raters:
            await rater.close()
        for model in self.models:
            await model.close()


@dataclass
class Made:
    """What `Kind.make` returns: a benchmark made from the answers of systems, and what making it took."""

    benchmark: Benchmark | None
    """The benchmark; None if making it ended early."""
    summary: Summary
    run: str
    config: RunConfig
    """Settings of the judging that follows: the sample is already drawn, part of the budget is spent."""
    answers: dict[str, Any] = field(default_factory=dict)
    """How many answers were made and reused (`count_answers`)."""
    systems: dict[str, str] = field(default_factory=dict)
    """Fingerprint of each system, as its asks have it, to its name."""


class Kind:
    """One kind of item. A new kind is a subclass with at least `asks`, `metrics` and `score`."""

    name: ClassVar[str]
    asks: ClassVar[QuestionSet]
    """What can be asked about such items."""
    made_from: ClassVar[str | None] = None
    """Kind of item, `prompt` or `task`, that systems first turn into items of this kind."""
    own_contexts: ClassVar[dict[str, str] | None] = None
    """Contexts that raters of this kind take, with a description each; None for every context there is."""
    options: ClassVar[frozenset[str]] = frozenset()
    """Which of the options system, system-context and user this kind takes."""
    own_options: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Options of this kind only (`-K NAME=VALUE`): name to the values it takes, the default first."""
    controls: ClassVar[Controls | None] = None
    """Raters and contexts that are run beside those asked for; None for the benchmark's own."""
    strata: ClassVar[tuple[str, ...]] = ()
    """Slices over which a limited sample is spread in proportion."""
    judged: ClassVar[bool] = True
    """Whether raters judge; texts that are compared with the person's own need none."""

    def default_contexts(self, info: BenchmarkInfo) -> list[str]:
        """Contexts used if the user names none."""
        controls = self.controls or info.controls
        return [info.context, *controls.contexts]

    bars: ClassVar[tuple[str, ...]] = ()
    """Metrics that `--fail-under` may name."""
    computed_slices: ClassVar[tuple[str, ...]] = ()
    """Slices of its results that are not slices of the items, but are computed when the run is loaded."""

    def warnings(self, config: RunConfig) -> list[str]:
        """Sentences printed before the run, about settings that make its result worth little."""
        return []

    def default_raters(self) -> list[str]:
        """Specs of the raters used if the user names none, besides the controls."""
        return []

    def contexts(self, config: RunConfig, info: BenchmarkInfo) -> list[str]:
        """Contexts of the run, checked against `own_contexts`; none if nobody judges."""
        if not self.judged:
            for option, asked in {"rater": config.raters, "context": config.contexts}.items():
                if asked:
                    raise UserError(
                        f"--{option} means nothing in `run {config.benchmark}`: {self.name} items are scored without a judge. "
                        "Say what systems are told with --system-context."
                    )
            return []
        names = list(dict.fromkeys(config.contexts or self.default_contexts(info)))
        for name in names:
            if self.own_contexts is not None and name not in self.own_contexts:
                listed = "; ".join(f"{one} ({what})" for one, what in self.own_contexts.items())
                raise UserError(f"--context {name}: raters of {self.name} items are told {listed}.")
        return names

    def prepare(self, plan: RunPlan, benchmark: Benchmark) -> None:
        """Open the context builders; a kind whose systems make things adds systems and lanes to the plan."""
        if self.own_contexts is not None:
            return
        makes = default_model(plan.config.raters)
        built = [make_context(name, plan.people, plan.config.seed, makes) for name in plan.contexts]
        plan.builders = list({builder.name: builder for builder in built}.values())
        plan.contexts = [builder.name for builder in plan.builders]

    def select(self, plan: RunPlan) -> frozenset[str] | None:
        """Return the ids of the items that --people, --where and --limit select; None for all."""
        config = plan.config
        if config.limit is None and config.people is None and not config.where:
            return None
        from personafit.kinds.selecting import rows_of_people, rows_where

        rows = rows_where(rows_of_people(self.rows(plan), config), config)
        return frozenset(rows["item"]) if config.limit is None else self.sample(plan, rows, config.limit)

    def sample(self, plan: RunPlan, rows: pl.DataFrame, limit: int) -> frozenset[str]:
        """Draw `limit` of the rows, in proportion to the strata."""
        from personafit.kinds.selecting import select_items

        strata = [name for name in self.strata if name in rows.columns]
        return select_items(rows.select("item", *strata), limit, plan.config.seed)

    def rows(self, plan: RunPlan) -> pl.DataFrame:
        """Return the items as rows, with the columns that select them."""
        return item_rows(plan.store, plan.dataset)

    def shown(self, plan: RunPlan, rater: Rater) -> Iterator[Shown]:
        """Yield everything a rater is to be shown, in the order of work: items by person, each under every context and order.

        Prompts about one person share their beginning, so consecutive prompts hit prompt caches.
        """
        for person, items in groupby(plan.items(), key=lambda item: item.person):
            while page := list(islice(items, PAGE)):
                yield from self._page(plan, rater, plan.people[person], page)

    def _page(self, plan: RunPlan, rater: Rater, person: Person, page: list[Item]) -> Iterator[Shown]:
        texts = plan.store.texts({product for item in page for product in item.products})
        told = [list(contexts_of(builder, person, page)) for builder in plan.builders]
        new = {context.id: context for pairs in told for _, context in pairs}
        plan.store.add_products(context.product for context in new.values())
        for pairs in told:
            for item, context in pairs:
                answers = tuple(texts[product] for product in item.products)
                for order in orders(item.id, len(answers), rater, plan.config.seed):
                    for sample in range(plan.config.samples):
                        yield Shown(
                            question=rater.questions[0],
                            about=item.id,
                            content=item.hash,
                            person=item.person,
                            prompt=item.prompt,
                            parts=(self.part(item),),
                            texts=answers,
                            context=context,
                            context_id=context.id,
                            order=order,
                            place=order_name(order) if rater.order_matters else "",
                            sample=sample,
                        )

    def part(self, item: Item) -> Part:
        """The part of an item that gets an answer: here the item as a whole."""
        return Part(item.id, content=item.hash)

    def count(self, plan: RunPlan, rater: Rater) -> int:
        """Number of asks a rater gets."""
        contexts = len(plan.builders) or 1
        return plan.count_items() * contexts * plan.config.samples * (2 if rater.order_matters else 1)

    def planned(self, plan: RunPlan) -> int:
        """Number of asks planned for all raters."""
        return sum(self.count(plan, rater) for rater in plan.raters)

    def facts(self, plan: RunPlan) -> dict[str, Any]:
        """Entries of this kind in the run's record."""
        question, options = self.asks.asked[0], dict(plan.config.options)
        told = {"options": options} if options else {}
        return {"kind": self.name, "question": question.name, "instrument": question.instrument, **told}

    def rater_facts(self, plan: RunPlan, rater: Rater) -> dict[str, Any]:
        """Entries of this kind in a rater's part of the run's record."""
        return {"orders": 2 if rater.order_matters else 1}

    def notes(self, plan: RunPlan, benchmark: Benchmark) -> Iterator[str]:
        """Sentences shown beside the scores."""
        yield from note_fitted_prompts(plan.raters, (item.prompt for item in plan.items()))

    def run_name(self, plan: RunPlan) -> str:
        return run_name(plan.info.name, plan.record)

    def shown_again(self, store: Store, run: RunRecord) -> "ShownAgain":
        """Return a function that rebuilds what an ask showed, so that its stored reply can be parsed again.

        The function takes the rows of one ask, one for each judgment, with the columns `item`, `question`, `rater`, `context`,
        `order`, `judged` and `target`; it returns None if the reply cannot be parsed again.
        """
        question = self.asks.asked[0]

        def again(rows: Sequence[Any]) -> Shown | None:
            order = tuple(order_places(rows[0].order))
            texts = ("",) * len(order)
            part = Part(rows[0].item)
            return Shown(question, part.item, "", "", "", (part,), texts, order=order) if order else None

        return again

    async def make(
        self, store: Store, config: RunConfig, progress: "ProgressView", benchmark: Benchmark
    ) -> Made | None:
        """Let systems make what is judged; None if nothing is made, or if the run itself makes it (`prepare`)."""
        return None

    def estimate_making(self, config: RunConfig, benchmark: Benchmark) -> list[str] | None:
        """Lines of `--dry-run` about `make`; None if it makes nothing."""
        return None

    def estimate(self, plan: RunPlan) -> list[str] | None:
        """Return the lines of `--dry-run`; None for the default ones: asks, tokens and cost of each rater."""
        return None

    def metrics(self, info: Mapping[str, Any]) -> Sequence[Metric]:
        """The metrics of a run, the headline first; `info` is the benchmark's info as stored."""
        return ()

    def score(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Add a column for every metric to the rows; null if there is no answer.

        A row is one judged part: `item`, `target`, `person`, `prompt`, `gold` and `gold_value`, the answer's `label` and `value`,
        and the columns of the item's slices.
        """
        return rows

    def _metrics(self, info: Mapping[str, Any]) -> Sequence[Metric]:
        """Return the metrics; raise a UserError unless there are any."""
        metrics = self._called("say its metrics", lambda: list(self.metrics(info) or ()))
        if not all(isinstance(one, Metric) for one in metrics):
            raise UserError(f"The metrics of kind {self.name} must be a list of personafit.Metric.")
        if not metrics:
            raise UserError(f"The kind {self.name} has no metrics, so there is nothing to report.")
        return metrics

    def _called(self, what: str, code: Callable[[], T]) -> T:
        """Return what a plugin's code returns; what it raises becomes a UserError."""
        try:
            return code()
        except UserError:
            raise
        except Exception as error:
            raise UserError(
                f"The kind {self.name} cannot {what}: {type(error).__name__}: {one_line(error)}."
            ) from error

    def _scored(self, rows: pl.DataFrame, metrics: Sequence[Metric]) -> pl.DataFrame:
        """Return what `score` makes of the rows; raise a UserError unless it has every metric's column, within its bounds."""
        scored = self._called("score", lambda: self.score(rows))
        if not isinstance(scored, pl.DataFrame):
            raise UserError(
                f"The scores of kind {self.name} must be a polars frame, not {type(scored).__name__}."
            )
        if len(scored) != len(rows):
            raise UserError(
                f"The scores of kind {self.name} have {len(scored):,} of {len(rows):,} rows; keep every row, with null for no score."
            )
        for metric in metrics:
            if metric.source not in scored.columns:
                raise UserError(
                    f"The scores of kind {self.name} have no column '{metric.source}', which its metric {metric.name} needs."
                )
            dtype = scored.schema[metric.source]
            if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
                raise UserError(
                    f"The column '{metric.source}' of kind {self.name} holds no numbers, which its metric {metric.name} needs."
                )
            if metric.estimate is None and metric.bounds is not None:
                values, (low, high) = scored[metric.source].cast(pl.Float64).drop_nulls(), metric.bounds
                if len(out := values.filter(~values.is_between(low, high))):
                    raise UserError(
                        f"The metric {metric.name} of kind {self.name} has the value {out[0]:g}, outside its bounds of {low:g} to "
                        f"{high:g}; give Metric(bounds=...) that hold, or None."
                    )
        return scored

    def lines(self, store: Store, run: RunRecord) -> RunLines:
        """Return the lines of a run: for each rater and context every planned item with its scored judgments."""
        info = store.dataset_info(run.dataset)
        items = run_items(store, run)
        gold = gold_answers(store, run.dataset, info["gold"]).unique(
            "item", keep="first", maintain_order=True
        )
        items = items.join(
            gold.select("item", "gold", "gold_value"), on="item", how="left", maintain_order="left"
        )
        answers, metrics = run_answers(store, run.id), self._metrics(info)
        lines = []
        for rater in run.config["raters"]:
            for name in run.contexts:
                asked = rater.get("orders", 1) * run.config["samples"]
                rows = _joined(items, answers, rater["fingerprint"], name, asked)
                scored = self._scored(rows, metrics)
                frame = _by_unit(scored, [metric.source for metric in metrics])
                control = CONTROL_CONTEXTS.get("wrong" if name.startswith("wrong:") else name)
                lines.append(Line.of(rater, name, frame, "rule" if rater["control"] else control))
        slices = [names for names in layouts_of(info) if set(names) <= set(items.columns)]
        return RunLines(run, info, self.name, lines, metrics, slices)


def _joined(items: pl.DataFrame, answers: pl.DataFrame, rater: str, context: str, asked: int) -> pl.DataFrame:
    """Join every item with one rater's judgments under one context: a row for each part, or one without an answer."""
    mine = answers.filter(rater=rater, context=context, status=Status.OK.value)
    said = mine.select(
        "item",
        "target",
        "order",
        "label",
        "value",
        answered=pl.len().over("item", "target").cast(pl.Int64),
    )
    rows = items.join(said, on="item", how="left", maintain_order="left")
    return rows.with_columns(
        pl.col("answered").fill_null(0),
        asked=pl.lit(asked),
        unit=pl.concat_str("item", pl.col("target").fill_null(""), separator=" "),
    )


def _by_unit(rows: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Return one row per unit: the mean over its samples, then over the orders it was shown in."""
    means = [pl.col(name).cast(pl.Float64).mean() for name in dict.fromkeys(columns)]
    rest = [pl.col(name).first() for name in rows.columns if name not in ("unit", "order", *columns)]
    by_order = rows.group_by("unit", "order", maintain_order=True).agg(*means, *rest)
    return by_order.group_by("unit", maintain_order=True).agg(*means, *rest)


def items_of(store: Store, run: RunRecord) -> Iterator[Item]:
    """Yield the items that a run covers, in the order of the source."""
    selected = None if run.config.get("selected") is None else set(run.config["selected"])
    return (item for item in store.items(run.dataset) if selected is None or item.id in selected)


def speaker_record(role: str, fingerprint: str, model: Any) -> RaterRecord:
    """Return the record of a system or simulated user, so that the maker of what it says has a name and settings."""
    return RaterRecord(fingerprint=fingerprint, name=model.name, kind=role, settings=model.settings)


def orders(item: str, answers: int, rater: Rater, seed: int) -> list[tuple[int, ...]]:
    """Return the orders in which an item is shown: both for two answers, the first of them drawn; one if order cannot matter."""
    plain = tuple(range(answers))
    if not rater.order_matters:
        return [plain]
    both = [plain, plain[::-1]]
    return both[::-1] if draw(item, rater.record.fingerprint, seed, among=2) else both


def order_name(order: Sequence[int]) -> str:
    """Return the name under which an order of answers is stored, such as `10`."""
    return "".join(PLACES[place] for place in order)


def contexts_of(
    builder: ContextBuilder, person: Person, page: Sequence[Item]
) -> Iterator[tuple[Item, Context]]:
    """Yield each item with its context; an item whose context a model failed to make is left unjudged."""
    for item in page:
        try:
            yield item, builder.build(person, item)
        except Unmade:
            continue


def note_fitted_prompts(raters: Sequence[Rater], prompts: Iterable[str]) -> Iterator[str]:
    """Yield which raters met how many of these prompts when they were fitted."""
    if any(rater.fitted_on for rater in raters):
        different = set(prompts)
        yield from note_fitted(raters, map(hash_text, different), f"the {len(different):,} prompts")


def note_fitted(raters: Sequence[Rater], marks: Iterable[str], what: str) -> Iterator[str]:
    """Yield a note for each rater that was fitted on some of the data: its score shows memory, not skill (`RunRecord.met_people`)."""
    here = set(marks)
    for rater in raters:
        if met := len(here & rater.fitted_on):
            yield f"{rater.record.name}{MET}{met:,} of {what} here: its score on them is no evidence."
