"""The line: steps in order, each done once, taken up where it was interrupted, and done anew when asked or when its inputs changed.

A step is done when its folder `steps/NAME` holds a `done.json` with the fingerprint of everything that shaped it: code
version, prompts, models, section, seed, take, and the content of the rows it read. Replies are in `build.db`, so that a
step which has to be done again asks only what it never asked.
"""

import errno
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from personafit._errors import UserError
from personafit._hashing import content_hash
from personafit.build.bench import POOL, Bench, BuildModels, Waiting, add_summary
from personafit.build.config import BuildConfig, meant
from personafit.build.folder import write_benchmark
from personafit.build.step import BuildStep, ExpectedAsks, steps_of
from personafit.engine import ProgressView, Summary, check_budget
from personafit.models import Model
from personafit.store import Store

STORE = "build.db"
TAKES = "takes.json"
REDOING = "redoing"  # in the folder of steps: which step `--step` does anew, until the whole line is done
FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass
class Built:
    """How a build went in this command."""

    out: Path
    done: list[str] = field(default_factory=list)
    """Steps done by this command."""
    kept: list[str] = field(default_factory=list)
    """Steps that were done already."""
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    """Rows by step and stream."""
    summary: Summary = field(default_factory=Summary)


async def build(
    config: BuildConfig,
    out: Path,
    progress: ProgressView,
    redo: str | None = None,
    budget: float | None = None,
) -> Built:
    """Do every step that is not done, then write the benchmark folder."""
    steps = steps_of(config.sections)
    _check(config, steps, redo)
    budget = config.build.budget if budget is None else budget
    models, built = BuildModels(config), Built(out)
    try:
        _check_budget(config, models, steps, budget)
        (out / "steps").mkdir(parents=True, exist_ok=True)
        takes = _takes(out, steps, redo)
        with Store(out / STORE) as store:
            for step in steps:
                left = None if budget is None else max(0.0, budget - built.summary.cost)
                bench = Bench(step.name, config, out, models, store, progress, takes.get(step.name, 0), left)
                await _do(step, bench, models, built)
            write_benchmark(config, steps, models, out, store)
        (out / "steps" / REDOING).unlink(missing_ok=True)
    except Waiting:
        (out / "steps" / REDOING).unlink(missing_ok=True)
        raise
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


async def _do(step: BuildStep, bench: Bench, models: BuildModels, built: Built) -> None:
    fingerprint = _fingerprint(step, bench, models)
    done = _done(bench, step.name)
    if done.get("fingerprint") == fingerprint:
        built.kept.append(step.name)
    else:
        bench.begin()
        try:
            await step.make(bench)
            bench.finish(fingerprint)
        finally:
            add_summary(built.summary, bench.summary)
        built.done.append(step.name)
        done = _done(bench, step.name)
    built.counts[step.name] = done["counts"]


def estimate(
    config: BuildConfig, out: Path | None = None, redo: str | None = None, budget: float | None = None
) -> str:
    """The calls, tokens and money of every step, in words; of a folder that was begun only of what is left to do."""
    steps = steps_of(config.sections)
    _check(config, steps, redo)
    models = BuildModels(config)
    left = _left(config, steps, models, out, redo)
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
    stored = ", and what is stored already is not" if out is not None and (out / STORE).is_file() else ""
    lines.append(
        f"In all about {calls:,} calls, {tokens:,} tokens, {known}; what is rejected is asked anew on top{stored}."
    )
    budget = config.build.budget if budget is None else budget
    if budget is not None and cost > budget:
        lines.append(f"The budget of {budget:g} USD does not reach that far; each command may spend as much.")
    return "\n".join(lines)


def _left(
    config: BuildConfig, steps: Sequence[BuildStep], models: BuildModels, out: Path | None, redo: str | None
) -> set[str]:
    """The steps that a build would do: what is not done, what is to be done anew, and whatever reads from these."""
    left = {redo} if redo is not None else set()
    takes = _read_json(out / "steps" / TAKES) if out is not None else {}
    for step in steps:
        if out is None or left & {*step.after, *step.uses}:
            left.add(step.name)
            continue
        bench = Bench(step.name, config, out, models, take=takes.get(step.name, 0))
        if _done(bench, step.name).get("fingerprint") != _fingerprint(step, bench, models):
            left.add(step.name)
    return left


def _check(config: BuildConfig, steps: Sequence[BuildStep], redo: str | None) -> None:
    names = [step.name for step in steps]
    if not names:
        raise UserError(f"{config.path} asks for nothing: add a section such as [people].")
    if redo is not None and redo not in names:
        raise UserError(f"--step {redo}: there is no such step in this build; {meant(redo, names)}.")


def _check_budget(
    config: BuildConfig, models: BuildModels, steps: Sequence[BuildStep], budget: float | None
) -> None:
    """Every model that a step names or expects to ask, models that vote among them."""
    roles = dict.fromkeys(role for step in steps for role in step.roles)
    found = [model for role in roles for model in (models.pool() if role == POOL else [models.role(role)])]
    for step in steps:
        found += [model for model, _ in _expected(step, config, models)]
    check_budget(budget, [(model.name, model) for model in found if model is not None])


def _expected(step: BuildStep, config: BuildConfig, models: BuildModels) -> list[tuple[Model, ExpectedAsks]]:
    """The asks of a step with the models that are asked."""
    asks = step.expected(Bench(step.name, config, Path(), models))
    return [(one.model, one) for one in asks if one.model is not None]


def _fingerprint(step: BuildStep, bench: Bench, models: BuildModels) -> str:
    config = bench.config
    read = [_done(bench, name).get("digest") for name in (*step.after, *step.uses)]
    return content_hash(
        {
            "step": [step.name, step.version, [config.prompt(one).fingerprint for one in step.prompts]],
            "section": config.section(step.section).model_dump(mode="json"),
            "build": [config.build.seed, config.build.languages],
            "models": models.settings(step.roles),
            "take": bench.take,
            "read": read,
            "outside": step.outside(bench),
        }
    )


def _done(bench: Bench, step: str) -> dict[str, Any]:
    """What a finished step says of itself; nothing where it has to be done, as after a version that wrote Parquet."""
    folder = bench.folder(step)
    return {} if any(folder.glob("*.parquet")) else _read_json(folder / "done.json")


def _takes(out: Path, steps: Sequence[BuildStep], redo: str | None) -> dict[str, int]:
    """Which time each step is done; `redo` begins another for the step and all that depends on it.

    What was begun anew is gone on with until the whole line is done, so that the same command resumes.
    """
    takes, begun = _read_json(out / "steps" / TAKES), out / "steps" / REDOING
    if redo is None or not (out / "steps" / redo / "done.json").is_file():
        return takes
    if begun.is_file() and begun.read_text(encoding="utf-8") == redo:
        return takes
    stale = {redo}
    for step in steps:
        if stale & {*step.after, *step.uses}:
            stale.add(step.name)
    for name in sorted(stale):
        takes[name] = takes.get(name, 0) + 1
    path = out / "steps" / TAKES
    fresh = path.with_suffix(".part")
    fresh.write_bytes(orjson.dumps(takes))
    fresh.replace(path)
    begun.write_text(redo, encoding="utf-8")
    for name in stale:  # not done any more, whatever happens next
        shutil.rmtree(out / "steps" / name, ignore_errors=True)
    return takes


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return {}
    return found
