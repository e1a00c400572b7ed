"""`personafit data get` and `data push`: benchmarks from and to the Hugging Face hub."""

from pathlib import Path
from typing import Annotated

import typer

from personafit.benchmarks.hub.copies import REPOS, DatasetCopy
from personafit.benchmarks.hub.getting import fetch_dataset
from personafit.benchmarks.hub.layouts import LAYOUTS
from personafit.benchmarks.hub.pushing import push_folder


def get(
    name: Annotated[str, typer.Argument(help=f"{', '.join(REPOS)}, or a data set on the hub as org/name.")],
    out: Annotated[Path | None, typer.Option(help="Folder to fill; default .personafit/data/NAME.")] = None,
    revision: Annotated[str | None, typer.Option(help="Branch, tag or commit; default the newest.")] = None,
) -> None:
    """Fetch a published benchmark from the hub; the same command goes on where it stopped.

    **Examples**

        personafit data get personafeedback

        personafit data get org/name --out my-benchmark --revision 5f8baaf
    """
    fetched = fetch_dataset(name, out, revision, say=lambda line: typer.echo(line, err=True))
    print(
        f"{fetched.folder} {'holds' if fetched.fresh else 'held already'} {fetched.repo} at {fetched.revision}."
    )
    print(f"Licence: {fetched.licence or 'none stated on its card; ask its authors before you pass it on'}.")
    print(f"Use it: {_run(fetched, default=out is None and name in REPOS)}")


def push(
    folder: Annotated[Path, typer.Argument(help="A benchmark folder.")],
    repo: Annotated[str, typer.Argument(help="Where to, as org/name.")],
    private: Annotated[
        bool, typer.Option("--private", help="Only you and your organisation see it.")
    ] = False,
    licence: Annotated[
        str | None, typer.Option(help="The licence you publish under, where the folder states none.")
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Push although something looks like private data.")
    ] = False,
) -> None:
    """Publish a benchmark folder as a data set; the token is read from HF_TOKEN.

    **Examples**

        personafit data push my-benchmark org/name --private

        personafit data push my-benchmark org/name --licence CC-BY-4.0
    """
    pushed = push_folder(folder, repo, private, licence, anyway)
    if pushed.left:
        print(f"Left at home, as no part of a benchmark folder: {', '.join(pushed.left)}.")
    print(f"{pushed.url} holds {folder} at {pushed.revision} (licence {pushed.licence}).")


def _run(fetched: DatasetCopy, default: bool) -> str:
    layout = next(layout for layout in LAYOUTS if layout.name == fetched.layout)
    return layout.run.format(folder=fetched.folder, data="" if default else f" --data {fetched.folder}")
