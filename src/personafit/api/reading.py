"""`compare`, `agree` and `audit`: what can be said of runs, raters and benchmarks without asking anybody anything."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl
from rich.console import Console

from personafit._errors import UserError, writing
from personafit._names import inside
from personafit.api.frames import benchmark_of, is_file
from personafit.api.places import HOME, find_run, load_run, require_judged, store_url
from personafit.api.run import Run, open_store, results_frame
from personafit.benchmarks import open_benchmark
from personafit.kinds import run_lines
from personafit.kinds.lines import RunLines
from personafit.reports import load_scores
from personafit.reports.compare import (
    Comparison,
    Ranked,
    compare_runs,
    comparison_part,
    fitted_notes,
    rank_runs,
)
from personafit.reports.pieces import Sentences
from personafit.reports.report import ReportPart
from personafit.reports.terminal import print_pieces
from personafit.statistics.decisions import MARGIN, Conclusion
from personafit.store import RunRecord, Store, run_answers

if TYPE_CHECKING:
    from personafit.reports.agree import Agreement, Finding
    from personafit.reports.agree_ratings import Source
    from personafit.reports.analysis import Analysis
    from personafit.reports.audit import Audit


class _Analysis(ABC):
    """An analysis that prints itself, writes itself as a page, and shows itself in a notebook."""

    hints: ClassVar[Sequence[str]] = ()
    """What a command says beside it, on standard error."""

    @property
    @abstractmethod
    def results(self) -> pl.DataFrame:
        """Every number, a row each."""

    @property
    @abstractmethod
    def sentences(self) -> list[str]:
        """What can be said, a sentence each."""

    @abstractmethod
    def part(self, pictures: bool = True) -> ReportPart:
        """The analysis as a part of a report; a terminal needs no pictures drawn."""

    def print(self, console: Console | None = None) -> None:
        """Print sentences and tables in a terminal."""
        part = self.part(pictures=False)
        print_pieces([Sentences(part.sentences), *part.pieces()], console or Console())

    def report(self, path: str | Path) -> Path:
        """Write the analysis as one self-contained page, and return where it is."""
        from personafit.reports.report_page import write_page

        write_page([self.part()], Path(path))
        return Path(path)

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.sentences)
        return said + self.results._repr_html_()


@dataclass(frozen=True)
class RunComparison(_Analysis):
    """How runs of one kind differ from the first of them: paired by unit, clustered by person, adjusted for how many are compared."""

    comparisons: Sequence[Comparison]
    rankings: Sequence[Ranked]
    notes: Sequence[str]

    @property
    def results(self) -> pl.DataFrame:
        """Every difference, a row each: first minus second, its interval, p-values, and whether it can be claimed."""
        rows = [{**row, "runs": " - ".join(row["runs"])} for row in self._rows]
        return pl.DataFrame(rows, infer_schema_length=None)

    @property
    def sentences(self) -> list[str]:
        """What can be said, a sentence each."""
        ranked = [sentence for ranking in self.rankings for sentence in ranking.sentences()]
        return [*(comparison.sentence() for comparison in self.comparisons), *ranked, *self.notes]

    def as_dict(self) -> dict[str, Any]:
        """The comparison as the one object that `--json` prints."""
        return {
            "comparisons": self._rows,
            "rankings": [ranking.as_dict() for ranking in self.rankings],
            "notes": list(self.notes),
        }

    def part(self, pictures: bool = True) -> ReportPart:
        """The comparison as a part of a report."""
        return comparison_part(self.comparisons, self.rankings, self.notes, pictures)

    @property
    def _rows(self) -> list[dict[str, Any]]:
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
                "p_permutation": c.permutation.p,
                "p_permutation_holm": c.p_permutation_holm,
                "distinguishable": c.distinguishable,
                "equivalent": c.tested.verdict is Conclusion.EQUIVALENT,
                "p_equivalent": c.tested.p_equivalent,
                "margin": c.tested.margin,
                "detectable": c.tested.detectable,
                "n": c.difference.n,
                "people": c.difference.people,
                "note": c.difference.note,
                "permutation_note": c.permutation.note,
                "words": c.sentence(),
            }
            for c in self.comparisons
        ]


def compare(
    *runs: Run | str,
    anyway: bool = False,
    margin: float | None = None,
    metric: str | None = None,
    store: str | Path | Store | None = None,
) -> RunComparison:
    """Say whether runs differ: each against the first, paired and clustered by person; three or more are ranked too.

    Runs of every kind can be compared with others of their kind. What is compared is whoever differs between them: raters of
    choices, relevance or preferences, raters under attack, assistants on the same tasks, or writers, each by the same judge. Two
    judges of the same products are compared by the marks they give and, where people marked them too, by how close they are to
    people.

    Args:
        runs: Two or more runs, or their names.
        anyway: Compare even if the instruments differ.
        margin: Differences below this share of the scale count as none in tests of equivalence; 0.05 by default.
        metric: Compare by this metric, and not by those that runs of this kind are summed up by.
        store: Where runs that are given by name are looked for.
    """
    if len(runs) < 2:
        raise UserError("compare needs two runs; `personafit report last` shows one.")
    names = []
    with _Stores(store) as stores:
        opened: dict[str, RunLines] = {}
        for run in runs:
            where, record = stores.found(run)
            opened[record.name] = opened.get(record.name) or run_lines(where, require_judged(record))
            names.append(record.name)
    loaded = [opened[name] for name in names]
    within = MARGIN if margin is None else margin
    compared = compare_runs(*loaded, anyway=anyway, margin=within, metric=metric)
    return RunComparison(compared, rank_runs(loaded, within, metric), fitted_notes(loaded))


@dataclass(frozen=True)
class RaterAgreement(_Analysis):
    """How far people, judges and gold agree, question by question."""

    source: "Source"
    agreements: Sequence["Agreement"]
    rankings: Sequence["Finding"]

    @property
    def results(self) -> pl.DataFrame:
        """Every figure, a row each: which, between whom, its interval, and why it is undefined where it is."""
        return pl.DataFrame(self.as_dict()["results"], infer_schema_length=None)

    @property
    def sentences(self) -> list[str]:
        """What it comes to, a sentence each."""
        return [
            text for said in self.as_dict()["words"] for text in [*said["conclusions"], *said["cautions"]]
        ]

    def as_dict(self) -> dict[str, Any]:
        """The agreement as the one object that `--json` prints."""
        from personafit.reports.agree import agreement_object

        return agreement_object(self.source, self.agreements, self.rankings)

    def part(self, pictures: bool = True) -> ReportPart:
        """The agreement as a part of a report."""
        from personafit.reports.agree_part import agreement_part

        return agreement_part(self.source, self.agreements, self.rankings, pictures)

    def print(self, console: Console | None = None) -> None:
        """Print what it comes to and the table of raters; the page and `--json` have the rest."""
        part = self.part(pictures=False)
        rest = ", ".join(f"“{section.title}”" for section in part.sections)
        more = f"Also in --json and on the page of `personafit report`: {rest}." if rest else ""
        pieces = [Sentences(part.sentences), *part.lead, Sentences([more] if more else [], small=True)]
        print_pieces(pieces, console or Console())


def agree(
    *sources: Run | str | Path, margin: float | None = None, store: str | Path | Store | None = None
) -> RaterAgreement:
    """Say how far all raters agree with each other and with gold, and what a person reaches.

    Runs and studies of every kind can be given; one in which nobody judges, as where systems write, has no raters who could agree.

    Args:
        sources: A run (or its name), a benchmark folder with votes.jsonl, or a study. A run brings its raters, gold, and people who
            voted on its items. A folder or a study brings the votes in it and the runs on the same items that the store holds; a
            run beside it must be one of those.
        margin: Largest difference from people that counts as equivalent, as a fraction; 0.05 unless said.
        store: Where runs and studies are looked for.
    """
    from personafit.reports.agree import agreements

    within = MARGIN if margin is None else margin
    if not sources:
        raise UserError("agree needs a run, a benchmark folder with votes.jsonl, or a study.")
    with _Stores(store) as stores:
        people = [(one, votes) for one in sources if (votes := _votes(one, stores)) is not None]
        runs = [one for one in sources if not any(one is named for named, _ in people)]
        if len(people) > 1 or (not people and len(runs) > 1):
            raise UserError("agree takes one run, or one study or folder with the runs on its items.")
        if not people:
            opened, run = stores.found(runs[0])
            return _run_agreement(opened, require_judged(run), within)
        source = people[0][1]
        found = agreements(source, within)
        there = {rater.name for one in found for rater in one.ratings.raters}
        for named in runs:
            _, run = stores.found(named)
            raters = [rater["name"] for rater in require_judged(run).config["raters"]]
            # Where it matters which, names say the context that a rater was shown.
            if not any(name == one or name.startswith(f"{one} (") for name in there for one in raters):
                raise UserError(
                    f"{run.name} has judged none of the items of {source.name} in this store: nothing to compare."
                )
        return RaterAgreement(source, found, ())


def votes_source(name: str, store: Store) -> "Source | None":
    """Everybody's answers in a benchmark folder or a study; None where the name is of neither."""
    from personafit.reports.agree_ratings import folder_source

    if (Path(name) / "benchmark.toml").is_file():
        return folder_source(Path(name), store)
    from personafit.label.studies import Studies

    studies = Studies(store)
    if name not in studies.names():
        return None
    from personafit.label.agreement import study_source

    return study_source(studies, name)


