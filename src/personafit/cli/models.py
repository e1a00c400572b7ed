"""`personafit models`: weights for the embedded engine by name, and recordings of a model's replies."""

from pathlib import Path
from typing import Annotated

import typer

from personafit.api import weights
from personafit.cli.options import RunArgument, StoreOption

app = typer.Typer(no_args_is_help=True, help="List and get model weights; record replies.")


@app.command("list")
def list_models() -> None:
    """List the weights known by name, and which are on this machine.

    **Example**

        personafit models list
    """
    for source, path in weights.known_weights():
        here = path or f"not here; personafit models get {source.name}"
        print(
            f"embedded:{source.name:<20} {source.size / 1e6:>6,.0f} MB  {source.about}\n{'':30}{source.licence}\n{'':30}{here}"
        )
    for name, path in weights.other_weights():
        print(f"embedded:{name}\n{'':30}{path.stat().st_size / 1e6:,.0f} MB  {path}")
    print("embedded:PATH.gguf            any GGUF file that llama.cpp can load")
    print(
        "embedded:OWNER/REPO/FILE.gguf any GGUF file on the hub, after personafit models get OWNER/REPO/FILE.gguf"
    )


@app.command("get")
def get(
    name: Annotated[
        str, typer.Argument(help="A name from `personafit models list`, or OWNER/REPO/FILE.gguf on the hub.")
    ],
    sha256: Annotated[
        str | None,
        typer.Option(
            metavar="HASH", help="Expected SHA-256 of a file from the hub; default the one the hub states."
        ),
    ] = None,
    file: Annotated[
        Path | None, typer.Option(metavar="FILE.gguf", help="Use this file instead of a download.")
    ] = None,
) -> None:
    """Download weights, or take them from a file, and check their hash.

    **Example**

        personafit models get qwen2.5-coder-1.5b && personafit run starter --rater embedded:qwen2.5-coder-1.5b,ask=likelihood
    """
    path, found = weights.get_weights(name, sha256, file)
    print(f"{path}\nSHA-256 {found}\nUse it as embedded:{name}.")


@app.command("record")
def record(
    run: RunArgument,
    out: Annotated[Path, typer.Option(metavar="FILE.jsonl", help="Output file.")],
    store: StoreOption = None,
) -> None:
    """Record the replies of a run's model, so that `replay:FILE` repeats the run without the model.

    **Example**

        personafit models record last --out said.jsonl && personafit run starter --rater replay:said.jsonl
    """
    print(f"{weights.record(run, out, store):,} replies in {out}.")
