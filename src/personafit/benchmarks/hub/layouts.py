"""What a repository must hold for us to read it: told from its list of files, before anything is fetched."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from personafit.benchmarks.folder import OPTIONAL, REQUIRED

FOLDER_FILES = (*REQUIRED, *OPTIONAL)
NOTICES = ("README.md", "LICENSE*", "NOTICE*", "CITATION*")


class Layout(NamedTuple):
    """One way data is laid out; patterns are those of `fnmatch`, where a star also matches slashes."""

    name: str
    needs: tuple[str, ...]
    """Some file must match each."""
    takes: tuple[str, ...]
    """What is fetched; whatever else is there stays there."""
    benchmark: str | None
    """The benchmark that reads it; None for a benchmark folder, which is read as it is."""
    run: str
    """How a fetched folder is used."""


LAYOUTS = (
    Layout("benchmark folder", REQUIRED, FOLDER_FILES, None, "personafit run {folder}"),
    Layout(
        "PersonaFeedback (hub layout)",
        ("data/*/*.jsonl", "persona/all_personas.jsonl"),
        ("data/*", "persona/*", *NOTICES),
        "personafeedback",
        "personafit run personafeedback{data}",
    ),
    Layout(
        "PersonaFeedback (GitHub layout)",
        ("rm_benchmark_all/*.jsonl", "persona_all/*.json"),
        ("rm_benchmark_all/*", "persona_all/*", *NOTICES),
        "personafeedback",
        "personafit run personafeedback{data}",
    ),
    Layout(
        "PersonaLens",
        ("res/schema.json", "data/profile/*/profile.json", "data/task/*/task.jsonl"),
        ("data/*", "res/*.json", *NOTICES),
        "personalens",
        "personafit run personalens{data} --system SPEC",
    ),
    Layout(
        "Re-Centering Humans",
        ("relevance.jsonl",),
        ("relevance.jsonl", "response_pairs.jsonl", *NOTICES),
        "recentering",
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
        "personamem",
        "personafit run personamem{data}",
    ),
    Layout(
        "RewardBench",
        ("data/filtered-*.parquet",),
        ("data/filtered-*.parquet", *NOTICES),
        "rewardbench",
        "personafit run rewardbench{data} --rater reward:PATH",
    ),
    Layout(
        "HelpSteer2",
        ("train.jsonl.gz", "validation.jsonl.gz"),
        ("validation.jsonl.gz", *NOTICES),
        "helpsteer2",
        "personafit run helpsteer2{data} --rater reward:PATH",
    ),
    Layout(
        "RewardBench 2",
        ("data/test-*.parquet",),
        ("data/test-*.parquet", *NOTICES),
        "rewardbench",
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
