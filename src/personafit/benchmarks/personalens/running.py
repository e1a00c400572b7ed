"""`personafit run personalens`: every dialogue is held, then every one that came to an end is judged."""

from typing import cast

from personafit._errors import UserError
from personafit.benchmarks.config import Finished, RunConfig
from personafit.benchmarks.personalens.plan import DEFAULT, Plan, make_plan
from personafit.benchmarks.plans import close_run
from personafit.contexts import make_contexts
from personafit.engine import ProgressView, Runner, Summary
from personafit.items.dialogue_questions import DIALOGUE_QUESTIONS, VIEWS, View
from personafit.models import Model
from personafit.models.tokens import prompt_tokens
from personafit.raters import PromptedRater
from personafit.raters.dialogues import DialogueJudge, dialogue_lanes, make_dialogue_judge
from personafit.simulate import dialogues
from personafit.simulate.dialogue import USUAL_TOKENS
from personafit.simulate.speakers import Assistant, UserAgent
from personafit.store import RaterRecord, Store

USUAL_EXCHANGES = 5  # for estimates only: nobody knows before how long people talk


async def execute(store: Store, config: RunConfig, progress: ProgressView) -> Finished:
    """Carry the run out, from wherever it stands to its end."""
    views = _views(config)
    judges = [make_dialogue_judge(spec) for spec in dict.fromkeys(config.raters or [DEFAULT])]
    plan = make_plan(store, config, judges, views)
    try:
        asks = plan.dialogues * (1 + sum(judge.samples for judge in judges) * len(DIALOGUE_QUESTIONS))
        run = store.begin_run(plan.name, plan.dataset, plan.record, asks)
        store.add_raters([*(judge.record for judge in judges), *_speakers(plan)])
        runner = Runner(store, run.id, progress, config.retry, config.budget)
        made = await make_contexts(plan.givens, store, plan.people, plan.tasks, runner)
        if made is not None and made.ended_early:
            return close_run(store, run.name, made)
        summary = await runner.run([simulation.lane() for simulation in plan.simulations()])
        if not _ended_early(summary):
            ended = dialogues(store, run.id).ended
            lanes = dialogue_lanes(store, ended, judges, plan.people, views)
            summary = await runner.run(lanes)
    finally:
        for judge in judges:
            await judge.close()
        await plan.close()
    return close_run(store, run.name, summary)


def _ended_early(summary: Summary) -> bool:
    """Whether there is nothing to judge yet; one system that died does not keep the others from being judged."""
    return summary.interrupted or all(lane.stopped for lane in summary.lanes)


def _views(config: RunConfig) -> tuple[View, ...]:
    for view in config.views:
        if view not in VIEWS:
            raise UserError(
                f"--view {view}: judges of dialogues see what the assistant was given (given) or all there is to know (full)."
            )
    return tuple(cast(View, view) for view in dict.fromkeys(config.views)) or VIEWS[:1]


def _speakers(plan: Plan) -> list[RaterRecord]:
    """Who talks, beside who judges: so that a turn's maker has a name."""
    talking: list[tuple[str, UserAgent | Assistant]] = [("user", plan.user)]
    talking += [("system", system) for system in plan.systems]
    return [
        RaterRecord(
            fingerprint=speaker.fingerprint,
            name=speaker.model.name,
            kind=kind,
            settings=speaker.model.settings,
        )
        for kind, speaker in talking
    ]


def estimate(store: Store, config: RunConfig) -> str:
    """What the dialogues and their judging would take, at five exchanges a dialogue."""
    judges = [make_dialogue_judge(spec) for spec in dict.fromkeys(config.raters or [DEFAULT])]
    plan = make_plan(store, config, judges, _views(config))
    lines = [
        f"{plan.record['benchmark']}: {plan.dialogues:,} dialogues over {len(plan.selected):,} tasks; at about "
        f"{USUAL_EXCHANGES} exchanges each:"
    ]
    each = plan.dialogues // len(plan.systems)
    simulation = plan.simulations()[0]
    scene = next(simulation.scenes(), None)
    if scene is None:  # all that is given has to be made by a model first
        return f"{lines[0]}\n  unknown: what the assistant is given is not made yet."
    history = USUAL_EXCHANGES * USUAL_TOKENS  # on average half of what is said by both is in a prompt
    to_user = prompt_tokens(plan.user.opening(scene.brief, scene.person.language)) + history
    to_system = prompt_tokens(plan.systems[0].opening(scene.told)) + history
    for system in plan.systems:
        lines.append(_line(system.model, each * USUAL_EXCHANGES, to_system, USUAL_TOKENS))
    lines.append(_line(plan.user.model, plan.dialogues * (USUAL_EXCHANGES + 1), to_user, USUAL_TOKENS))
    for judge in judges:
        asks = plan.dialogues * len(DIALOGUE_QUESTIONS) * judge.samples
        lines.append(_line(judge, asks, 2 * history + to_system, USUAL_TOKENS // 2))
    return "\n".join(lines)


def _line(who: Model | DialogueJudge, calls: int, tokens_in: int, tokens_out: int) -> str:
    name = who.record.name if isinstance(who, PromptedRater) else who.name
    line = f"  {name}: {calls:,} calls, about {calls * tokens_in:,} tokens in and {calls * tokens_out:,} out"
    if who.price is None:
        return f"{line}; its price is unknown (add ,price=IN/OUT)."
    return f"{line}, about {calls * (tokens_in * who.price[0] + tokens_out * who.price[1]) / 1e6:.2f} USD."
