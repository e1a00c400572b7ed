"""The build pipeline: steps run in order, each once, resumed after an interruption, and redone on request or when inputs change.

A step is done when its folder `steps/NAME` holds a `done.json` with the fingerprint of everything that shaped it: code
version, prompts, models, section, seed, take, and the content of the rows it read. Replies are in `build.db`, so that a
step that has to be redone makes only new calls.
"""

import asyncio
import errno
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from personafit._errors import UserError
from personafit._hashing import content_hash
from personafit.build.answers import AnswersStep
from personafit.build.bench import Bench, BuildModels
from personafit.build.config import BuildConfig, config_of, meant
from personafit.build.folder import write_benchmark
from personafit.build.memories import FeaturesStep, MemoriesStep
from personafit.build.pairs import PairsStep
from personafit.build.people import PeopleStep
from personafit.build.questions.step import QuestionsStep
from personafit.build.step import BuildStep, ExpectedAsks
from personafit.build.studies.tiers import TiersStep
from personafit.build.studies.truth import TruthStep
from personafit.build.tasks.tasks import TasksStep
from personafit.engine import Bars, ProgressView, Summary, check_budget
from personafit.models import Model
from personafit.store import Store

STEPS: dict[str, tuple[type[BuildStep], ...]] = {
    "people": (PeopleStep,),
    "memories": (MemoriesStep, FeaturesStep),
    "questions": (QuestionsStep,),
    "answers": (AnswersStep,),
    "studies": (TruthStep, TiersStep),
    "pairs": (PairsStep,),
    "tasks": (TasksStep,),
}
"""The steps of each section of a config, each after the steps it reads from."""
STORE = "build.db"
FULL = (errno.ENOSPC, errno.EDQUOT)


def read_config(path: Path) -> BuildConfig:
    """Read a config file; the first error is one sentence that names the key."""
    return config_of(path, {name: steps[0].section for name, steps in STEPS.items()})


def steps_of(sections: Iterable[str]) -> list[BuildStep]:
    """Return the steps of some sections, in execution order; a missing section is a UserError."""
    present = set(sections)
    found = [step() for name, steps in STEPS.items() if name in present for step in steps]
    owners = {step.name: name for name, steps in STEPS.items() for step in steps}
    for step in found:
        for needed in step.after:
            if owners[needed] not in present:
                raise UserError(
                    f"The step '{step.name}' needs what '{needed}' makes: add a section [{owners[needed]}] to the config."
                )
    return found


@dataclass
class Built:
    """The outcome of a build command."""

    out: Path
    done: list[str] = field(default_factory=list)
    """Steps run by this command."""
    kept: list[str] = field(default_factory=list)
    """Steps that were already done."""
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    """Row counts by step and stream."""
    summary: Summary = field(default_factory=Summary)


def build(
    config: BuildConfig, out: Path, budget: float | None = None, progress: ProgressView | None = None
) -> Built:
    """Run every step that is not done, then write the benchmark folder; shows progress bars unless `progress` is given."""
    with nullcontext(progress) if progress is not None else Bars() as shown:
        return asyncio.run(_build(config, out, shown, budget))


async def _build(config: BuildConfig, out: Path, progress: ProgressView, budget: float | None) -> Built:
    steps = _steps(config)
    budget = config.build.budget if budget is None else budget
    models, built = BuildModels(config), Built(out)
    try:
        asked = models.all(dict.fromkeys(role for step in steps for role in step.roles))
        asked += [model for step in steps for model, _ in _expected(step, config, models)]
        check_budget(budget, [(model.name, model) for model in asked])
        (out / "steps").mkdir(parents=True, exist_ok=True)
        with Store(out / STORE) as store:
            for step in steps:
                left = None if budget is None else max(0.0, budget - built.summary.cost)
                await _do(step, Bench(step.name, config, out, models, store, progress, left), built)
            write_benchmark(config, steps, models, out, store)
    except OSError as error:
        if error.errno in FULL:
            raise UserError(
                f"{out}: the disk is full; what was made is kept, and the same command goes on once there is room.",
                code=1,
            ) from error
        raise UserError(f"{out} cannot be written ({error.strerror}); choose another with --out.") from error
    finally:
        await models.close()
    return built


