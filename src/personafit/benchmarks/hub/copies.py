"""Copies of published data on this machine: where `data get` puts them, and how a run without --data finds one."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from personafit._errors import UserError
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


REPOS = {
    "personafeedback": "PersonalAILab/PersonaFeedback",
    "personalens": "AmazonScience/PersonaLens",
    "personamem": "bowen-upenn/PersonaMem-v1",
    "rewardbench": "allenai/reward-bench",
    "helpsteer2": "nvidia/HelpSteer2",
}
DATA = Path(".personafit") / "data"
SOURCE = ".hub.json"  # in a fetched folder, written last: without it the copy is not whole

_REPO = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*/[A-Za-z0-9_][A-Za-z0-9._-]*")


class DatasetCopy(BaseModel):
    """A whole copy of a data set, and where it came from."""

    model_config = ConfigDict(extra="forbid")

    repo: str = Field(description="Organisation and name on the hub.")
    revision: str = Field(description="The commit that was fetched.")
    asked: str | None = Field(None, description="The branch, tag or commit asked for.")
    licence: str | None = Field(None, description="What its card says.")
    layout: str = Field(description="What it was recognised as.")
    folder: Path = Field(Path(), exclude=True)
    fresh: bool = Field(False, exclude=True)
    """Whether it was fetched just now."""


def repo_of(name: str) -> str:
    """The repository that a benchmark's name or an `org/name` stands for."""
    repo = REPOS.get(name, name)
    if not _REPO.fullmatch(repo) or ".." in repo:
        raise UserError(
            f"'{name}' is no data set on the hub: give {', '.join(REPOS)}, or a repository as org/name."
        )
    return repo


def read_source(folder: Path) -> DatasetCopy | None:
    """What was fetched into a folder; nothing where no whole copy is."""
    try:
        record = orjson.loads((folder / SOURCE).read_bytes())
        return DatasetCopy.model_validate({**record, "folder": folder})
    except (OSError, orjson.JSONDecodeError, ValidationError, TypeError):
        return None


def write_source(fetched: DatasetCopy) -> None:
    """Mark a folder as a whole copy."""
    (fetched.folder / SOURCE).write_bytes(orjson.dumps(fetched.model_dump()) + b"\n")


def data_folder(name: str, data: Path | None) -> Path | None:
    """The folder that --data names, or else a copy of that benchmark fetched before; nothing if there is none."""
    if data is not None:
        return data
    if read_source(DATA / name) is not None:
        return DATA / name
    return _in_hub_cache(REPOS[name]) if name in REPOS else None


def _in_hub_cache(repo: str) -> Path | None:
    """A snapshot that `datasets` or `huggingface_hub` keeps in its own cache, if it holds what we read."""
    try:
        from huggingface_hub import snapshot_download

        folder = Path(snapshot_download(repo, repo_type="dataset", local_files_only=True))
    except (ImportError, OSError):
        return None
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    return folder if layout_of(names) is not None else None
