"""What a training run is asked for, and the three recipes of the PersonaFeedback paper's small reward models."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from personafit._errors import UserError
from personafit.models.reward.layout import Layout

ADAPTER = "adapter_config.json"  # what peft calls it; a folder with it is an adapter
Preset = Literal["base", "helpsteer", "personal"]


@dataclass(frozen=True)
class Recipe:
    """One row of the paper's Table 6: which pairs are trained on, and in batches of how many."""

    batch: int
    personal: bool
    general: bool
    rate: float = 1e-5
    epochs: float = 1.0
    max_tokens: int = 4096


RECIPES: dict[Preset, Recipe] = {
    "base": Recipe(batch=32, personal=False, general=False),
    "helpsteer": Recipe(batch=32, personal=False, general=True),
    "personal": Recipe(batch=64, personal=True, general=True),
}
"""`base` trains nothing: a new head on the base as it is, which is where the others start from."""


@dataclass(frozen=True)
class Mix:
    """A file of general pairs, and how many of them come to one personal pair."""

    path: Path
    ratio: float | None
    """None takes the whole file."""


@dataclass(frozen=True)
class RewardSettings:
    """All settings of a training run that shape its result."""

    base: str
    data: Path
    out: Path
    preset: Preset = "personal"
    mix: Mix | None = None
    swap: float = 0.0
    """So many pairs of one answer before two people for each personal pair."""
    lora: bool = False
    adapter: bool = False
    pack: Layout = "tree"
    epochs: float = 1.0
    batch: int = 64
    together: int | None = None
    """Pairs of one person side by side at most; None keeps people whole as far as they fit into a batch."""
    rate: float = 1e-5
    max_tokens: int = 4096
    seed: int = 0
    limit: int | None = None
    held_out: float = 0.1
    report_to: str = "none"

    def as_dict(self) -> dict[str, object]:
        """The settings as plain values, without where the result goes and who is told of the progress."""
        told = {
            name: value for name, value in asdict(self).items() if name not in ("out", "report_to", "mix")
        }
        told["data"] = str(self.data)
        told["mix"] = None if self.mix is None else [str(self.mix.path), self.mix.ratio]
        return told


def parse_mix(text: str) -> Mix:
    """`FILE=RATIO`, or a file alone to take all of it."""
    path, _, ratio = text.rpartition("=")
    if not path:
        return Mix(Path(text), None)
    try:
        share = float(ratio)
    except ValueError:
        share = -1.0
    if not 0 < share < float("inf"):
        raise UserError(
            f"--mix {text}: the ratio must be a number above 0, as in helpsteer2.jsonl=0.36, not '{ratio}'."
        )
    return Mix(Path(path), share)


def check(settings: RewardSettings) -> None:
    """Refuse what cannot be meant, before anything is loaded."""
    recipe = RECIPES[settings.preset]
    if recipe.general and not recipe.personal and settings.mix is None:
        raise UserError(
            f"--preset {settings.preset} trains on general pairs alone; name their file with --mix."
        )
    if settings.adapter and not settings.lora:
        raise UserError("--adapter keeps what --lora trains apart from the base; give --lora as well.")
    if settings.adapter and settings.base.endswith(".gguf"):
        raise UserError(
            "--adapter needs a base that transformers finds again by name; a .gguf is none: merge instead."
        )
    if settings.adapter and (Path(settings.base).expanduser() / ADAPTER).is_file():
        raise UserError(
            f"--adapter cannot be put on {settings.base}, which is an adapter itself: leave --adapter out, and both are merged."
        )
    for name, value, least in (
        ("--per-device-batch-size", settings.batch, 1),
        ("--together", settings.together if settings.together is not None else 1, 1),
        ("--max-length", settings.max_tokens, 16),
        ("--limit", settings.limit if settings.limit is not None else 1, 1),
    ):
        if value < least:
            raise UserError(f"{name} must be at least {least}, not {value}.")
    if settings.swap and not recipe.personal:
        raise UserError(
            f"--preset {settings.preset} trains on no personal pairs, so there is nobody to swap; leave --swap out."
        )
    if not 0 <= settings.swap < float("inf"):
        raise UserError(f"--swap must be 0 or above, not {settings.swap:g}.")
    if not 0 < settings.rate < 1:
        raise UserError(f"--learning-rate must lie between 0 and 1, not {settings.rate:g}.")
    if not 0 < settings.epochs < float("inf"):
        raise UserError(f"--num-train-epochs must be above 0, not {settings.epochs:g}.")
    if not 0 <= settings.held_out < 1:
        raise UserError(f"--held-out must be at least 0 and below 1, not {settings.held_out:g}.")
