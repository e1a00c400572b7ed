"""Running a team's own answers: read them from a log or let the system make them, then judge them as pairs."""

from dataclasses import replace

from personafit._errors import UserError
from personafit._hashing import content_hash, hash_text
from personafit.benchmarks import Benchmark, ingest, open_benchmark
from personafit.benchmarks.answers import AnswerRow, Answers, read_log
from personafit.benchmarks.config import Finished, RunConfig
from personafit.benchmarks.estimate import estimate_benchmark
from personafit.benchmarks.plans import check_judges
from personafit.benchmarks.prompts import Prompts
from personafit.benchmarks.running import judge_benchmark, selection
from personafit.contexts import People, default_model, make_context, make_contexts, makers
from personafit.engine import ProgressView, Runner, Summary, check_budget
from personafit.models import make_model
from personafit.raters import make_rater
from personafit.simulate import Answering
from personafit.simulate.answering import USUAL_TOKENS
from personafit.store import Store

PAIRS = ("against", "expect", "given", "system")
"""What --where can say of pairs of answers; all else is said of the questions, before any is answered."""


async def execute(store: Store, config: RunConfig, progress: ProgressView) -> Finished:
    """Get the answers, then judge them; what answering cost is part of the bill."""
    await check_judges(config, make_rater)
    benchmark, generation = await _answers(store, config, progress)
    if generation is None:
        return await judge_benchmark(store, config, progress, benchmark)
    if generation.ended_early:
        return Finished(store.run(_generation_name(config)), generation)
    # The questions are chosen; whatever was made of them is judged.
    rest = None if config.budget is None else max(0.0, config.budget - generation.cost)
    of_pairs = [condition for condition in config.where if condition not in _of_questions(config)]
    finished = await judge_benchmark(
        store, replace(config, limit=None, users=None, where=of_pairs, budget=rest), progress, benchmark
    )
    finished.summary.charge(generation)
    return finished


async def _answers(
    store: Store, config: RunConfig, progress: ProgressView
) -> tuple[Benchmark, Summary | None]:
    if (config.log is None) == (not config.systems):
        raise UserError("run answers needs either --log FILE with answers, or --system SPEC to make them.")
    if config.log is not None:
        return _logged(config), None
    return await _make_answers(store, config, progress)


def _logged(config: RunConfig) -> Answers:
    """The answers of a log."""
    assert config.log is not None
    people = {}
    if config.data is not None:
        people = {person.id: person for person in open_benchmark(str(config.data)).people()}
    rows, everyone = read_log(config.log, people)
    answers = Answers(rows, everyone, config.seed)
    if next(answers.items(), None) is None:
        raise UserError(
            f"{config.log}: no answer has one to be compared with; give each line a 'generic' or a 'wrong' answer, or "
            "answers of several people to the same question."
        )
    return answers


async def _make_answers(store: Store, config: RunConfig, progress: ProgressView) -> tuple[Benchmark, Summary]:
    """Let every system answer every question, told of the person, of nobody, and of somebody else."""
    prompts = Prompts(open_benchmark(str(config.data) if config.data else "starter"))
    dataset = ingest(store, prompts)
    people = People(store.people(dataset))
    selected = selection(store, dataset, replace(config, where=_of_questions(config)))
    given_names = config.givens or ["profile"]
    contexts = list(dict.fromkeys([*given_names, "none", *(f"wrong:{name}" for name in given_names)]))
    models = [make_model(spec) for spec in config.systems]
    check_budget(config.budget, [(model.name, model) for model in models])
    givens = [
        [make_context(name, people, config.seed, default_model([spec])) for name in contexts]
        for spec in config.systems
    ]
    for maker in makers([given for told in givens for given in told]):
        check_budget(config.budget, [(maker.model.name, maker.model)])
    called = {typed: given.name for typed, given in zip(contexts, givens[0], strict=True)}
    given_names = [called[name] for name in given_names]  # as contexts call themselves: memory:k=3 is memory
    answerings = [
        Answering(store, dataset, people, model, each, selected)
        for model, each in zip(models, givens, strict=True)
    ]
    try:
        record = {"benchmark": "answers", "systems": config.systems, "stage": "answering"}
        asks = sum(answering.count for answering in answerings)
        run = store.begin_run(_generation_name(config), dataset, record, asks)
        runner = Runner(store, run.id, progress, config.retry, config.budget)
        every = [given for each in givens for given in each]
        told = await make_contexts(every, store, people, answerings[0].items, runner)
        if told is not None and told.ended_early:
            return Answers([], dict(people), config.seed), told
        summary = await runner.run([answering.lane() for answering in answerings])
    finally:
        for model in models:
            await model.close()
    rows, notes = [], []
    for answering in answerings:
        made, missing = _answer_rows(answering, given_names)
        rows += made
        if missing:
            notes.append(f"{answering.system.name} left {missing} answers unmade (failed, refused or empty).")
    if not any(row.answer for row in rows) and not summary.ended_early:
        raise UserError(
            f"No answer could be made: {summary.last_failure or 'the systems answered nothing'}", code=1
        )
    return Answers(rows, dict(people), config.seed, notes), summary


def _answer_rows(answering: Answering, given_names: list[str]) -> tuple[list[AnswerRow], int]:
    """Rows of what the system answered, "" where it was asked and made nothing, and how many of these there are."""
    rows, missing = [], 0
    for item, texts in answering.tried():
        for given in given_names:
            wanted = (given, "none", f"wrong:{given}")
            missing += sum(texts.get(name) == "" for name in wanted)
            if given not in texts:
                continue
            rows.append(
                AnswerRow(
                    id=f"{hash_text(answering.system.name)[:6]}/{given}/{item.id}",
                    person=item.person,
                    question=item.prompt,
                    answer=texts[given],
                    generic=texts.get("none"),
                    wrong=texts.get(f"wrong:{given}"),
                    expect="generic" if item.slices.get("expect") == "generic" else "personal",
                    system=answering.system.name,
                    given=given,
                )
            )
    return rows, missing


def _of_questions(config: RunConfig) -> list[str]:
    """What --where says of the questions; a log of answers has none apart."""
    return [condition for condition in config.where if condition.partition("=")[0] not in PAIRS]


def _generation_name(config: RunConfig) -> str:
    parts = [config.systems, config.givens, str(config.data), config.users, config.limit, config.seed]
    parts += [_of_questions(config)] if _of_questions(config) else []
    return f"answering-{content_hash(parts)[:8]}"


def estimate(store: Store, config: RunConfig) -> str:
    """What answering and judging would take."""
    if config.log is not None:
        return estimate_benchmark(store, config, _logged(config))
    prompts = list(Prompts(open_benchmark(str(config.data) if config.data else "starter")).items())
    questions = min(len(prompts), config.limit or len(prompts))
    contexts = 1 + 2 * len(config.givens or ["profile"])
    lines = []
    for spec in config.systems:
        model = make_model(spec)
        calls = questions * contexts
        line = f"{model.name}: {calls:,} answers, about {calls * USUAL_TOKENS:,} tokens out"
        if model.price is not None:
            line += f", about {calls * USUAL_TOKENS * model.price[1] / 1e6:.2f} USD"
        lines.append(f"{line}.")
    pairs = questions * 2 * len(config.givens or ["profile"]) * max(1, len(config.systems))
    views = len(config.views) or 3
    lines.append(f"Each judge that sees an order: {pairs * views * 2:,} asks over {pairs:,} pairs.")
    return "\n".join(lines)
