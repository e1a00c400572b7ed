"""`personafit run recentering`: which attributes matter for a prompt, asked of every rater."""

from personafit.benchmarks.config import Finished, RunConfig
from personafit.benchmarks.recentering import relevance
from personafit.engine import ProgressView
from personafit.store import Store


async def execute(store: Store, config: RunConfig, progress: ProgressView) -> Finished:
    """Carry the run out, from wherever it stands to its end."""
    return await relevance.execute(store, config, progress)


def estimate(store: Store, config: RunConfig) -> str:
    """What the run would ask and cost."""
    return relevance.estimate(store, config)
