"""`personafit label`: human studies in the browser."""

from pathlib import Path
from typing import Annotated

import typer

from personafit._errors import UserError
from personafit.cli.common import HOME, console, find_run, hint, make_folder, print_object, store_url
from personafit.cli.label_steering import MOST, Study, opened_studies
from personafit.cli.label_steering import app as steering
from personafit.cli.options import DataOption, JsonOption, StoreOption

app = typer.Typer(no_args_is_help=True, help="Run human studies in the browser.")

ADDRESS = "http://127.0.0.1:8710"
LONGEST_ID = 200  # characters of a participant's id
DEMO = (("demo", "fit"), ("demo-attributes", "attributes"), ("demo-relevance", "relevance"))
DEMO_PAGES, DEMO_RATERS = 12, 3
SETUP, RATERS, QUALITY = "Items and question", "Raters", "Quality and pages"


@app.command("new")
def new(
    study: Study,
    source: Annotated[
        str,
        typer.Option(
            "--from", metavar="ITEMS|RUN", rich_help_panel=SETUP, help="A benchmark, a folder, or a run."
        ),
    ],
    question: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", rich_help_panel=SETUP, help="Question to ask; default by the kind of items."
        ),
    ] = None,
    overlap: Annotated[
        int, typer.Option(min=1, max=MOST, metavar="N", rich_help_panel=RATERS, help="Raters per item.")
    ] = 9,
    raters: Annotated[
        int | None,
        typer.Option(
            min=1, max=MOST, metavar="N", rich_help_panel=RATERS, help="Raters in all; default --overlap."
        ),
    ] = None,
    stratify: Annotated[
        str | None,
        typer.Option(
            metavar="METRIC", rich_help_panel=SETUP, help="Sample evenly over this metric of the run."
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", rich_help_panel=SETUP, help="Sample N items; default all."),
    ] = None,
    title: Annotated[
        str, typer.Option(metavar="TEXT", rich_help_panel=QUALITY, help="Title that raters see.")
    ] = "",
    language: Annotated[
        str, typer.Option(metavar="en|zh", rich_help_panel=QUALITY, help="Language of the interface.")
    ] = "en",
    seed: Annotated[
        int, typer.Option(metavar="N", rich_help_panel=SETUP, help="Seed of the sample and of all orders.")
    ] = 0,
    gold: Annotated[
        str | None,
        typer.Option(
            metavar="N|FILE",
            rich_help_panel=QUALITY,
            help="Add N pages with a known answer, or those that FILE lists.",
        ),
    ] = None,
    attention: Annotated[
        int,
        typer.Option(min=0, max=MOST, metavar="N", rich_help_panel=QUALITY, help="Add N attention checks."),
    ] = 0,
    practice: Annotated[
        int,
        typer.Option(
            min=0, max=MOST, metavar="N", rich_help_panel=QUALITY, help="Add N practice pages with feedback."
        ),
    ] = 0,
    quiz: Annotated[
        bool, typer.Option(rich_help_panel=QUALITY, help="Ask a few questions about the guidelines first.")
    ] = True,
    guidelines: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.md", rich_help_panel=QUALITY, help="Guidelines in place of the default ones."
        ),
    ] = None,
    consent: Annotated[
        Path | None,
        typer.Option(metavar="FILE.md", rich_help_panel=QUALITY, help="Text of the consent page."),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            metavar="SPEC", rich_help_panel=SETUP, help="Model that people chat with (question chat)."
        ),
    ] = "",
    simulated: Annotated[
        bool,
        typer.Option(
            "--simulated",
            rich_help_panel=RATERS,
            help="Raters are simulated; everything made from it says so.",
        ),
    ] = False,
    signed_ids: Annotated[
        bool,
        typer.Option(
            "--signed-ids",
            rich_help_panel=RATERS,
            help="Accept only links made for one seat or one id (`invite --participants`).",
        ),
    ] = False,
    completion_code: Annotated[
        str,
        typer.Option(
            metavar="CODE", rich_help_panel=RATERS, help="Completion code shown at the end, e.g. Prolific's."
        ),
    ] = "",
    completion_url: Annotated[
        str,
        typer.Option(metavar="URL", rich_help_panel=RATERS, help="Page that raters are sent to at the end."),
    ] = "",
    data: DataOption = None,
    store: StoreOption = None,
) -> None:
    """Create a study: its pages, who sees which, and in which order.

    **Examples**

        personafit label new pilot --from starter --question fit --overlap 3 --limit 20

        personafit label new check --from last --question dialogue --stratify personalization --limit 100

        personafit label new talk --from own --question chat --model openai:MODEL@URL --overlap 30
    """
    from personafit.labeling.making import ExtraPages, make_study
    from personafit.labeling.printing import counted
    from personafit.labeling.records import StudyConfig
    from personafit.store import Store

    if language not in ("en", "zh"):
        raise UserError(f"--language {language}: there are en and zh.")
    config = StudyConfig(
        title=title or study,
        language=language,
        overlap=overlap,
        seats=raters or overlap,
        seed=seed,
        source=source,
        check=quiz,
        guidelines=_read("--guidelines", guidelines),
        consent=_read("--consent", consent),
        model=model,
        simulated=simulated,
        signed_ids=signed_ids,
        completion_code=completion_code,
        completion_url=completion_url,
    )
    with Store(store_url(store)) as opened:
        made = make_study(
            opened,
            study,
            source,
            question,
            config,
            find_run,
            data=data,
            stratify=stratify,
            count=limit,
            besides=ExtraPages(gold, attention, practice),
        )
    console().print(
        f"{study}: {counted(made.pages, 'page', 'pages')} ({made.form}), {counted(overlap, 'rater', 'raters')} each, "
        f"{counted(config.seats, 'seat', 'seats')}."
    )
    for note in made.notes:
        hint(note)
    serving = f"personafit label serve --model '{model}'" if made.form == "chat" else "personafit label serve"
    hint(f"{serving}, then personafit label invite {study}")


