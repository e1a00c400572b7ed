"""`data push`: a benchmark folder, checked first, becomes a data set on the hub in one commit."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from personafit._errors import UserError
from personafit.benchmarks.folder import check_folder, read_info
from personafit.benchmarks.hub.card import dataset_card
from personafit.benchmarks.hub.copies import repo_of
from personafit.benchmarks.hub.layouts import FOLDER_FILES
from personafit.benchmarks.hub.licences import publishable
from personafit.benchmarks.hub.private import find_private
from personafit.models.hub import TOKEN, hub_client, hub_errors, hub_token

if TYPE_CHECKING:
    from huggingface_hub import HfApi

CARD = "README.md"
OURS = {*FOLDER_FILES, CARD, ".gitattributes"}


class Publication(NamedTuple):
    """Where a folder was published on the hub, and which files were left out."""

    url: str
    revision: str
    licence: str
    left: list[str]
    """Files of the folder that are no part of the format and stayed at home."""


def push_folder(folder: Path, repo: str, private: bool, licence: str | None, anyway: bool) -> Publication:
    """Check a benchmark folder and publish it; nothing leaves the machine unless every check passed."""
    repo = repo_of(repo)
    if problems := check_folder(folder):
        raise UserError(
            f"{problems[0]} (problems in all: {len(problems)}; see personafit data check {folder})", code=1
        )
    for name in FOLDER_FILES:
        if (folder / name).exists() and not (folder / name).resolve().is_relative_to(folder.resolve()):
            raise UserError(
                f"{folder / name} is a link out of the folder, and would publish what lies there; copy the file."
            )
    info = read_info(folder / "benchmark.toml")
    allowed = publishable(info.licence, licence, str(folder / "benchmark.toml"))
    if not anyway and (found := find_private(folder)):
        raise UserError(
            f"{found[0]} seems to stand there ({len(found)} such places in all); take it out, or push with --anyway if it is "
            "meant to be public.",
            code=1,
        )
    if not hub_token():
        raise UserError(f"Pushing needs a token that may write, in the environment variable {TOKEN}.")
    api = hub_client()
    with hub_errors(repo, "pushed"):
        card = dataset_card(folder, info, repo, allowed)
        there = _prepare(api, repo, private)
        names = [name for name in FOLDER_FILES if (folder / name).is_file()]
        commit = _commit(api, repo, folder, names, card, stale=(there & set(FOLDER_FILES)) - set(names))
        left = sorted(
            path.name for path in folder.iterdir() if path.name not in names and not path.name.startswith(".")
        )
        url = f"{api.endpoint}/datasets/{repo}"
        return Publication(url, commit, allowed.get("license_name") or allowed["license"], left)


def _prepare(api: "HfApi", repo: str, private: bool) -> set[str]:
    """Make the repository if it is not there; what it holds, if that is a benchmark folder and as private as asked for."""
    api.create_repo(repo, repo_type="dataset", private=private or None, exist_ok=True)
    info = api.dataset_info(repo)
    if private and not info.private:
        raise UserError(
            f"{repo} is there already and public; make it private on its page, or push to another."
        )
    there = set(api.list_repo_files(repo, repo_type="dataset"))
    if "benchmark.toml" not in there and (others := sorted(there - OURS)):
        raise UserError(f"{repo} holds other data ({others[0]}); push to another repository.")
    return there


def _commit(api: "HfApi", repo: str, folder: Path, names: list[str], card: str, stale: set[str]) -> str:
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    operations: list[CommitOperationAdd | CommitOperationDelete] = [
        CommitOperationAdd(path_in_repo=CARD, path_or_fileobj=card.encode()),
        *(CommitOperationAdd(path_in_repo=name, path_or_fileobj=folder / name) for name in names),
        *(CommitOperationDelete(path_in_repo=name) for name in sorted(stale)),
    ]
    done = api.create_commit(
        repo, operations, repo_type="dataset", commit_message="Benchmark folder pushed with personafit"
    )
    return done.oid
