"""Kinds of item. A new one is one file and one line in `KINDS` (or an entry point `personafit.kinds`)."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from personafit._errors import UserError
from personafit._plugins import find_plugin
from personafit.benchmarks.benchmark import Benchmark
from personafit.items import QuestionSet
from personafit.kinds.kind import Kind, RunPlan
from personafit.kinds.lines import Line, Metric, RunLines
from personafit.store import RunRecord, Store

KINDS = {
    "choice": "personafit.kinds.choice:ChoiceKind",
    "injection": "personafit.kinds.injection:InjectionKind",
    "relevance": "personafit.kinds.relevance:RelevanceKind",
    "preference": "personafit.kinds.preference:PreferenceKind",
    "dialogue": "personafit.kinds.dialogue:DialogueKind",
    "writing": "personafit.kinds.writing:WritingKind",
    "episode": "personafit.kinds.episode:EpisodeKind",
}
"""Name to the class, which is imported when a benchmark has such items."""
MADE_FROM = {"task": "dialogue"}
"""Kinds of item that a system first turns into another kind; for questions, the benchmark says into which."""


def find_kind(name: str, place: Callable[[str], str] | None = None) -> Kind:
    """Return the kind of that name; `place` says where it is named, for the error on an unknown one."""
    if name in KINDS:
        module, _, cls = KINDS[name].partition(":")
        kind: Kind = getattr(import_module(module), cls)()
        return kind
    found: Any = find_plugin("kinds", name)
    if found is None:
        where = "There" if place is None else f"{place(name)}: there"
        raise UserError(
            f"{where} are items of kind '{name:.40}', which nothing here knows; kinds are {', '.join(KINDS)}, and those of "
            "installed packages."
        )
    made: Kind = found() if isinstance(found, type) else found
    asks = getattr(made, "asks", None)
    if not isinstance(asks, QuestionSet) or not asks.asked:
        raise UserError(
            f"The kind {name} does not say what is asked: it needs asks = personafit.QuestionSet('{name}', (QUESTION,))."
        )
    return made


def run_lines(store: Store, run: RunRecord) -> RunLines:
    """Return the lines of a run of any kind, read from the store; every planned unit is held in memory."""
    return find_kind(str(run.config.get("kind", "choice"))).lines(store, run)


def kind_of(benchmark: Benchmark) -> Kind:
    """Return the kind of a benchmark's items: the one it declares, else its first item's."""
    first = next(iter(benchmark.items()), None)
    if first is None:
        raise UserError(f"{benchmark.info.name} has no items: there is nothing to judge.")
    declared = benchmark.info.kind or getattr(benchmark, "becomes", None)
    return find_kind(
        declared or MADE_FROM.get(first.kind, first.kind), getattr(benchmark, "kind_place", None)
    )


__all__ = ["KINDS", "Kind", "Line", "Metric", "RunPlan", "find_kind", "kind_of", "run_lines"]
