"""Copies of published data on this machine: where `data get` puts them, and how a run without --data finds one."""

import re
from pathlib import Path

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from personafit._errors import UserError
from personafit.benchmarks.hub.layouts import layout_of

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