async def _do(step: BuildStep, bench: Bench, built: Built) -> None:
    """Run a step unless it is done."""
    fingerprint = _fingerprint(step, bench)
    if _done(bench, step.name).get("fingerprint") == fingerprint:
        built.kept.append(step.name)
    else:
        bench.begin()
        try:
            await step.make(bench)
            bench.finish(fingerprint)
        finally:
            built.summary.charge(bench.summary)
        built.done.append(step.name)
    built.counts[step.name] = _done(bench, step.name)["counts"]


def estimate(config: BuildConfig, out: Path | None = None, budget: float | None = None) -> str:
    """Describe the calls, tokens and cost of every step; for a folder already begun, only of the remaining steps."""
    steps, models = _steps(config), BuildModels(config)
    left = _left(config, steps, models, out)
    lines, calls, tokens, cost, unpriced = [], 0, 0, 0.0, set()
    for step in steps:
        if step.name not in left:
            lines.append(f"{step.name}: done before.")
            continue
        found = _expected(step, config, models)
        if not found:
            lines.append(f"{step.name}: no model call.")
        for model, one in found:
            calls += one.calls
            tokens += one.calls * (one.tokens_in + one.tokens_out)
            line = (
                f"{step.name}: {one.what} by {model.name}: about {one.calls:,} calls, "
                f"{one.calls * one.tokens_in:,} tokens in and {one.calls * one.tokens_out:,} out"
            )
            if one.cost is None:
                unpriced.add(model.name)
                lines.append(f"{line}; its price is unknown (add ,price=IN/OUT).")
            else:
                cost += one.cost
                lines.append(f"{line}, {one.cost:.2f} USD.")
    known = f"{cost:.2f} USD" + (f" and whatever {', '.join(sorted(unpriced))} costs" if unpriced else "")
    lines.append(
        f"In all about {calls:,} calls, {tokens:,} tokens, {known}; what is rejected is asked anew on top."
    )
    budget = config.build.budget if budget is None else budget
    if budget is not None and cost > budget:
        lines.append(f"The budget of {budget:g} USD does not last that long; each command may spend as much.")
    return "\n".join(lines)


def _left(config: BuildConfig, steps: Sequence[BuildStep], models: BuildModels, out: Path | None) -> set[str]:
    """Return the steps a build would run: those not done under this config, and all that depend on them."""
    left: set[str] = set()
    for step in steps:
        bench = Bench(step.name, config, out or Path(), models)
        done = out is not None and _done(bench, step.name).get("fingerprint") == _fingerprint(step, bench)
        if not done or left & {*step.after, *step.uses}:
            left.add(step.name)
    return left


def _steps(config: BuildConfig) -> list[BuildStep]:
    """Return the steps of a build, after checking that it has some and that `takes` names only these."""
    steps = steps_of(config.sections)
    names = [step.name for step in steps]
    if not names:
        raise UserError(f"{config.path} asks for nothing: add a section such as [people].")
    for name in config.build.takes:
        if name not in names:
            raise UserError(f"{config.path}, [build] takes: there is no step '{name}'; {meant(name, names)}.")
    return steps


def _expected(step: BuildStep, config: BuildConfig, models: BuildModels) -> list[tuple[Model, ExpectedAsks]]:
    """Return the asks a step expects to make, each with its model."""
    asks = step.expected(Bench(step.name, config, Path(), models))
    return [(one.model, one) for one in asks if one.model is not None]


def _fingerprint(step: BuildStep, bench: Bench) -> str:
    config = bench.config
    return content_hash(
        {
            "step": [step.name, step.version, [config.prompt(one).fingerprint for one in step.prompts]],
            "section": config.section(step.section).model_dump(mode="json"),
            "build": [config.build.seed, config.build.languages],
            "models": [[role, [model.settings for model in bench.models.all([role])]] for role in step.roles],
            "take": bench.take,
            "read": [_done(bench, name).get("digest") for name in (*step.after, *step.uses)],
            "outside": step.outside(bench),
        }
    )


def _done(bench: Bench, step: str) -> dict[str, Any]:
    """Return the contents of a step's `done.json`; empty if the step is not done."""
    try:
        found: dict[str, Any] = orjson.loads((bench.folder(step) / "done.json").read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return {}
    return found
