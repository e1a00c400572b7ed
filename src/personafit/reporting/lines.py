"""Opening a run of any kind as lines of scored units."""

from importlib import import_module

from personafit.kinds import find_kind
from personafit.kinds.lines import RunLines
from personafit.reporting.declared import declared
from personafit.store import RunRecord, Store

LOADERS = {
    "choice": "personafit.reporting.scores:choice_lines",
    "injection": "personafit.reporting.injection.results:injection_lines",
    "relevance": "personafit.reporting.relevance.results:relevance_lines",
    "preference": "personafit.reporting.preference.results:preference_lines",
    "writing": "personafit.reporting.writing.scores:writing_lines",
    "dialogue": "personafit.reporting.dialogues.results:dialogue_lines",
}
"""Kind to what opens its runs; a kind of somebody's own does that itself."""


def run_lines(store: Store, run: RunRecord) -> RunLines:
    """The lines of a run of any kind, read back from the store; every planned unit is held in memory."""
    kind = run.config.get("kind", "choice")
    if kind not in LOADERS:
        return find_kind(str(kind)).lines(store, run)
    module, _, name = LOADERS[kind].partition(":")
    opened: RunLines = getattr(import_module(module), name)(store, run)
    return declared(store, opened)