def _votes(named: Run | str | Path, stores: "_Stores") -> "Source | None":
    if isinstance(named, Run):
        return None
    if (Path(named) / "benchmark.toml").is_file() and not stores.exists:
        from personafit.reports.agree_ratings import folder_source

        return folder_source(Path(named), None)  # votes can be read without a store, so none is made
    return votes_source(str(named), stores.opened)


def _run_agreement(store: Store, run: RunRecord, within: float) -> RaterAgreement:
    """How far the raters of a run agree, and people with them who voted on its items in studies of the same store."""
    from personafit.kinds.choice_scores import choice_items, choice_lines
    from personafit.label.agreement import add_studies
    from personafit.reports.agree import agreements, ranking_findings
    from personafit.reports.agree_ratings import lines_source, run_source

    if choice_items(store, run) is None:
        opened = run_lines(store, run)
        source = lines_source(store, opened)
    else:
        answers = run_answers(store, run.id)
        source = run_source(store, run, answers)
        opened = choice_lines(load_scores(store, run, answers))
    add_studies(source, store, run.dataset)
    return RaterAgreement(source, agreements(source, within), ranking_findings(opened))


@dataclass(frozen=True)
class BenchmarkAudit(_Analysis):
    """What a benchmark's labels reward besides fitting the person."""

    found: "Audit"

    @property
    def results(self) -> pl.DataFrame:
        """What rules, surface features and the data's own structure score, a row each."""
        from personafit.reports.audit import audit_results

        return results_frame(audit_results(self.found))

    @property
    def sentences(self) -> list[str]:
        """What a careful reader should take away, a sentence for each check."""
        return [f"{one.check} {one.grade}: {one.finding}" for one in self.found.verdicts()]

    def as_dict(self) -> dict[str, Any]:
        """The audit as the one object that `--json` prints."""
        from personafit.reports.audit import audit_object

        return audit_object(self.found)

    def part(self, pictures: bool = True) -> ReportPart:
        """The audit as a part of a report."""
        from personafit.reports.audit import audit_part

        return audit_part(self.as_dict(), pictures)

    def print(self, console: Console | None = None) -> None:
        """Print how many checks fail, every verdict, and what shortcuts score."""
        part = self.part(pictures=False)
        print_pieces(
            [Sentences(part.sentences[:1]), *part.lead, *part.sections[0].pieces], console or Console()
        )

    def write(self, folder: str | Path | None = None, command: str | None = None) -> Path:
        """Write audit.html, audit.json and the plots into a folder, and return where the page is."""
        from personafit.reports.audit import write_audit

        place = Path(folder) if folder is not None else inside(HOME / "audits", self.found.pairs.name)
        with writing(place):
            return write_audit(self.found, place, command)


