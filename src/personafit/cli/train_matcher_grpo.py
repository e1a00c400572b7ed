"""`personafit train matcher --method grpo`: what it needs, and what it prints."""

import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from personafit._errors import UserError
from personafit.cli.common import hint, print_json
from personafit.reporting import Result
from personafit.training.grpo_settings import GrpoSettings

if TYPE_CHECKING:
    from personafit.training.matcher_quality import MatcherMetric

NEEDED = ("torch", "transformers", "accelerate", "peft", "datasets", "trl")


def train_matcher_grpo(data: Path, out: Path, settings: GrpoSettings, as_json: bool) -> None:
    """Train, and print the card or the figures."""
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        raise UserError(
            f"--method grpo needs {', '.join(missing)}, which pip install 'personafit[train]' trl datasets brings."
        )
    from personafit.benchmarks.recentering import open_relevance
    from personafit.training.matcher_grpo import train_grpo
    from personafit.training.relevance_data import load_judged_pairs

    benchmark = open_relevance(data)
    first = os.environ.get("RANK", "0") == "0"
    say = hint if first else lambda _: None
    judged = load_judged_pairs(benchmark, say, most=None)
    trained = train_grpo(judged, benchmark.info.name, settings, out, say)
    if not first:
        return
    if as_json:
        print_json(benchmark.info.name, figure_results(trained.figures, trained.rater, trained.fingerprint))
    else:
        print(trained.card)
        print(f"Rater: {trained.rater}")


def figure_results(figures: "Sequence[MatcherMetric]", rater: str, fingerprint: str) -> list[Result]:
    """The figures of a matcher as flat records."""
    return [
        Result.of(
            figure.estimate,
            metric=figure.metric,
            rater=rater,
            slice={"split": figure.split}
            | ({} if figure.repeat is None else {"repeat": str(figure.repeat + 1)}),
            control=figure.control,
            fingerprint=fingerprint if figure.control is None else None,
        )
        for figure in figures
    ]
