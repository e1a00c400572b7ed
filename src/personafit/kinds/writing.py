"""Writing: systems write what people wrote, told of them, of nobody and of somebody else.

Nobody judges: what was written is held against the person's own words when the run is read back, so measuring again costs nothing.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

from personafit._errors import UserError
from personafit.benchmarks.benchmark import Benchmark, BenchmarkInfo, Controls
from personafit.benchmarks.config import RunConfig
from personafit.contexts import default_model, make_context
from personafit.items.question import CHOICES
from personafit.items.reading import QuestionSet
from personafit.kinds.choice import rows_with_tiers
from personafit.kinds.kind import Kind, RunPlan
from personafit.models import make_model
from personafit.simulate import Answering
from personafit.simulate.answer_job import QUESTION
from personafit.statistics.rouge import INSTRUMENT
from personafit.store import RaterRecord

TEXT_TOKENS = 25  # of a headline, a title, a subject or a tweet


class WritingKind(Kind):
    """Whether a system writes as the person would."""

    name = "writing"
    asks: ClassVar[QuestionSet] = CHOICES
    made_from: ClassVar[str | None] = "prompt"
    options: ClassVar[frozenset[str]] = frozenset({"system", "given"})
    controls: ClassVar[Controls | None] = Controls(views=[], raters=[])
    strata: ClassVar[tuple[str, ...]] = ("half", "tier", "against", "expect")
    judged = False

    bars: ClassVar[tuple[str, ...]] = ("rouge_1", "rouge_l", "lift")

    def contexts(self, config: RunConfig, info: BenchmarkInfo) -> list[str]:
        """None: there is nobody to be told."""
        for option, asked in (("rater", config.raters), ("view", config.views)):
            if asked:
                raise UserError(
                    f"--{option} means nothing in `run {config.benchmark}`: texts are held against what people wrote; leave it out."
                )
        if config.samples != 1:
            raise UserError(
                f"--samples means nothing in `run {config.benchmark}`: every text is written once; leave it out."
            )
        return []

    def rows(self, plan: RunPlan) -> Any:
        """The items as rows."""
        return rows_with_tiers(plan.store, plan.dataset)

    def prepare(self, plan: RunPlan, benchmark: Benchmark) -> None:
        """Open the systems, and plan their texts."""
        config = plan.config
        typed = config.givens or [plan.info.view]
        every = list(dict.fromkeys([*typed, "none", *(f"wrong:{name}" for name in typed)]))
        answerings = []
        for spec in config.systems:
            told = [make_context(name, plan.people, config.seed, default_model([spec])) for name in every]
            plan.builders += told
            answerings.append(
                Answering(plan.store, plan.dataset, plan.people, make_model(spec), told, plan.selected)
            )
        plan.models = [one.system for one in answerings]
        plan.speakers = [
            RaterRecord(
                fingerprint=one.fingerprint, name=one.system.name, kind="system", settings=one.system.settings
            )
            for one in answerings
        ]
        plan.making = [one.lane for one in answerings]
        # As contexts call themselves: memory:k=3 is memory.
        names = [builder.name for builder in plan.builders[: len(every)]]
        plan.state |= {"answerings": answerings, "givens": names[: len(typed)], "contexts": names}

    def planned(self, plan: RunPlan) -> int:
        """How many texts are to be written."""
        return sum(one.count for one in plan.state["answerings"])

    def facts(self, plan: RunPlan) -> dict[str, Any]:
        """Who writes, told what, and how it is measured."""
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

    def notes(self, plan: RunPlan, benchmark: Benchmark) -> Iterator[str]:
        """None of its own."""
        yield from ()

    def estimate(self, plan: RunPlan) -> list[str] | None:
        """What writing them would take."""
        head = f"{plan.info.name}: {self.planned(plan):,} texts would be written; those already stored are not written again."
        lines = [head]
        for one in plan.state["answerings"]:
            line = f"  {one.system.name}: {one.count:,} texts, about {one.count * TEXT_TOKENS:,} tokens out"
            if one.system.price is None:
                line += "; its price is unknown (add ,price=IN/OUT)"
            lines.append(f"{line}.")
        return lines
