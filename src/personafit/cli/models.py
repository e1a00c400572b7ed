"""`personafit models`: weights for the embedded engine by name, and recordings of what a model said."""

from pathlib import Path
from typing import Annotated

import orjson
import typer

from personafit._errors import UserError
from personafit.api.places import find_run, store_url
from personafit.cli.options import RunArgument, StoreOption
from personafit.models.catalog import CATALOG, cache_folder, fetch, hub_source, is_address
from personafit.models.embedded import find_weights
from personafit.raters.recording import recording
from personafit.store import Store

app = typer.Typer(no_args_is_help=True, help="List and get model weights; record replies.")


@app.command("list")
def list_models() -> None:
    """List the weights known by name, and which are on this machine.

    **Example**

        personafit models list
    """
    for source in CATALOG.values():
        try:
            here = str(find_weights(source.name))
        except UserError:
            here = f"not here; personafit models get {source.name}"
        print(
            f"embedded:{source.name:<20} {source.size / 1e6:>6,.0f} MB  {source.about}\n{'':30}{source.licence}\n{'':30}{here}"
        )
    named = {source.file for source in CATALOG.values()}
    for path in sorted(cache_folder().rglob("*.gguf")):
        name = path.relative_to(cache_folder()).as_posix()
        if is_address(name) and name not in named:
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
        Path | None, typer.Option(metavar="FILE.gguf", help="A copy of your own, in place of a download.")
    ] = None,
) -> None:
    """Download weights, or take a copy of your own, and check their hash.

    **Example**

        personafit models get qwen2.5-coder-1.5b && personafit run starter --rater embedded:qwen2.5-coder-1.5b,ask=likelihood
    """
    if name in CATALOG:
        source = CATALOG[name]
        if sha256 is not None and sha256.lower() != source.sha256:
            raise UserError(f"{name} is pinned to SHA-256 {source.sha256}; leave --sha256 away.")
    elif is_address(name):
        source = hub_source(name, sha256)
    else:
        raise UserError(
            f"There are no weights called '{name}'; there are {', '.join(CATALOG)}, and OWNER/REPO/FILE.gguf on the hub."
        )
    path = fetch(source, file)
    print(f"{path}\nSHA-256 {source.sha256}\nUse it as embedded:{name}.")


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
    with Store(store_url(store)) as opened:
        found = find_run(opened, run)
        if found.config.get("kind") == "dialogue":
            raise UserError(f"{found.name} is a run of dialogues, which cannot be recorded.")
        rows = recording(opened, found)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    except OSError as error:
        raise UserError(f"{out} cannot be written ({error.strerror}).") from error
    print(f"{len(rows):,} replies in {out}.")
