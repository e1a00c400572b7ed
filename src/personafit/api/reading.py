"""`compare`, `agree`, `audit`, `analyze` and `rescore`: analyses of runs, raters and benchmarks without model calls."""

import os.path
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from personafit._errors import UserError, writing
from personafit.api.frames import benchmark_of
from personafit.api.places import (
    check_margin,
    find_run,
    make_folder,
    require_judged,
    seed_number,
    store_url,
    whole_number,
)
from personafit.api.run import Run, opened_store
from personafit.benchmarks import is_file, open_benchmark
from personafit.kinds import run_lines
from personafit.kinds.lines import RunLines
from personafit.reports.analysis import Analysis
from personafit.reports.compare import Comparison, compare_runs, comparison_part, fitted_notes, rank_runs
from personafit.statistics.decisions import MARGIN, Conclusion
from personafit.store import RunRecord, Store

if TYPE_CHECKING:
    from personafit.reports.agree_ratings import Source


def compare(
    *runs: Run | str,
    anyway: bool = False,
    margin: float = MARGIN,
    metric: str | None = None,
    store: str | Path | Store | None = None,
) -> Analysis:
    """Test whether runs differ: each against the first, paired and clustered by person; three or more are ranked too.

    Runs of every kind can be compared with others of their kind. What is compared is what differs between them: raters of
    choices, relevance or preferences, raters under attack, assistants on the same tasks, or writers, each by the same judge. Two
    judges of the same products are compared by the marks they give and, where people marked them too, by how close they are to
    people. Of one run, its systems are compared or, where there is one system or none, its raters.

    Args:
        runs: Runs or their names, the baseline first; or one run with several systems or raters.
        anyway: Compare even if the instruments differ.
        margin: Differences below this share of the scale count as none in equivalence tests; 0.05 by default.
        metric: Compare by this metric instead of the headline metrics of the kind.
        store: The store of runs that are given by name.
    """
    if not runs:
        raise UserError("compare needs two runs, or one with two systems or raters.")
    check_margin(margin)
    with ExitStack() as closing:
        opened: dict[str, RunLines] = {}
        names = []
        for run in runs:
            where, record = _judged(run, store, closing)
            opened[record.name] = opened.get(record.name) or run_lines(where, record)
            names.append(record.name)
    loaded = [opened[name] for name in names]
    compared = compare_runs(*loaded, anyway=anyway, margin=margin, metric=metric)
    ranked, notes = rank_runs(loaded, margin, metric), fitted_notes(loaded)
    rows = _comparison_rows(compared)
    body = {"comparisons": rows, "rankings": [one.as_dict() for one in ranked], "notes": list(notes)}
    frame = [{**row, "runs": " - ".join(row["runs"])} for row in rows]
    return Analysis("", (), lambda drawn: comparison_part(compared, ranked, notes, drawn), body, rows=frame)


def _comparison_rows(comparisons: Sequence[Comparison]) -> list[dict[str, Any]]:
    """Return a row for every difference: first minus second, its interval, p-values, and whether it can be claimed."""
    return [
        {
            "first": c.first.name,
            "second": c.second.name,
            "runs": [c.first.run, c.second.run],
            "metric": c.metric,
            "value": c.difference.value,
            "low": c.difference.low,
            "high": c.difference.high,
            "p": c.tested.p,
            "p_holm": c.tested.p_adjusted,
            "distinguishable": c.distinguishable,
            "equivalent": c.tested.verdict is Conclusion.EQUIVALENT,
            "p_equivalent": c.tested.p_equivalent,
            "margin": c.tested.margin,
            "detectable": c.tested.detectable,
            "n": c.difference.n,
            "people": c.difference.people,
            "note": c.difference.note,
            "words": c.sentence(),
        }
        for c in comparisons
    ]


