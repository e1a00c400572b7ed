"""Before a run trains: its pairs, who is held out, and whether its folder is free, its own, or finished."""

import json
import os
from pathlib import Path
from typing import Any

from personafit._errors import UserError
from personafit.training.reward.order import held_out, limited, sampled
from personafit.training.reward.pairs import RewardPair, read_helpsteer, read_pairs, without_ties
from personafit.training.reward.result import FACTS, TrainedReward
from personafit.training.reward.settings import RECIPES, RewardSettings

STARTED = "started.json"


def read(settings: RewardSettings, notes: list[str]) -> list[RewardPair]:
    """The pairs asked for, without those that say nothing."""
    pairs = limited(without_ties(read_pairs(settings.data), notes), settings.limit, settings.seed)
    if not pairs:
        raise UserError(f"{settings.data} holds no pairs. {' '.join(notes)}".rstrip())
    return pairs


def divided(
    settings: RewardSettings, pairs: list[RewardPair], notes: list[str]
) -> tuple[list[RewardPair], list[RewardPair]]:
    """The pairs to train on and those to measure on, by recipe; people and general prompts are held out alike."""
    recipe = RECIPES[settings.preset]
    train, test = ([], pairs) if not recipe.personal else held_out(pairs, settings.held_out, settings.seed)
    if settings.mix is not None and recipe.general:
        general = without_ties(read_helpsteer(settings.mix.path), notes)
        learn, check_on = held_out(general, settings.held_out, settings.seed)
        if settings.mix.ratio is not None:
            wanted = round(settings.mix.ratio * (len(train) or len(pairs)))
            if wanted > len(learn):
                notes.append(
                    f"{settings.mix.path} has {len(learn):,} pairs to train on; {wanted:,} were asked for."
                )
            learn = sampled(learn, wanted, settings.seed)
        train, test = [*train, *learn], [*test, *check_on]
    return train, test


def claim(out: Path, asked: dict[str, Any]) -> TrainedReward | None:
    """Make sure the folder is for this run; what it holds when the run is done already."""
    started = out / STARTED
    try:
        if int(os.environ.get("RANK", "0")) == 0:  # of several processes the first one looks after the folder
            out.mkdir(parents=True, exist_ok=True)
            _claim(out, started, asked)
        if (out / FACTS).is_file():
            facts = json.loads((out / FACTS).read_text(encoding="utf-8"))
            return TrainedReward(out, facts, (out / "card.md").read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{out} cannot be written ({error.strerror}); choose another with --out.") from error
    except json.JSONDecodeError as error:
        raise UserError(f"{out} holds a damaged file ({error}); choose another --out.") from error
    return None


def _claim(out: Path, started: Path, asked: dict[str, Any]) -> None:
    partial = out / f".{STARTED}.partial"
    if all(path in (started, partial) or _is_empty_folder(path) for path in out.iterdir()):
        # Empty, or of a run that was refused or ended before anything came of it.
        partial.write_text(json.dumps(asked, indent=1) + "\n", encoding="utf-8")
        os.replace(partial, started)
        return
    if not started.is_file():
        raise UserError(f"{out} is not empty and holds no training run; choose another --out.")
    before = json.loads(started.read_text(encoding="utf-8"))
    if differ := [name for name in asked if before.get(name) != asked[name]]:
        raise UserError(
            f"{out} holds a run with another {', '.join(differ)}; repeat its command or choose another --out."
        )


def _is_empty_folder(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())
