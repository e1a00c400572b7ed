"""personafit's choice benchmarks as an Inspect AI task, with the same prompts and parser and so the same scores.

`inspect eval personafit/choices -T benchmark=starter --model PROVIDER/MODEL`. Installed with the extra `inspect` and found by Inspect
through its entry point. One sample is one item under one context in one order; a reply that names no letter is scored unanswered and left
out of the accuracy, with the share of answered samples reported beside it, as everywhere in personafit. Unlike in personafit, a reply that
cannot be parsed is not followed by a second request: Inspect logs each reply as it came.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ChatMessageUser, GenerateConfig
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import TaskState, generate

from personafit.benchmarks import Benchmark, open_benchmark
from personafit.contexts import People, make_context
from personafit.items import FIT, Part, Shown
from personafit.store import TIE

MAX_TOKENS = 4096  # room for models that reason first; others stop after a letter


@task
def choices(
    benchmark: str = "starter", data: str | None = None, context: str | None = None, seed: int = 0
) -> Task:
    """Choose the answer that fits the person: each item of a choice benchmark in both orders, under its own or another context."""
    opened = open_benchmark(benchmark, Path(data) if data else None, "choice")
    context = context or opened.info.context
    return Task(
        dataset=MemoryDataset(list(_samples(opened, context, seed)), name=opened.info.name),
        solver=[generate()],
        scorer=fit(),
        config=GenerateConfig(temperature=0.0, max_tokens=MAX_TOKENS),
        version=opened.info.version,
        metadata={"question": FIT.fingerprint, "context": context, "seed": seed},
    )


def _samples(benchmark: Benchmark, context: str, seed: int) -> Iterator[Sample]:
    people = People({person.id: person for person in benchmark.people()})
    builder = make_context(context, people, seed)
    texts = {product.id: product.text for product in benchmark.products()}
    gold = {row.item: row for row in benchmark.gold() if row.rater == benchmark.info.gold}
    for item in sorted(benchmark.items(), key=lambda item: item.person):
        if item.id not in gold:
            continue
        plain = tuple(range(len(item.products)))
        told = builder.build(people[item.person], item)
        answers = tuple(texts[product] for product in item.products)
        for order in (plain, plain[::-1]):
            shown = Shown(
                FIT,
                item.id,
                item.hash,
                item.person,
                item.prompt,
                (Part(item.id),),
                answers,
                told,
                order=order,
            )
            messages: list[ChatMessage] = [ChatMessageUser(content=m["content"]) for m in FIT.messages(shown)]
            yield Sample(
                id=f"{item.id}|{context}|{shown.order_name}|0",
                input=messages,
                target=str(gold[item.id].label),
                metadata={
                    "order": list(order),
                    "person": item.person,
                    "tier": (gold[item.id].extra or {}).get("tier"),
                    **item.slices,
                },
            )


@metric
def accuracy_of_answered() -> Metric:
    """Mean score over the answered samples."""

    def value(scores: list[SampleScore]) -> float:
        answered = [s.score.as_float() for s in scores if not _unanswered(s.score)]
        return sum(answered) / len(answered) if answered else 0.0

    return value


@metric
def coverage() -> Metric:
    """Share of samples that were answered."""

    def value(scores: list[SampleScore]) -> float:
        return sum(not _unanswered(s.score) for s in scores) / len(scores) if scores else 0.0

    return value


@scorer(metrics=[accuracy_of_answered(), coverage()])
def fit() -> Scorer:
    """Score a reply as correct if its letter stands for the gold answer; where gold is a tie, every answer scores 1/k."""

    async def score(state: TaskState, target: Target) -> Score:
        order: list[int] = state.metadata["order"]
        letter = FIT.parse(state.output.completion, len(order))
        if letter is None:
            return Score(value=0.0, answer=None, metadata={"unanswered": True})
        chosen = str(order[FIT.letters(len(order)).index(letter)])
        right = 1 / len(order) if target.text == TIE else float(chosen == target.text)
        return Score(value=right, answer=letter, metadata={"unanswered": False})

    return score


def _unanswered(score: Score) -> bool:
    details: dict[str, Any] = score.metadata or {}
    return bool(details.get("unanswered"))
