"""Where a study's answers come from: a folder with votes, the published data, or a run; and the runs on the same items."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from personafit._errors import UserError
from personafit.benchmarks.benchmark import Benchmark, ingest
from personafit.benchmarks.folder import FolderBenchmark
from personafit.benchmarks.recentering import LABELS
from personafit.benchmarks.recentering.labels import RelevanceLabels
from personafit.benchmarks.recentering.responses import (
    PAIRS,
    PreferenceFolder,
    ResponsePairs,
    data_folder,
    folder_votes,
    rater_kinds,
)
from personafit.items.preference import PREFERENCE
from personafit.items.relevance import RELEVANCE
from personafit.reporting.preference.results import preference_results
from personafit.reporting.preference.scores import PreferenceScores, load_preferences
from personafit.reporting.recentering_study.relevance import (
    RelevanceStudy,
    relevance_findings,
    relevance_study,
    run_relevance,
)
from personafit.reporting.results import Result
from personafit.store import Judgment, RunRecord, Store


@dataclass(frozen=True)
class StudyAnalysis:
    """The relevance and preference figures of a study, ready for its report."""

    name: str
    relevance: RelevanceStudy | None
    preferences: PreferenceScores | None
    results: list[Result]
    notes: list[str]


def load_study(source: str, url: str) -> StudyAnalysis:
    """The study a name stands for: a folder, published data, `starter`, or a run of the store."""
    folder = data_folder(Path(source)) if source == "starter" else Path(source)
    is_data = any((folder / name).is_file() for name in (LABELS, PAIRS, "benchmark.toml"))
    if not is_data:
        return _of_run(source, url)
    if "://" in url or Path(url).is_file():
        with Store(url) as store:
            return _of_folder(folder, store)
    # Nothing was run yet: the data is read into a store that nobody keeps.
    with TemporaryDirectory() as place, Store(Path(place) / "store.db") as store:
        return _of_folder(folder, store)


def _of_run(name: str, url: str) -> StudyAnalysis:
    with Store(url) as store:
        try:
            run = store.run(Path(name).name if Path(name).is_dir() else name)
        except KeyError:
            raise UserError(
                f"'{name}' is neither a folder of `data forms` with votes, nor published data ({LABELS}, {PAIRS}), nor a run in {url}."
            ) from None
        kind = run.config.get("kind")
        if kind == RELEVANCE:
            return _study(run.name, run_relevance(store, run), None)
        if kind == PREFERENCE:
            return _study(run.name, None, load_preferences(store, run))
    raise UserError(f"{run.name} is no run about relevance or preferences, so it has no such tables.")


def _of_folder(folder: Path, store: Store) -> StudyAnalysis:
    relevance = preferences = None
    if labels := _relevance_source(folder):
        dataset = ingest(store, labels)
        runs = _runs(store, dataset, RELEVANCE)
        votes = [] if isinstance(labels, RelevanceLabels) else list(folder_votes(folder, RELEVANCE))
        kinds = _label_kinds(labels, folder)
        relevance = relevance_study(store, labels, votes, kinds, runs)
    if pairs := _preference_source(folder):
        dataset = ingest(store, pairs)
        preferences = _preferences(store, pairs, dataset)
    if relevance is None and preferences is None:
        raise UserError(f"{folder} has neither relevance nor preference items, so there is nothing to study.")
    return _study(folder.name, relevance, preferences)


def _study(
    name: str, relevance: RelevanceStudy | None, preferences: PreferenceScores | None
) -> StudyAnalysis:
    results: list[Result] = []
    notes: list[str] = []
    if relevance is not None:
        results += relevance_findings(relevance)
        notes += relevance.notes
    if preferences is not None:
        results += preference_results(preferences)
        notes += preferences.run.config["notes"]
        if preferences.people_are == "simulated":
            notes.append("The marks of stage 3 are by simulated raters, not by people.")
    return StudyAnalysis(name, relevance, preferences, results, list(dict.fromkeys(notes)))


def _relevance_source(folder: Path) -> Benchmark | None:
    if (folder / LABELS).is_file():
        return RelevanceLabels(folder)
    return (
        _with_items(FolderBenchmark(folder, kind=RELEVANCE))
        if (folder / "benchmark.toml").is_file()
        else None
    )


def _preference_source(folder: Path) -> Benchmark | None:
    if (folder / PAIRS).is_file():
        return ResponsePairs(folder)
    return _with_items(PreferenceFolder(folder)) if (folder / "benchmark.toml").is_file() else None


def _with_items(benchmark: Benchmark) -> Benchmark | None:
    return benchmark if next(benchmark.items(), None) is not None else None


def _label_kinds(labels: Benchmark, folder: Path) -> dict[str, str]:
    """What the raters of the data are: the gold is gold, other names in published labels are models."""
    if isinstance(labels, RelevanceLabels):
        names: set[str] = {row.rater for row in labels.gold() if isinstance(row, Judgment)}
        return {name: "gold" if name == labels.info.gold else "llm" for name in names}
    return {labels.info.gold: "gold", **rater_kinds(folder)}


def _runs(store: Store, dataset: str, kind: str) -> list[RunRecord]:
    return [run for run in store.runs() if run.dataset == dataset and run.config.get("kind") == kind]


def _preferences(store: Store, pairs: Benchmark, dataset: str) -> PreferenceScores:
    """The marks that came with the data, and those of every run on them; a rater counts once, by its latest run."""
    runs = _runs(store, dataset, PREFERENCE)
    partly = [run.name for run in runs if run.config["selected"] is not None]
    notes = [*pairs.notes(), *(f"{name} judged only a part of the pairs and is left out." for name in partly)]
    nothing = {"selected": None, "raters": [], "samples": 1, "notes": notes, "views": []}
    scores = load_preferences(store, RunRecord(-1, dataset, dataset, nothing, 0, 0.0, None))
    lines = list(scores.lines)
    for run in runs:
        if run.name not in partly:
            known = {line.fingerprint for line in lines}
            lines += [line for line in load_preferences(store, run).lines if line.fingerprint not in known]
    return PreferenceScores(
        scores.run, scores.info, scores.units, lines, scores.answers, scores.panel, scores.people_are
    )
