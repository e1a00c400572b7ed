"""Writing: systems write what people wrote, with the person's context, without one and with a wrong person's.

Nobody judges: texts are compared with the person's own when the run is loaded, so measuring again costs nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import polars as pl

from personafit._errors import UserError
from personafit.benchmarks.benchmark import Benchmark, Controls
from personafit.benchmarks.lamp import COPIES, MAKERS
from personafit.contexts import default_model, make_context
from personafit.engine import Lane
from personafit.items.choice import CHOICES
from personafit.items.reading import QuestionSet
from personafit.kinds.attempts import price_words
from personafit.kinds.kind import Kind, RunPlan, speaker_record
from personafit.kinds.lines import CONTROL_CONTEXTS, Line, Metric, RunLines, control_of
from personafit.models import make_model
from personafit.simulate import Answering
from personafit.simulate.answering import QUESTION
from personafit.statistics.rouge import INSTRUMENT, rouge
from personafit.store import RunRecord, Status, Store, run_answers, run_items

METRICS = ("rouge_1", "rouge_l")
MEASURE, SEEN = "rouge", "own words"
TEXT_TOKENS = 25  # of a headline, a title, a subject or a tweet


class WritingKind(Kind):
    """Whether a system writes as the person would."""

    name = "writing"
    asks: ClassVar[QuestionSet] = CHOICES
    made_from: ClassVar[str | None] = "prompt"
    options: ClassVar[frozenset[str]] = frozenset({"system", "system-context"})
    controls: ClassVar[Controls | None] = Controls(contexts=[], raters=[])
    judged = False

    bars: ClassVar[tuple[str, ...]] = ("rouge_1", "rouge_l", "lift")

    def prepare(self, plan: RunPlan, benchmark: Benchmark) -> None:
        config = plan.config
        if config.samples != 1:
            raise UserError(
                f"--samples means nothing in `run {config.benchmark}`: every text is written once; leave it out."
            )
        typed = config.system_contexts or [plan.info.context]
        every = list(dict.fromkeys([*typed, "none", *(f"wrong:{name}" for name in typed)]))
        answerings = []
        for spec in config.systems:
            told = [make_context(name, plan.people, config.seed, default_model([spec])) for name in every]
            plan.builders += told
            answerings.append(
                Answering(plan.store, plan.dataset, plan.people, make_model(spec), told, plan.selected)
            )
        plan.models = plan.systems = [one.system for one in answerings]
        plan.speakers = [speaker_record("system", one.fingerprint, one.system) for one in answerings]
        plan.making = [partial(_lane, plan, one) for one in answerings]
        # Contexts by their own name: memory:k=3 is memory.
        names = [builder.name for builder in plan.builders[: len(every)]]
        plan.state |= {"answerings": answerings, "givens": names[: len(typed)], "contexts": names}

    def planned(self, plan: RunPlan) -> int:
        return sum(one.count for one in plan.state["answerings"])

    def facts(self, plan: RunPlan) -> dict[str, Any]:
        answerings: list[Answering] = plan.state["answerings"]
        return {
            "kind": self.name,
            "question": QUESTION,
            "instrument": INSTRUMENT,
            "systems": [{"name": one.system.name, "fingerprint": one.fingerprint} for one in answerings],
            "givens": plan.state["givens"],
            "contexts": plan.state["contexts"],
            "samples": 1,
        }

    def estimate(self, plan: RunPlan) -> list[str] | None:
        head = f"{plan.info.name}: {self.planned(plan):,} texts would be written; those already stored are not written again."
        calls = ((one.system, one.count) for one in plan.state["answerings"])
        lines = (
            f"  {system.name}: {count:,} texts, about {count * TEXT_TOKENS:,} tokens out{price_words(system.price)}."
            for system, count in calls
        )
        return [head, *lines]

    def lines(self, store: Store, run: RunRecord) -> RunLines:
        """Return a line per system and context, and one per type of text that needs no writing."""
        return writing_lines(load_writing(store, run))


def _lane(plan: RunPlan, answering: Answering) -> Lane:
    return replace(answering, attempt=plan.attempt).lane()


def _metrics(whole: int) -> list[Metric]:
    """Return the metrics of similarity to the person's own text, by task and in total; no total for lines with fewer than `whole` texts."""

    def complete(line: Line) -> bool:
        return len(line.frame) >= whole

    product = partial(Metric, how="", about="product")
    lift = partial(product, "lift", METRICS[0], over="system_context", note="of ROUGE-1")
    totals = [*(product(name, by=((),), only=complete) for name in METRICS), lift(by=((),), only=complete)]
    task = (("task",),)
    return [*totals, *(product(name, by=task) for name in METRICS), lift(by=task)]


