"""Benchmarks on the Hugging Face hub: known layouts and repositories, and local copies made by `data get`.

A copy is verified file by file and moved into its folder only when complete: everything is first fetched into a subfolder, which is deleted
at the end, so that an interrupted download is never mistaken for data; files already there are kept, and the same command resumes. Only
`huggingface_hub` (extra `hub`) talks to the hub, through `models/hub.py`; it is imported when something is fetched.
"""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from personafit._errors import UserError
from personafit.benchmarks.folder import OPTIONAL, REQUIRED
from personafit.benchmarks.published import published_file

FOLDER_FILES = (*REQUIRED, *OPTIONAL)
NOTICES = ("README.md", "LICENSE*", "NOTICE*", "CITATION*")
REWARD = " --rater reward:PATH"
ARCHIVES = (".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".zst", ".7z", ".rar")


class Layout(NamedTuple):
    """A layout of a data set; patterns are those of `fnmatch`, where a star also matches slashes."""

    name: str
    needs: tuple[str, ...]
    """Patterns each of which must match some file."""
    takes: tuple[str, ...]
    """Patterns of the files to fetch, besides notices."""
    benchmark: str | None
    """The benchmark that reads it; None for a benchmark folder, which is read as it is."""
    options: str = ""
    """Options that a run of it needs."""


LAYOUTS = (
    Layout("benchmark folder", REQUIRED, FOLDER_FILES, None),
    Layout(
        "PersonaFeedback",
        ("data/*/*.jsonl", "persona/all_personas.jsonl"),
        ("data/*", "persona/*"),
        "personafeedback",
    ),
    Layout(
        "PersonaLens",
        ("res/schema.json", "data/profile/*/profile.json", "data/task/*/task.jsonl"),
        ("data/*", "res/*.json"),
        "personalens",
        " --system SPEC",
    ),
    Layout(
        "PersonaMem",
        ("questions_*.csv", "shared_contexts_*.jsonl"),
        (
            *("questions_32k.csv", "questions_128k.csv"),
            *("shared_contexts_32k.jsonl", "shared_contexts_128k.jsonl"),
        ),
        "personamem",
    ),
    Layout("RewardBench", ("data/filtered-*.parquet",), ("data/filtered-*.parquet",), "rewardbench", REWARD),
    Layout(
        "HelpSteer2",
        ("train.jsonl.gz", "validation.jsonl.gz"),
        ("validation.jsonl.gz",),
        "helpsteer2",
        REWARD,
    ),
    Layout("RewardBench 2", ("data/test-*.parquet",), ("data/test-*.parquet",), "rewardbench", REWARD),
)


def layout_of(names: Sequence[str]) -> Layout | None:
    """Return the first layout whose required files are all present; None if there is none."""
    for layout in LAYOUTS:
        if all(any(fnmatchcase(name, need) for name in names) for need in layout.needs):
            return layout
    return None


def wanted(layout: Layout, names: Sequence[str]) -> list[str]:
    """Return the files of a repository that a layout fetches."""
    patterns = (*layout.takes, *(NOTICES if layout.benchmark else ()))
    return [name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns)]


REPOS = {
    "personafeedback": "PersonalAILab/PersonaFeedback",
    "personalens": "AmazonScience/PersonaLens",
    "personamem": "bowen-upenn/PersonaMem-v1",
    "rewardbench": "allenai/reward-bench",
    "helpsteer2": "nvidia/HelpSteer2",
}
DATA = Path(".personafit") / "data"
SOURCE = ".hub.json"  # written last into a fetched folder: without it the copy is incomplete

_REPO = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*/[A-Za-z0-9_][A-Za-z0-9._-]*")


class DatasetCopy(BaseModel):
    """A complete local copy of a data set, with its origin."""

    model_config = ConfigDict(extra="forbid")

    repo: str = Field(description="Organisation and name on the hub.")
    revision: str = Field(description="The commit that was fetched.")
    asked: str | None = Field(None, description="The branch, tag or commit asked for.")
    licence: str | None = Field(None, description="What its card says.")
    layout: str = Field(description="What it was recognised as.")
    folder: Path = Field(Path(), exclude=True)
    fresh: bool = Field(False, exclude=True)
    """Whether it was fetched by this call."""


def repo_of(name: str) -> str:
    """Return the repository of a benchmark's name or an `org/name`."""
    repo = REPOS.get(name, name)
    if not _REPO.fullmatch(repo) or ".." in repo:
        raise UserError(
            f"'{name}' is not a data set on the hub: give {', '.join(REPOS)}, or a repository as org/name."
        )
    return repo


def read_source(folder: Path) -> DatasetCopy | None:
    """Return the record of the copy in a folder; None if there is no complete copy."""
    try:
        record = orjson.loads((folder / SOURCE).read_bytes())
        return DatasetCopy.model_validate({**record, "folder": folder})
    except (OSError, orjson.JSONDecodeError, ValidationError, TypeError):
        return None


def data_folder(name: str, data: Path | None) -> Path:
    """Return the data given by --data, or else a copy of that benchmark fetched before."""
    if data is None:
        if read_source(fetched := DATA / name) is not None:
            return fetched
        fetch = f"; `personafit data get {name}` fetches it from the hub" if name in REPOS else ""
        raise UserError(f"{name} needs --data FOLDER with {published_file(name)['expected']}{fetch}.")
    if str(data) != "starter" and not data.exists():
        raise UserError(f"--data {data}: there is no such folder.")
    if data.is_file() and data.suffix.lower() in ARCHIVES:
        raise UserError(f"--data {data} is an archive; unpack it and give the folder.")
    return data


def how_to_run(copy: DatasetCopy, name: str, out: Path | None) -> str:
    """Return the command that runs the fetched data."""
    layout = next(layout for layout in LAYOUTS if layout.name == copy.layout)
    if layout.benchmark is None:
        return f"personafit run {copy.folder}"
    found = out is None and name == layout.benchmark
    return f"personafit run {layout.benchmark}{'' if found else f' --data {copy.folder}'}{layout.options}"
