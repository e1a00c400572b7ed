"""What a repository must hold for us to read it: told from its list of files, before anything is fetched."""

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from personafit._errors import UserError
from personafit.benchmarks.folder import OPTIONAL, REQUIRED, check_folder

FOLDER_FILES = (*REQUIRED, *OPTIONAL)
NOTICES = ("README.md", "LICENSE*", "NOTICE*", "CITATION*")


class Layout(NamedTuple):
    """One way data is laid out; patterns are those of `fnmatch`, where a star also matches slashes."""

    name: str
    needs: tuple[str, ...]
    """Some file must match each."""
    takes: tuple[str, ...]
    """What is fetched; whatever else is there stays there."""
    read: Callable[[Path], None]
    """Reads enough of a folder to know that it is no more than named so."""
    run: str
    """How a fetched folder is used."""


def _read_folder(folder: Path) -> None:
    if problems := check_folder(folder):
        raise UserError(f"{problems[0]} (problems in all: {len(problems)})")


def _read_personafeedback(folder: Path) -> None:
    from personafit.benchmarks.personafeedback import PersonaFeedback

    benchmark = PersonaFeedback(folder)
    if next(benchmark.people(), None) is None or next(benchmark.items(), None) is None:
        raise UserError(f"{folder} holds no personas or no pairs.")


def _read_personalens(folder: Path) -> None:
    from personafit.benchmarks.personalens import PersonaLens

    next(PersonaLens(folder).users(), None)


def _read_relevance(folder: Path) -> None:
    from personafit.benchmarks.recentering import open_relevance

    next(open_relevance(folder).items(), None)


def _reads(name: str) -> Callable[[Path], None]:
    """Reads the first choice of one of the benchmarks of others."""

    def read(folder: Path) -> None:
        from personafit.benchmarks import open_benchmark

        if next(open_benchmark(name, folder).items(), None) is None:
            raise UserError(f"{folder} holds nothing to choose.")

    return read


LAYOUTS = (
    Layout("benchmark folder", REQUIRED, FOLDER_FILES, _read_folder, "personafit run {folder}"),
    Layout(
        "PersonaFeedback (hub layout)",
        ("data/*/*.jsonl", "persona/all_personas.jsonl"),
        ("data/*", "persona/*", *NOTICES),
        _read_personafeedback,
        "personafit run personafeedback{data}",
    ),
    Layout(
        "PersonaFeedback (GitHub layout)",
        ("rm_benchmark_all/*.jsonl", "persona_all/*.json"),
        ("rm_benchmark_all/*", "persona_all/*", *NOTICES),
        _read_personafeedback,
        "personafit run personafeedback{data}",
    ),
    Layout(
        "PersonaLens",
        ("res/schema.json", "data/profile/*/profile.json", "data/task/*/task.jsonl"),
        ("data/*", "res/*.json", *NOTICES),
        _read_personalens,
        "personafit run personalens{data} --system SPEC",
    ),
    Layout(
        "Re-Centering Humans",
        ("relevance.jsonl",),
        ("relevance.jsonl", "response_pairs.jsonl", *NOTICES),
        _read_relevance,
        "personafit run recentering{data}",
    ),
    Layout(
        "PersonaMem",
        ("questions_*.csv", "shared_contexts_*.jsonl"),
        (
            "questions_32k.csv",
            "questions_128k.csv",
            "shared_contexts_32k.jsonl",
            "shared_contexts_128k.jsonl",
            *NOTICES,
        ),
        _reads("personamem"),
        "personafit run personamem{data}",
    ),
    Layout(
        "RewardBench",
        ("data/filtered-*.parquet",),
        ("data/filtered-*.parquet", *NOTICES),
        _reads("rewardbench"),
        "personafit run rewardbench{data} --rater reward:PATH",
    ),
    Layout(
        "HelpSteer2",
        ("train.jsonl.gz", "validation.jsonl.gz"),
        ("validation.jsonl.gz", *NOTICES),
        _reads("helpsteer2"),
        "personafit run helpsteer2{data} --rater reward:PATH",
    ),
    Layout(
        "RewardBench 2",
        ("data/test-*.parquet",),
        ("data/test-*.parquet", *NOTICES),
        _reads("rewardbench"),
        "personafit run rewardbench --data {folder} --rater reward:PATH",
    ),
)


def layout_of(names: Sequence[str]) -> Layout | None:
    """The first layout whose needs are all there."""
    for layout in LAYOUTS:
        if all(any(fnmatchcase(name, need) for name in names) for need in layout.needs):
            return layout
    return None


def wanted(layout: Layout, names: Sequence[str]) -> list[str]:
    """The files of a repository that a layout takes."""
    return [name for name in names if any(fnmatchcase(name, pattern) for pattern in layout.takes)]