@dataclass(frozen=True)
class WritingScores:
    """Results of a writing run: texts with their scores."""

    run: RunRecord
    info: dict[str, Any]
    own: Mapping[str, str]
    """Item to what the person wrote."""
    lines: list[Line]
    """Each system's texts under each context, and copied texts; frames have task, text, rouge_1 and rouge_l of every item."""
    answers: pl.DataFrame
    """Every text that was asked for: item, rater, context, status, detail."""

    @property
    def tasks(self) -> list[str]:
        return self.lines[0].frame["task"].unique(maintain_order=True).to_list()


def load_writing(store: Store, run: RunRecord) -> WritingScores:
    """Load a run and measure every text."""
    items = run_items(store, run).select("item", "person", "prompt", "task")
    texts = _kept_texts(store, run.dataset, set(items["item"]))
    own = texts.pop(MAKERS[0])
    answers = run_answers(store, run.id).filter(pl.col("question") == run.config["question"])
    lines = list(_written(store, run, items, own, answers))
    for maker, control in COPIES.items():
        if found := texts.get(maker):
            those = items.filter(pl.col("item").is_in(list(found)))
            lines.append(writing_line(maker, None, None, _measured(those, own, found), control))
    return WritingScores(run, store.dataset_info(run.dataset), own, lines, answers)


def _kept_texts(store: Store, dataset: str, kept: set[str]) -> dict[str, dict[str, str]]:
    """Return the texts that were available before any system wrote: whose text, item to text."""
    products: dict[str, dict[str, str]] = {maker: {} for maker in MAKERS}
    for item in store.items(dataset):
        if item.id in kept:
            for maker, product in zip(MAKERS, item.products, strict=False):
                products[maker][item.id] = product
    texts = store.texts({product for found in products.values() for product in found.values()})
    return {
        maker: {item: texts[product] for item, product in found.items() if product in texts}
        for maker, found in products.items()
    }


def _written(
    store: Store, run: RunRecord, items: pl.DataFrame, own: Mapping[str, str], answers: pl.DataFrame
) -> Iterator[Line]:
    for system in run.config["systems"]:
        for system_context in run.config["contexts"]:
            asked_for = system_context in run.system_contexts
            control = None if asked_for else control_of(system["name"], system_context, {}, CONTROL_CONTEXTS)
            mine = answers.filter(rater=system["fingerprint"], context=system_context, status=Status.OK.value)
            texts = store.texts(mine["ask"])
            found = {item: texts[ask] for item, ask in mine.select("item", "ask").iter_rows() if ask in texts}
            frame = _measured(items, own, found)
            yield writing_line(system["name"], system["fingerprint"], system_context, frame, control)


def _measured(items: pl.DataFrame, own: Mapping[str, str], texts: Mapping[str, str]) -> pl.DataFrame:
    scores = {item: rouge(text, own[item]) for item, text in texts.items() if item in own}
    found = [scores.get(item) for item in items["item"]]
    return items.with_columns(
        pl.Series("text", [texts.get(item) for item in items["item"]], dtype=pl.String),
        pl.Series("rouge_1", [one and one.rouge_1 for one in found], dtype=pl.Float64),
        pl.Series("rouge_l", [one and one.rouge_l for one in found], dtype=pl.Float64),
    )


def writing_line(
    system: str, fingerprint: str | None, system_context: str | None, frame: pl.DataFrame, control: str | None
) -> Line:
    """Return a system's texts as a line, with the measure as its rater."""
    made = pl.col(METRICS[0]).is_not_null().cast(pl.Int64)
    counted = frame.with_columns(unit=pl.col("item"), asked=pl.lit(1), answered=made)
    return Line(MEASURE, fingerprint, SEEN, system, system_context, counted, control, fingerprint is not None)


def writing_lines(scores: WritingScores) -> RunLines:
    """Return the lines of a writing run."""
    return RunLines(scores.run, scores.info, "writing", scores.lines, _metrics(len(scores.own)), [("task",)])
