"""`data push`: check a benchmark folder and publish it as a data set on the hub in one commit.

The checks cover the folder itself, the licence, and strings that look private: e-mail addresses, telephone and card numbers, keys. That is
a pattern search (`people.redaction`); it does not find names, postal addresses or identity numbers.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from personafit._errors import UserError, located
from personafit.benchmarks.benchmark import BenchmarkInfo
from personafit.benchmarks.folder import check_folder, read_info
from personafit.benchmarks.hub import FOLDER_FILES, repo_of
from personafit.benchmarks.lines import read_lines
from personafit.models.hub import TOKEN, hub_client, hub_errors, hub_token
from personafit.people.redaction import redact

if TYPE_CHECKING:
    from huggingface_hub import HfApi


# Licence names of the hub, without those that forbid derivatives: a benchmark folder is a derivative.
OPEN = (
    "apache-2.0 mit bsd-2-clause bsd-3-clause cc0-1.0 cc-by-2.0 cc-by-3.0 cc-by-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cc-by-nc-3.0 "
    "cc-by-nc-4.0 cc-by-nc-sa-3.0 cc-by-nc-sa-4.0 odc-by odbl pddl cdla-permissive-1.0 cdla-permissive-2.0 cdla-sharing-1.0 unlicense"
).split()


def open_licence(text: str) -> str | None:
    """Return the hub's name of the licence that a text begins with, such as 'Apache-2.0 (c) 2025 ...'; None if unknown."""
    said = re.sub(r"[\s_-]+", "-", text.strip().lower())
    known = [name for name in OPEN if said == name or re.match(rf"{re.escape(name)}[^a-z0-9.]", said)]
    return max(known, key=len, default=None)


def publishable(stated: str, given: str | None, where: str) -> dict[str, str]:
    """Return the licence fields of the card: the data's own licence, or the one given by the user."""
    if given is not None:
        if not given.strip():
            raise UserError("--licence is empty; give a licence such as CC-BY-4.0.")
        known = open_licence(given)
        return {"license": known} if known else {"license": "other", "license_name": given.strip()}
    known = open_licence(stated)
    if known is None:
        raise UserError(
            f"{where}, field 'licence' says '{stated}', which is not known as a licence to publish under; if you may publish "
            "these data, say under which licence with --licence, such as --licence CC-BY-4.0."
        )
    return {"license": known}


# Telephone numbers count as private only where people speak or are described.
ABOUT_PEOPLE = (
    "people.jsonl",
    "conversations.jsonl",
    "tasks.jsonl",
)  # elsewhere, a number may be a help line
PRIVATE = {
    "e-mail": "an e-mail address",
    "key": "a key or password",
    "card": "a card number",
    "phone": "a telephone number",
}


def find_private(folder: Path) -> list[str]:
    """Return the places with strings that look private, without repeating the strings."""
    found = []
    for path in (folder / name for name in FOLDER_FILES if name.endswith(".jsonl")):
        for number, row in read_lines(path) if path.is_file() else ():
            for field, text in _texts(row):
                kinds = redact(text).counts.keys() - (() if path.name in ABOUT_PEOPLE else {"phone"})
                found += [
                    f"{located(path, number, field)}: {PRIVATE[kind]}" for kind in PRIVATE if kind in kinds
                ]
    return found


def _texts(value: Any, field: str = "") -> Iterator[tuple[str, str]]:
    """Iterate over the texts of a record with their fields."""
    if isinstance(value, str):
        yield field, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts(inner, f"{field}.{key}" if field else str(key))
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner, field)


SPLIT = "test"  # a benchmark is not for training
FIRST = "items.jsonl"  # the configuration shown first


def dataset_card(folder: Path, info: BenchmarkInfo, repo: str, licence: dict[str, str]) -> str:
    """Return the repository's README.md: front matter for the hub, the folder's own card, and how to use it."""
    from huggingface_hub import DatasetCardData

    records = [folder / name for name in FOLDER_FILES if name.endswith(".jsonl")]
    held = [
        path for path in records if path.is_file() and path.stat().st_size
    ]  # an empty one cannot be loaded
    front = DatasetCardData(
        license=licence["license"],
        license_name=licence.get("license_name"),
        language=[language for language in info.language if re.fullmatch("[a-z]{2,3}", language)] or None,
        pretty_name=info.title or info.name,
        tags=["personafit", "personalization", "benchmark"],
        configs=[
            {
                "config_name": path.stem,
                **({"default": True} if path.name == FIRST else {}),
                "data_files": [{"split": SPLIT, "path": path.name}],
            }
            for path in sorted(held, key=lambda path: path.name != FIRST)
        ],
    )
    own = folder / "card.md"
    text = own.read_text(encoding="utf-8").strip() if own.is_file() else f"# {info.title or info.name}"
    use = f"## Use\n\n```bash\npersonafit data get {repo} --out DIR\npersonafit run DIR\n```\n"
    return f"---\n{front.to_yaml()}\n---\n\n{text}\n\n{use}"


CARD = "README.md"
OURS = {*FOLDER_FILES, CARD, ".gitattributes"}


class Publication(NamedTuple):
    """The published data set: its address, revision and licence, and the files left out."""

    url: str
    revision: str
    licence: str
    left: list[str]
    """Files of the folder that are not part of the format and were not uploaded."""


def push_folder(folder: Path, repo: str, private: bool, licence: str | None, anyway: bool) -> Publication:
    """Check a benchmark folder and publish it; nothing is uploaded unless every check passed."""
    repo = repo_of(repo)
    if problems := check_folder(folder):
        raise UserError(
            f"{problems[0]} (problems in all: {len(problems)}; see personafit data check {folder})", code=1
        )
    for name in FOLDER_FILES:
        if (folder / name).exists() and not (folder / name).resolve().is_relative_to(folder.resolve()):
            raise UserError(
                f"{folder / name} is a link to a file outside the folder, which would be published; copy the file instead."
            )
    info = read_info(folder / "benchmark.toml")
    allowed = publishable(info.licence, licence, str(folder / "benchmark.toml"))
    if not anyway and (found := find_private(folder)):
        raise UserError(
            f"{found[0]} seems to be there ({len(found)} such places in all); take it out, or push with --anyway if it is "
            "meant to be public.",
            code=1,
        )
    if not hub_token():
        raise UserError(f"Pushing needs a token with write access, in the environment variable {TOKEN}.")
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
    """Create the repository if needed; return its files, if it is a benchmark folder and as private as asked for."""
    api.create_repo(repo, repo_type="dataset", private=private or None, exist_ok=True)
    info = api.dataset_info(repo)
    if private and not info.private:
        raise UserError(
            f"{repo} already exists and is public; make it private on its page, or push to another."
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