def agree(
    *sources: Run | str | Path, margin: float = MARGIN, store: str | Path | Store | None = None
) -> Analysis:
    """Measure how far all raters agree with each other and with gold, and what a single person reaches.

    Runs and studies of every kind can be given; a run without judges, such as one of writing, has no raters that could agree.

    Args:
        sources: A run (or its name), a benchmark folder with votes.jsonl, or a study. A run brings its raters, gold, and people who
            voted on its items. A folder or a study brings the votes in it and the runs on the same items that the store holds; a
            run beside it must be one of those.
        margin: Largest difference from people that counts as equivalent, as a fraction; 0.05 by default.
        store: The store of the runs and studies.
    """
    from personafit.reports.agree import agreement_object, agreement_part, agreements

    if not sources:
        raise UserError("agree needs a run, a benchmark folder with votes.jsonl, or a study.")
    check_margin(margin)
    with ExitStack() as closing:
        people = [(one, votes) for one in sources if (votes := _votes(one, store, closing)) is not None]
        named = [one for one in sources if not any(one is other for other, _ in people)]
        if len(people) > 1 or (not people and len(named) > 1):
            raise UserError("agree takes one run, or one study or folder with the runs on its items.")
        runs = [_judged(one, store, closing) for one in named]
        source = people[0][1] if people else run_votes(*runs[0])
        found = agreements(source, margin)
    there = {rater.name for one in found for rater in one.ratings.raters}
    for _, run in runs if people else ():
        raters = [rater["name"] for rater in run.config["raters"]]
        # If it matters, names include the context that a rater was shown.
        if not any(name == one or name.startswith(f"{one} (") for name in there for one in raters):
            raise UserError(
                f"{run.name} has judged none of the items of {source.name} in this store: nothing to compare."
            )
    body = agreement_object(source, found)
    return Analysis(
        "",
        (),
        lambda drawn: agreement_part(source, found, drawn),
        body,
        rows=body["results"],
        brief=True,
    )


def votes_source(name: str, store: Store) -> "Source | None":
    """Return everybody's answers in a benchmark folder or a study; None if the name is neither."""
    from personafit.reports.agree_ratings import folder_source

    if os.path.isfile(Path(name) / "benchmark.toml"):
        return folder_source(Path(name), store)
    from personafit.label.studies import Studies

    studies = Studies(store)
    if name not in studies.names():
        return None
    from personafit.label.agreement import study_source

    return study_source(studies, name)


def _votes(named: Run | str | Path, store: str | Path | Store | None, closing: ExitStack) -> "Source | None":
    """Return everybody's answers in a folder or a study; a folder's can be read without a store, so that none is created for it."""
    if isinstance(named, Run):
        return None
    if not isinstance(named, str | Path):
        raise UserError(
            f"agree takes a run, a benchmark folder with votes.jsonl or a study, not {type(named).__name__}."
        )
    url = store.url if isinstance(store, Store) else store_url(store)
    if os.path.isfile(Path(named) / "benchmark.toml") and "://" not in url and not Path(url).is_file():
        from personafit.reports.agree_ratings import folder_source

        return folder_source(Path(named), None)
    return votes_source(str(named), closing.enter_context(opened_store(store)))


def run_votes(store: Store, run: RunRecord) -> "Source":
    """Return the answers of a run's raters and of people who voted on its items in studies of the same store."""
    from personafit.label.agreement import add_studies
    from personafit.reports.agree_ratings import run_source

    source = run_source(store, run)
    add_studies(source, store, run.dataset)
    return source


def audit(
    benchmark: Any,
    *,
    data: str | Path | None = None,
    seed: int = 0,
    command: str | None = None,
) -> Analysis:
    """Measure what simple rules, surface features and the data's own structure score on a benchmark; no model is called.

    Args:
        benchmark: A benchmark's name or folder, a file of pairs, a frame, or rows, as `evaluate` takes them.
        data: Folder with the benchmark's data in its published layout.
        seed: Seed of wrong people and folds.
        command: The command to store with the audit, for repeating it.
    """
    from personafit.reports.audit import audit_benchmark, audit_object, audit_part, audit_results

    named = isinstance(benchmark, str | Path) and not is_file(benchmark)
    opened = (
        open_benchmark(str(benchmark), None if data is None else Path(data), "choice")
        if named
        else benchmark_of(benchmark, data, seed)
    )
    found = audit_benchmark(opened, seed_number(seed))
    body = audit_object(found) | ({} if command is None else {"command": command})
    return Analysis("", list(audit_results(found)), lambda drawn: audit_part(body, drawn), body)