def _participants(path: Path) -> list[str]:
    """The ids of a file, one a line."""
    lines = _read("--participants", path).splitlines()
    for number, line in enumerate(lines, 1):
        if len(line.strip()) > LONGEST_ID:
            raise UserError(f"{path}:{number}: an id has at most {LONGEST_ID} characters.")
    if not any(line.strip() for line in lines):
        raise UserError(f"--participants {path} has no ids; write one a line.")
    return list(dict.fromkeys(line.strip() for line in lines if line.strip()))


def _read(option: str, path: Path | None) -> str:
    """The text of a file that an option names."""
    try:
        return "" if path is None else path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{option} {path} cannot be read as text: {error}.") from error


@app.command("invite")
def invite(
    study: Study,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Print N links; default one for every free seat.")
    ] = None,
    anyone: Annotated[
        bool, typer.Option("--open", help="One link for everybody: each takes the next free seat.")
    ] = False,
    rater: Annotated[
        str | None, typer.Option(metavar="CODE", help="Print the link of this rater again.")
    ] = None,
    participants: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File with one id per line: print a signed link for each."),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Address of the server; default where `label serve` ran last."),
    ] = None,
    store: StoreOption = None,
) -> None:
    """Print invitation links: one per free seat, one for everybody, or one per participant of a file.

    **Examples**

        personafit label invite pilot

        personafit label invite pilot --open --address https://study.example.org

        personafit label invite pilot --participants ids.txt
    """
    from personafit.labeling.access import Access
    from personafit.labeling.records import RaterState
    from personafit.labeling.steering import find_seat
    from personafit.labeling.studies import Studies
    from personafit.store import Store

    with Store(store_url(store)) as opened:
        studies, access = Studies(opened), Access(opened.engine)
        config = studies.study(study).config
        address = (address or access.address() or ADDRESS).rstrip("/")
        if participants is not None:
            for id in _participants(participants):
                print(f"{id}\t{address}/join/{access.invite(study, None, id)}")
            return
        if anyone:
            if config.signed_ids:
                raise UserError(
                    f"{study} takes signed links only, and --open prints one for everybody; --participants FILE prints one for each id."
                )
            print(f"{address}/join/{access.invite(study, None)}")
            return
        if rater is not None:
            print(f"{address}/join/{access.invite(study, find_seat(studies, study, rater).seat)}")
            return
        free = [seat for seat in studies.seats(study) if seat.state is RaterState.FREE]
        if not free:
            raise UserError(
                f"{study} has no free seat; `personafit label extend {study} --raters N` adds some, "
                "and --rater CODE prints the link of one who has a seat."
            )
        for seat in free[:limit]:
            print(f"{address}/join/{access.invite(study, seat.seat)}")


@app.command("serve")
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8710,
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="SPEC", help="Model that chats may use. Repeatable."),
    ] = None,
    proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS",
            help="Address or network of a reverse proxy whose forwarded headers are trusted; default none. Repeatable.",
        ),
    ] = None,
    store: StoreOption = None,
) -> None:
    """Serve the studies of a store in the browser.

    **Examples**

        personafit label serve --store postgresql://me@localhost/studies

        personafit label serve --model openai:MODEL@URL
    """
    from personafit.labeling.serving import serve_studies

    serve_studies(store_url(store), host, port, model or [], proxy or [])


@app.command("demo")
def demo(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8710,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the demonstration.")] = HOME
    / "label-demo",
) -> None:
    """Serve small studies of the starter set: rate a few pages, then look at them as the researcher.

    **Example**

        personafit label demo
    """
    from personafit.labeling.access import Access
    from personafit.labeling.making import make_study
    from personafit.labeling.records import StudyConfig
    from personafit.labeling.serving import serve_studies
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
                    title=f"Demonstration: {question}",
                    overlap=DEMO_RATERS,
                    seats=DEMO_RATERS,
                    source="starter",
                )
                make_study(opened, study, "starter", question, config, find_run, count=DEMO_PAGES)
            hint(f"Rate ({question}): {address}/join/{access.invite(study, None)}")
    serve_studies(str(store), "127.0.0.1", port)


@app.command("simulate")
def simulate(
    study: Study,
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


@app.command("status")
def status(study: Study, json: JsonOption = False, store: StoreOption = None) -> None:
    """Show a study's progress, its raters' work, and their agreement.

    **Example**

        personafit label status pilot --json
    """
    from personafit.labeling.overview import overview
    from personafit.labeling.printing import status_object, status_pieces
    from personafit.reporting.terminal import print_pieces

    with opened_studies(store) as studies:
        numbers = overview(studies, study)
    if json:
        print_object(status_object(numbers))
        return
    print_pieces(status_pieces(numbers), console())


app.registered_commands.extend(steering.registered_commands)
