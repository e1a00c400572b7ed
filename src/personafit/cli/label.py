"""`personafit label`: human studies in the browser."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from personafit import label
from personafit._errors import UserError, counted
from personafit.api.places import find_run, hint, store_url
from personafit.cli.common import console, print_object
from personafit.cli.label_steering import MOST, Study, opened_studies
from personafit.cli.label_steering import app as steering
from personafit.cli.options import DataOption, JsonOption, StoreOption, panel

app = typer.Typer(no_args_is_help=True, help="Run human studies in the browser.")

ADDRESS = "http://127.0.0.1:8710"
LONGEST_ID = 200  # maximum characters of a participant's id
Language = Literal["en", "zh"]


_setup, _raters, _quality = panel("Items and question"), panel("Raters"), panel("Quality and pages")


@app.command("new")
def new(
    study: Study,
    source: Annotated[
        str, _setup("--from", metavar="ITEMS|RUN", help="A benchmark, a folder, a build, or a run.")
    ],
    question: Annotated[
        str | None, _setup(metavar="NAME", help="Question to ask; default by the kind of items.")
    ] = None,
    overlap: Annotated[int, _raters(min=1, max=MOST, metavar="N", help="Raters per item.")] = 9,
    raters: Annotated[
        int | None, _raters(min=1, max=MOST, metavar="N", help="Raters in all; default --overlap.")
    ] = None,
    stratify: Annotated[
        str | None, _setup(metavar="METRIC", help="Sample evenly over this metric of the run.")
    ] = None,
    limit: Annotated[int | None, _setup(min=1, metavar="N", help="Sample N items; default all.")] = None,
    title: Annotated[str, _quality(metavar="TEXT", help="Title that raters see.")] = "",
    language: Annotated[Language, _quality(metavar="en|zh", help="Language of the interface.")] = "en",
    seed: Annotated[int, _setup(metavar="N", help="Seed of the sample and of all orders.")] = 0,
    gold: Annotated[int, _quality(min=0, max=MOST, metavar="N", help="Add N pages with a known answer.")] = 0,
    attention: Annotated[int, _quality(min=0, max=MOST, metavar="N", help="Add N attention checks.")] = 0,
    practice: Annotated[
        int, _quality(min=0, max=MOST, metavar="N", help="Add N practice pages with feedback.")
    ] = 0,
    quiz: Annotated[bool, _quality(help="Ask a few questions about the guidelines first.")] = True,
    guidelines: Annotated[
        Path | None, _quality(metavar="FILE.md", help="Guidelines in place of the default ones.")
    ] = None,
    consent: Annotated[Path | None, _quality(metavar="FILE.md", help="Text of the consent page.")] = None,
    model: Annotated[str, _setup(metavar="SPEC", help="Model that people chat with (question chat).")] = "",
    simulated: Annotated[
        bool, _raters("--simulated", help="Raters are simulated; everything made from it says so.")
    ] = False,
    signed_ids: Annotated[
        bool,
        _raters(
            "--signed-ids", help="Accept only links made for one seat or one id (`invite --participants`)."
        ),
    ] = False,
    completion_code: Annotated[
        str, _raters(metavar="CODE", help="Completion code shown at the end, e.g. Prolific's.")
    ] = "",
    completion_url: Annotated[
        str, _raters(metavar="URL", help="Page that raters are sent to at the end.")
    ] = "",
    data: DataOption = None,
    store: StoreOption = None,
) -> None:
    """Create a study: its pages, who sees which, and in which order.

    **Examples**

        personafit label new pilot --from starter --question fit --overlap 3 --limit 20

        personafit label new check --from last --question dialogue --stratify personalization --limit 100

        personafit label new screening --from my-build --overlap 3

        personafit label new talk --from own --question chat --model openai:MODEL@URL --overlap 30
    """
    config = label.StudyConfig(
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
    extra = label.ExtraPages(gold, attention, practice)
    with opened_studies(store) as studies:
        made = label.make_study(
            studies.store, study, source, question, config, find_run, data, stratify, limit, extra
        )
    each = f"{counted(overlap, 'rater', 'raters')} each, {counted(config.seats, 'seat', 'seats')}"
    console().print(f"{study}: {counted(made.pages, 'page', 'pages')} ({made.form}), {each}.")
    for note in made.notes:
        hint(note)
    serving = f"personafit label serve --model '{model}'" if made.form == "chat" else "personafit label serve"
    hint(f"{serving}, then personafit label invite {study}")


def _read(option: str, path: Path | None) -> str:
    """Return the text of a file that an option names."""
    try:
        return "" if path is None else path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{option} {path} cannot be read as text: {error}.") from error


@app.command("invite")
def invite(
    study: Study,
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
    with opened_studies(store) as studies:
        access = label.Access(studies.engine)
        joining = f"{(address or access.address() or ADDRESS).rstrip('/')}/join/"
        if participants is not None:
            lines = _read("--participants", participants).splitlines()
            ids = dict.fromkeys(line.strip() for line in lines if line.strip())
            if not ids:
                raise UserError(f"--participants {participants} has no ids; write one a line.")
            if long := next((id for id in ids if len(id) > LONGEST_ID), None):
                raise UserError(f"{participants}: an id has at most {LONGEST_ID} characters, unlike {long}.")
            for id in ids:
                print(f"{id}\t{joining}{access.invite(study, None, id)}")
        elif anyone:
            if studies.study(study).config.signed_ids:
                raise UserError(
                    f"{study} takes signed links only, and --open prints one for everybody; --participants FILE prints one for each id."
                )
            print(f"{joining}{access.invite(study, None)}")
        elif rater is not None:
            print(f"{joining}{access.invite(study, label.find_seat(studies, study, rater).seat)}")
        else:
            free = [seat for seat in studies.seats(study) if seat.state is label.RaterState.FREE]
            if not free:
                raise UserError(
                    f"{study} has no free seat; `personafit label extend {study} --raters N` adds some, "
                    "and --rater CODE prints the link of one who has a seat."
                )
            for seat in free:
                print(f"{joining}{access.invite(study, seat.seat)}")


@app.command("serve")
def serve(
    host: Annotated[str, typer.Option(metavar="HOST", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="PORT", min=1, max=65535, help="Port to listen on.")] = 8710,
    model: Annotated[
        list[str] | None, typer.Option(metavar="SPEC", help="Model that chats may use. Repeatable.")
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
    label.serve_studies(store_url(store), host, port, model or [], proxy or [])


@app.command("simulate")
def simulate(study: Study, store: StoreOption = None) -> None:
    """Let simulated raters fill the free seats of a study that was made for them.

    **Example**

        personafit label new dry --from starter --simulated && personafit label simulate dry && personafit label status dry
    """
    with opened_studies(store) as studies:
        count = label.simulate_votes(studies.store, study)
    console().print(f"{study}: {count:,} simulated answers.")


@app.command("status")
def status(study: Study, json: JsonOption = False, store: StoreOption = None) -> None:
    """Show a study's progress, its raters' work, and their agreement.

    **Example**

        personafit label status pilot --json
    """
    from personafit.api.report import print_pieces

    with opened_studies(store) as studies:
        numbers = label.study_overview(studies, study)
    if json:
        print_object(label.status_object(numbers))
    else:
        print_pieces(label.status_pieces(numbers), console())


app.registered_commands.extend(steering.registered_commands)