def write_audit(audit: Analysis, folder: Path) -> Path:
    """Write audit.html and audit.json into a folder; returns the page's path."""
    from personafit.reports.audit import FILE

    make_folder(folder)
    with writing(folder):
        (folder / FILE).write_bytes(orjson.dumps(audit.as_dict(), option=orjson.OPT_INDENT_2))
        return audit.report(folder / "audit.html")


ANALYSES = {
    "bias": "bias:analyze_bias",
    "calibration": "calibration:analyze_calibration",
    "correct": "correction:analyze_correction",
    "aspects": "aspects:analyze_aspects",
    "failures": "failures:analyze_failures",
    "power": "power:analyze_power",
}
"""Name of an analysis to the function that makes it."""


def analyze(
    run: Run | str | Path,
    what: str,
    *,
    human: str | Path | None = None,
    rater: str | None = None,
    people: int | None = None,
    items: int | None = None,
    prompts: int | None = None,
    difference: float | None = None,
    metric: str | None = None,
    embedder: str = "",
    store: str | Path | Store | None = None,
) -> Analysis:
    """Analyze a run: biases of its judges, how far they can be trusted, failures, and what another run could detect.

    Args:
        run: A run, or its name; for `retrieval` a benchmark with known relevant memories, such as `starter`.
        what: `bias`, `calibration`, `correct`, `aspects`, `failures`, `power` or `retrieval`.
        human: For `correct`: a JSONL file of people's labels.
        rater: For `failures`: the rater whose choices or answers to use; the first by default.
        people: For `power`: number of people of the planned run.
        items: For `power`: items per person.
        prompts: For `power`: number of prompts, if they recur.
        difference: For `power`: compute what it takes to detect this difference.
        metric: For `power`: the metric to plan for.
        embedder: For `retrieval`: the embedding model.
        store: The store of a run that is given by name.
    """
    if what == "retrieval":
        from personafit.reports.retrieval import analyze_retrieval

        if isinstance(run, Run):
            raise UserError(
                f"retrieval is measured on a benchmark with known relevant memories, such as starter, and not on a run ({run.name})."
            )
        return analyze_retrieval(str(run), embedder)
    if not isinstance(what, str) or what not in ANALYSES:
        raise UserError(
            f"There is no analysis {what!r:.40}; there are {', '.join(ANALYSES)} and retrieval, as in analyze(run, 'power')."
        )
    for name, count in {"people": people, "items": items, "prompts": prompts}.items():
        if count is not None:
            whole_number(name, count)
    module, _, name = ANALYSES[what].partition(":")
    look_into: Callable[..., Analysis] = getattr(import_module(f"personafit.reports.{module}"), name)
    with ExitStack() as closing:
        where, record = _judged(run, store, closing)
        options: dict[str, dict[str, Any]] = {
            "correct": {"human": None if human is None else Path(human)},
            "failures": {"rater": rater},
            "power": {
                "people": people,
                "items": items,
                "prompts": prompts,
                "difference": difference,
                "metric": metric,
            },
        }
        return look_into(where, record, **options.get(what, {}))


class Rescored(NamedTuple):
    """The number of replies that were parsed again, and of those whose judgments changed."""

    read: int
    changed: int


def rescore(run: Run | str | Path, *, store: str | Path | Store | None = None) -> Rescored:
    """Parse the stored replies of a run again with the current parser; nothing is asked, and earlier judgments are kept.

    Args:
        run: A run, or its name.
        store: The store of a run that is given by name.
    """
    from personafit.kinds.rescore import rescore as read_again

    with ExitStack() as closing:
        return Rescored(*read_again(*_judged(run, store, closing)))


def _judged(
    run: Run | str | Path, store: str | Path | Store | None, closing: ExitStack
) -> tuple[Store, RunRecord]:
    """Return a judged run, with the store it is in."""
    if isinstance(run, Run):
        if len(run.runs) != 1:
            kinds = ", ".join(f"{one.name} ({one.kind})" for one in run.runs)
            raise UserError(f"{run.name} is {len(run.runs)} runs: give one of its `runs`, which are {kinds}.")
        return run._store, require_judged(run.runs[0].record)
    opened = closing.enter_context(opened_store(store))
    return opened, require_judged(find_run(opened, str(run)))
