"""`personafit label demo|simulate`: a study to look at, at once, and raters who are not people."""

from pathlib import Path
from typing import Annotated

import typer

from personafit.cli.common import HOME, console, find_run, hint, make_folder, store_url
from personafit.cli.label_serve import serve
from personafit.cli.options import StoreOption

PAGES, RATERS = 12, 3
DEMO = (("demo", "fit"), ("demo-attributes", "attributes"), ("demo-relevance", "relevance"))


def demo(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8710,
    out: Annotated[Path, typer.Option(help="Where the demonstration is kept.")] = HOME / "label-demo",
) -> None:
    """Serve small studies of the starter set: rate a few pages, then look at them as the researcher.

    **Example**

        personafit label demo
    """
    from personafit.labeling.access import Access
    from personafit.labeling.making import make_study
    from personafit.labeling.records import StudyConfig
    from personafit.labeling.studies import Studies
    from personafit.store import Store

    make_folder(out)
    store = out / "store.db"
    address = f"http://127.0.0.1:{port}"
    with Store(store) as opened:
        known, access = Studies(opened).names(), Access(opened.engine)
        for study, question in DEMO:
            if study not in known:
                config = StudyConfig(
                    title=f"Demonstration: {question}", overlap=RATERS, seats=RATERS, source="starter"
                )
                make_study(opened, study, "starter", question, config, find_run, count=PAGES)
            hint(f"Rate ({question}): {address}/join/{access.invite(study, None)}")
    serve(host="127.0.0.1", port=port, store=str(store))


def simulate(
    study: Annotated[str, typer.Argument(metavar="STUDY")],
    store: StoreOption = None,
) -> None:
    """Let simulated raters fill the free seats of a study that was made for them.

    **Example**

        personafit label new dry --from starter --simulated && personafit label simulate dry && personafit label status dry
    """
    from personafit.labeling.simulating import simulate_votes
    from personafit.store import Store

    with Store(store_url(store)) as opened:
        count = simulate_votes(opened, study)
    console().print(f"{study}: {count:,} simulated answers.")
