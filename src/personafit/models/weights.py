"""Weights on this machine, in a folder of the transformers library or by a name on the hub: found, and told apart."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.models.spec import Spec

NEEDS = "PyTorch and transformers are not installed; they come with pip install 'personafit[train]'"
ENDS = 1 << 20  # bytes at both ends of a file
PLACES, PLACE = (
    1024,
    4096,
)  # between them, so many times so many bytes: a layer of its own training may lie anywhere
TEXTS = (
    "adapter_config.json",
    "chat_template.jinja",
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
)
WEIGHTS = (".safetensors", ".bin", ".pt")


def source_of(spec: Spec) -> str:
    """The folder, or the name on the hub, that a spec names."""
    folder = Path(spec.name).expanduser()
    if folder.is_dir():
        if not any((folder / name).is_file() for name in ("config.json", "adapter_config.json")):
            raise UserError(
                f"{spec.text}: the folder holds no config.json, so no model of the transformers library."
            )
        return str(folder)
    if not spec.name or folder.is_absolute() or spec.name.count("/") != 1 or folder.exists():
        raise UserError(f"{spec.text}: there is no such folder, and it is no OWNER/NAME on the hub either.")
    return spec.name


def weights_hash(source: str, revision: str | None = None) -> str:
    """A hash of the weights, settings and tokenizer in a folder; on the hub, of the name and the revision."""
    folder = Path(source)
    if not folder.is_dir():
        return hash_text("hub", source, revision or "")
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.name in TEXTS or path.suffix in WEIGHTS:
            digest.update(f"{path.name}:{path.stat().st_size}:".encode())
            for part in telling_parts(path):
                digest.update(part)
    return digest.hexdigest()[:32]


def telling_parts(path: Path) -> Iterator[bytes]:
    """Parts of a file, all over it, that tell it apart without reading gigabytes at every start."""
    size = path.stat().st_size
    with path.open("rb") as file:
        yield file.read(ENDS)
        if size > 2 * ENDS:
            for place in range(PLACES):
                file.seek(ENDS + place * (size - 2 * ENDS) // PLACES)
                yield file.read(PLACE)
        file.seek(max(0, size - ENDS))
        yield file.read(ENDS)


def switch(spec: Spec, option: str, default: str = "no") -> bool:
    """An option that is yes or no."""
    value = spec.options.get(option, default)
    if value not in ("yes", "no"):
        raise UserError(f"{spec.text}: {option} is yes or no, not '{value}'.")
    return value == "yes"
