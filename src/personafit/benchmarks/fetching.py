"""Fetch a data set from the hub: download its files at one commit and verify that they can be read."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING

import orjson

from personafit._errors import UserError
from personafit.benchmarks.folder import check_folder
from personafit.benchmarks.hub import (
    DATA,
    LAYOUTS,
    SOURCE,
    DatasetCopy,
    Layout,
    layout_of,
    read_source,
    repo_of,
    wanted,
)
from personafit.models.hub import hub_client, hub_errors

if TYPE_CHECKING:
    from huggingface_hub import HfApi

PARTIAL = ".partial"


def fetch_dataset(
    name: str, out: Path | None, revision: str | None, say: Callable[[str], None]
) -> DatasetCopy:
    """Fetch a data set by benchmark name or `org/name`; return at once if the folder holds it already."""
    repo = repo_of(name)
    folder = out or DATA / name
    if (found := _there(folder, repo, revision)) is not None:
        return found
    api = hub_client()
    with hub_errors(repo, "fetched"):
        info = api.dataset_info(repo, revision=revision)
        if not re.fullmatch("[0-9a-f]{40}", commit := info.sha or ""):
            raise UserError(f"{repo} cannot be fetched: the server at {api.endpoint} is not a hub.")
        sizes = _files(api, repo, commit)
        layout = layout_of(list(sizes))
        if layout is None:
            known = "; ".join(f"{known.name}: {', '.join(known.needs)}" for known in LAYOUTS)
            raise UserError(
                f"{repo} holds nothing that personafit reads, and nothing was fetched. It reads {known}."
            )
        names = wanted(layout, list(sizes))
        total = sum(sizes[file] for file in names) / 1e6
        say(f"{repo} at {commit[:12]}: {len(names):,} files, {total:,.1f} MB ({layout.name}).")
        partial = folder / PARTIAL
        partial.mkdir(parents=True, exist_ok=True)
        _download(api, repo, commit, names, partial)
        _try_reading(layout, repo, partial)
        stated = (info.card_data.get("license") if info.card_data is not None else None) or []
        licence = ", ".join(map(str, [stated] if isinstance(stated, str) else stated)) or None
        fetched = DatasetCopy(
            repo=repo,
            revision=commit,
            asked=revision,
            licence=licence,
            layout=layout.name,
            folder=folder,
            fresh=True,
        )
        for file in names:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            os.replace(partial / file, folder / file)
        (folder / SOURCE).write_bytes(orjson.dumps(fetched.model_dump()) + b"\n")
        shutil.rmtree(partial)
    return fetched


def _there(folder: Path, repo: str, revision: str | None) -> DatasetCopy | None:
    """Return the copy in the folder if it is the one asked for; raise `UserError` if the folder is otherwise in use."""
    found = read_source(folder)
    if found is None:
        if folder.exists() and not folder.is_dir():
            raise UserError(f"{folder} is a file; choose another place with --out.")
        if folder.is_dir() and any(folder.iterdir()) and not (folder / PARTIAL).is_dir():
            raise UserError(f"{folder} is there already and not empty; choose another with --out.")
        return None
    if found.repo != repo:
        raise UserError(f"{folder} holds {found.repo}; choose another folder with --out.")
    if revision in (None, found.asked) or found.revision.startswith(str(revision)):
        return found
    raise UserError(
        f"{folder} holds revision {found.revision[:12]} of {repo}; choose another folder for {revision} with --out."
    )


def _files(api: "HfApi", repo: str, commit: str) -> dict[str, int]:
    """Return names and sizes of the files; raise `UserError` if one would be written outside the target folder."""
    from huggingface_hub import RepoFile

    sizes: dict[str, int] = {}
    for entry in api.list_repo_tree(repo, repo_type="dataset", recursive=True, revision=commit):
        if isinstance(entry, RepoFile):
            if _climbs(entry.path):
                raise UserError(
                    f"{repo} lists a file '{entry.path}', which would be written outside its folder; nothing was fetched."
                )
            sizes[entry.path] = entry.size
    return sizes


def _climbs(name: str) -> bool:
    windows = PureWindowsPath(name)
    anchored = PurePosixPath(name).is_absolute() or bool(windows.drive or windows.root)
    return anchored or ".." in windows.parts or not name.strip() or "\x00" in name


def _download(api: "HfApi", repo: str, commit: str, names: list[str], partial: Path) -> None:
    """Download missing files, then verify every file against the hub's hash."""
    api.snapshot_download(repo, repo_type="dataset", revision=commit, local_dir=partial, allow_patterns=names)
    checked = api.verify_repo_checksums(repo, repo_type="dataset", revision=commit, local_dir=partial)
    if missing := sorted(set(checked.missing_paths) & set(names)):
        raise UserError(
            f"{repo}: {len(missing)} of {len(names)} files were not downloaded, such as {missing[0]}; the same command continues."
        )
    for wrong in checked.mismatches:
        (partial / wrong["path"]).unlink(missing_ok=True)
    if checked.mismatches:
        raise UserError(
            f"{repo}: what arrived as {checked.mismatches[0]['path']} is not what the hub lists ({len(checked.mismatches)} such "
            "files); it was deleted, and the same command fetches it again."
        )


def _try_reading(layout: Layout, repo: str, partial: Path) -> None:
    try:
        if layout.benchmark is None:
            if problems := check_folder(partial):
                raise UserError(f"{problems[0]} (problems in all: {len(problems)})")
            return
        from personafit.benchmarks import open_benchmark

        benchmark = open_benchmark(layout.benchmark, partial)
        if next(benchmark.people(), None) is None or next(benchmark.items(), None) is None:
            raise UserError(f"{partial} holds no people or no items.")
    except UserError as error:
        raise UserError(f"{repo} was fetched but is not what it looks like: {error}") from error
