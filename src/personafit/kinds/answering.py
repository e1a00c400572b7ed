"""Choices made from questions: each system answers with the person's context, without one and with a wrong person's, and the first
answer is compared with the other two.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from personafit._errors import counted
from personafit._hashing import content_hash, hash_text
from personafit.benchmarks.answers import RESERVED, AnswerRow, Answers
from personafit.benchmarks.benchmark import Benchmark, Prompts
from personafit.benchmarks.config import RunConfig
from personafit.contexts import ContextBuilder, People, default_model, make_context
from personafit.kinds.kind import Kind, Made, RunPlan
from personafit.kinds.making import Answered, estimate_answers, let_answer
from personafit.simulate import Answering
from personafit.store import Store, slice_column

if TYPE_CHECKING:
    from personafit.engine import ProgressView

OF_PAIRS = ("against", "expect", "system", "system_context")
"""Slices of pairs of answers that --where may name; all others are slices of the questions, known before any is answered."""


async def make_choices(
    kind: Kind, store: Store, config: RunConfig, progress: "ProgressView", benchmark: Benchmark
) -> Made:
    """Let every system answer every question: with the person's context, without one, and with a wrong person's."""
    asked = replace(config, where=_of_questions(config))
    plan = RunPlan.of(kind, store, asked, benchmark)
    people = plan.people
    plan.selected = kind.select(plan)
    typed = list(dict.fromkeys(config.system_contexts or ["profile"]))
    names = list(dict.fromkeys([*typed, "none", *(f"wrong:{name}" for name in typed)]))

    async def told(spec: str, *_: Any) -> tuple[list[ContextBuilder], None]:
        return [make_context(name, people, config.seed, default_model([spec])) for name in names], None

    name, record = partial(_making_name, config), {"benchmark": "answers"}
    done = await let_answer(plan, progress, name, record, len(names), told)
    if not done.answerings:
        return done.made(None, config)
    # Contexts by their own name: memory:k=3 is memory.
    called = [builder.name for builder in done.answerings[0].system_contexts[: len(typed)]]
    tiers = benchmark.tiers() if isinstance(benchmark, Prompts) else {}
    answers = _answers(done, called, people, config.seed, tiers)
    of_pairs = [one for one in config.where if one not in asked.where]
    return done.made(answers, replace(config, where=of_pairs))


def estimate_choices(config: RunConfig, benchmark: Benchmark) -> list[str]:
    """Return the lines of `--dry-run`: the calls that answering and judging would take."""
    items = sum(1 for _ in benchmark.items())
    questions, system_contexts = min(items, config.limit or items), len(config.system_contexts or ["profile"])
    pairs = questions * 2 * system_contexts * max(1, len(config.systems))
    asks = pairs * (len(config.contexts) or 3) * 2
    return estimate_answers(config, questions, 1 + 2 * system_contexts, pairs, asks)


def _answers(
    done: Answered, system_context_names: Sequence[str], people: People, seed: int, tiers: Mapping[str, str]
) -> Answers:
    """Return the systems' answers as pairs to be judged."""
    rows: list[AnswerRow] = []
    notes: list[str] = []
    for answering in done.answerings:
        made, missing = _answer_rows(answering, system_context_names, tiers)
        rows += made
        if missing:
            notes.append(
                f"{answering.system.name} made no answer {counted(missing, 'time', 'times')} (failed, refused or empty), "
                "counting its generic answers and those for somebody else."
            )
    done.refuse_nothing(row.answer for row in rows)
    return Answers(rows, dict(people), seed, notes)


def _answer_rows(
    answering: Answering, system_context_names: Sequence[str], tiers: Mapping[str, str]
) -> tuple[list[AnswerRow], int]:
    """Return rows of the system's answers, "" if it was asked and returned none, and the number of these.

    The answers inherit the slices of their question, its tier included, so that a gate can name them.
    """
    rows, missing, own = [], 0, {*AnswerRow.model_fields, *RESERVED}
    for item, texts in answering.tried():
        known = {"tier": tiers[item.id]} if item.id in tiers else {}
        known |= {name: value for name, value in item.slices.items() if name not in own}
        for system_context in system_context_names:
            wanted = (system_context, "none", f"wrong:{system_context}")
            missing += sum(texts.get(name) == "" for name in wanted)
            if system_context not in texts:
                continue
            rows.append(
                AnswerRow(
                    id=f"{hash_text(answering.system.name)[:6]}/{system_context}/{item.id}",
                    person=item.person,
                    question=item.prompt,
                    answer=texts[system_context],
                    generic=texts.get("none"),
                    wrong=texts.get(f"wrong:{system_context}"),
                    expect="generic" if item.slices.get("expect") == "generic" else "personal",
                    system=answering.system.name,
                    system_context=system_context,
                    **known,
                )
            )
    return rows, missing


def _of_questions(config: RunConfig) -> list[str]:
    """Return the conditions of --where on the questions, as opposed to those on pairs of answers."""
    return [
        condition for condition in config.where if slice_column(condition.partition("=")[0]) not in OF_PAIRS
    ]


def _making_name(config: RunConfig, attempt: int) -> str:
    """Return the name of the run that makes the answers."""
    parts = [
        config.systems,
        config.system_contexts,
        str(config.data),
        config.people,
        config.limit,
        config.seed,
    ]
    parts += [_of_questions(config)] if _of_questions(config) else []
    parts += [attempt] if attempt else []
    return f"answering-{content_hash(parts)[:8]}"