def audit(benchmark: Any, *, data: str | Path | None = None, seed: int = 0) -> BenchmarkAudit:
    """Say what simple rules, surface features and the data's own structure score on a benchmark; nothing is asked.

    Args:
        benchmark: A benchmark's name or folder, a file of pairs, a frame, or rows, as `evaluate` takes them.
        data: Folder with the benchmark's data in its published layout.
        seed: Seed of wrong people and folds.
    """
    from personafit.reports.audit import audit_benchmark

    named = isinstance(benchmark, str | Path) and not is_file(benchmark)
    opened = (
        open_benchmark(str(benchmark), None if data is None else Path(data), "choice")
        if named
        else benchmark_of(benchmark, data, seed)
    )
    return BenchmarkAudit(audit_benchmark(opened, seed))


ANALYSES = {
    "bias": "bias:analyze_bias",
    "calibration": "calibration:analyze_calibration",
    "correct": "correction:analyze_correction",
    "aspects": "aspects:analyze_aspects",
    "failures": "failures:analyze_failures",
    "power": "power:analyze_power",
}
"""What a run can be looked into for, and who does it."""


def analyze(
    run: Run | str | Path,
    what: str,
    *,
    margin: float | None = None,
    human: str | Path | None = None,
    rater: str | None = None,
    people: int | None = None,
    items: int | None = None,
    prompts: int | None = None,
    difference: float | None = None,
    metric: str | None = None,
    store: str | Path | Store | None = None,
) -> "Analysis":
    """Look into a run: what moves its judges, how far they can be trusted, what goes wrong, what another run could show.

    Args:
        run: A run, or its name.
        what: `bias`, `calibration`, `correct`, `aspects`, `failures` or `power`.
        margin: For `bias`: differences from people within this count as none.
        human: For `correct`: a JSONL file of people's labels.
        rater: For `failures`: whose choices or answers; the first rater's by default.
        people: For `power`: people of the planned run.
        items: For `power`: items per person.
        prompts: For `power`: prompts, where they recur.
        difference: For `power`: say what it takes to detect this difference.
        metric: For `power`: the metric to plan for.
        store: Where a run that is given by name is looked for.
    """
    if what not in ANALYSES:
        raise UserError(f"There is no analysis '{what:.40}'; there are {', '.join(ANALYSES)}.")
    with _Stores(store) as stores:
        where, found = stores.found(run)
        record = require_judged(found)

        def looked_into(*arguments: Any) -> "Analysis":
            module, _, name = ANALYSES[what].partition(":")
            analysis: Analysis = getattr(import_module(f"personafit.reports.{module}"), name)(*arguments)
            return analysis

        if what == "bias":
            return looked_into(where, record, MARGIN if margin is None else margin)
        if what == "correct":
            return looked_into(where, record, None if human is None else Path(human))
        if what == "aspects":
            return looked_into(where, load_run(where, record.name))
        if what == "failures":
            return looked_into(where, record, rater)
        if what == "power":
            from personafit.reports.power import plan_run

            pilot = run_lines(where, record)
            return looked_into(pilot, plan_run(pilot, people, items, difference, prompts, metric))
        return looked_into(where, record)


class _Stores:
    """The store that names are looked for in, opened when the first one is."""

    def __init__(self, store: str | Path | Store | None) -> None:
        self._store = store
        self._owns = False

    @property
    def exists(self) -> bool:
        """Whether there is a store already."""
        if isinstance(self._store, Store):
            return True
        url = store_url(self._store)
        return "://" in url or Path(url).is_file()

    @property
    def opened(self) -> Store:
        """The store."""
        if not isinstance(self._store, Store):
            self._store, self._owns = open_store(self._store)
        return self._store

    def found(self, run: Run | str | Path) -> tuple[Store, RunRecord]:
        """A run with the store it is in."""
        if isinstance(run, Run):
            return run._store, run.record
        return self.opened, find_run(self.opened, str(run))

    def __enter__(self) -> "_Stores":
        return self

    def __exit__(self, *_error: object) -> None:
        if self._owns and isinstance(self._store, Store):
            self._store.close()
