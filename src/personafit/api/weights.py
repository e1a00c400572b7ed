"""Weights for the embedded engine by name, and recordings of a model's replies."""

from collections.abc import Iterator
from pathlib import Path

from personafit._errors import UserError
from personafit.api.places import find_run, write_lines
from personafit.api.run import opened_store
from personafit.models.catalog import CATALOG, ModelFile, cache_folder, fetch, hub_source, is_address
from personafit.models.embedded import find_weights
from personafit.store import Store


def known_weights() -> Iterator[tuple[ModelFile, Path | None]]:
    """Yield the weights known by name, and the path of each on this machine."""
    for source in CATALOG.values():
        try:
            yield source, find_weights(source.name)
        except UserError:
            yield source, None


def other_weights() -> Iterator[tuple[str, Path]]:
    """Yield downloaded files of the hub that are not in the catalog, by address."""
    named = {source.file for source in CATALOG.values()}
    for path in sorted(cache_folder().rglob("*.gguf")):
        name = path.relative_to(cache_folder()).as_posix()
        if is_address(name) and name not in named:
            yield name, path


def get_weights(name: str, sha256: str | None = None, file: Path | None = None) -> tuple[Path, str]:
    """Download weights, or copy the user's own, and check their hash; returns the path and the hash."""
    if name in CATALOG:
        source = CATALOG[name]
        if sha256 is not None and sha256.lower() != source.sha256:
            raise UserError(f"{name} is pinned to SHA-256 {source.sha256}; leave out --sha256.")
    elif is_address(name):
        source = hub_source(name, sha256)
    else:
        raise UserError(
            f"There are no weights called '{name}'; there are {', '.join(CATALOG)}, and OWNER/REPO/FILE.gguf on the hub."
        )
    return fetch(source, file), source.sha256


def record(run: str, out: Path, store: str | Path | Store | None = None) -> int:
    """Write the replies of a run's model as lines for `replay:`; returns how many."""
    from personafit.raters.recording import recording

    with opened_store(store) as opened:
        found = find_run(opened, run)
        if found.config.get("kind") == "dialogue":
            raise UserError(f"{found.name} is a run of dialogues, which cannot be recorded.")
        rows = recording(opened, found)
    write_lines(out, rows)
    return len(rows)
