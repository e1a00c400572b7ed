"""`personafit label`: human studies in the browser."""

from pathlib import Path
from typing import Annotated

import typer

from personafit._errors import UserError
from personafit.cli.common import console, find_run, hint, store_url
from personafit.cli.label_common import MOST, counted
from personafit.cli.label_data import adjudicate, export, import_
from personafit.cli.label_demo import demo, simulate
from personafit.cli.label_serve import serve
from personafit.cli.label_status import status
from personafit.cli.label_steering import COMMANDS
from personafit.cli.options import DataOption, StoreOption

app = typer.Typer(no_args_is_help=True, help="Human studies in the browser.")

ADDRESS = "http://127.0.0.1:8710"
LONGEST_ID = 200  # of a participant's id from elsewhere


@app.command("new")
def new(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="What the study is called.")],
    source: Annotated[
        str, typer.Option("--from", metavar="ITEMS|RUN", help="A benchmark, a folder, or a run.")
    ],
    question: Annotated[str | None, typer.Option(help="What is asked; default by the items.")] = None,
    overlap: Annotated[int, typer.Option(min=1, max=MOST, help="Raters per item.")] = 9,
    raters: Annotated[
        int | None, typer.Option(min=1, max=MOST, help="Raters to plan for; default as many as --overlap.")
    ] = None,
    stratify: Annotated[
        str | None, typer.Option(metavar="METRIC", help="Sample evenly over a metric of the run.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="So many items, sampled; default all.")] = None,
    n: Annotated[int | None, typer.Option("--n", min=1, hidden=True)] = None,  # what --limit was called first
    title: Annotated[str, typer.Option(help="What raters see above it.")] = "",
    language: Annotated[str, typer.Option(help="Language of the interface: en or zh.")] = "en",
    seed: Annotated[int, typer.Option(help="Of the sample and of all orders.")] = 0,
    gold: Annotated[
        str | None,
        typer.Option(
            metavar="N|FILE", help="So many pages with a known answer, or a file that says what is known."
        ),
    ] = None,
    attention: Annotated[
        int, typer.Option(min=0, max=MOST, help="Pages that say in their text what to answer.")
    ] = 0,
    practice: Annotated[int, typer.Option(min=0, max=MOST, help="Pages with feedback that come first.")] = 0,
    quiz: Annotated[bool, typer.Option(help="Ask a few questions about the guidelines first.")] = True,
    guidelines: Annotated[
        Path | None, typer.Option(help="Markdown file in place of the form's own guidelines.")
    ] = None,
    consent: Annotated[Path | None, typer.Option(help="Markdown file of the consent page.")] = None,
    model: Annotated[str, typer.Option(metavar="SPEC", help="Whom people talk with (chat).")] = "",
    simulated: Annotated[
        bool, typer.Option("--simulated", help="For simulated raters; everything made of it says so.")
    ] = False,
    signed_ids: Annotated[
        bool,
        typer.Option(
            "--signed-ids",
            help="Take only links made for one seat or, by `invite --participants`, for one id.",
        ),
    ] = False,
    completion_code: Annotated[str, typer.Option(help="Shown at the end, such as Prolific's.")] = "",
    completion_url: Annotated[str, typer.Option(help="Where raters go at the end.")] = "",
    data: DataOption = None,
    store: StoreOption = None,
) -> None:
    """Set a study up: its pages, who sees which, and in which order.

    **Examples**

        personafit label new pilot --from starter --question fit --overlap 3 --limit 20

        personafit label new check --from last --question dialogue --stratify personalization --limit 100

        personafit label new talk --from own --question chat --model openai:MODEL@URL --overlap 30
    """
    from personafit.labeling.making import ExtraPages, make_study
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
            count=limit or n,
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
    study: Annotated[str, typer.Argument(metavar="STUDY")],
    limit: Annotated[
        int | None, typer.Option(min=1, help="So many links; default one for every free seat.")
    ] = None,
    anyone: Annotated[
        bool, typer.Option("--open", help="One link for everybody: each takes the next free seat.")
    ] = False,
    rater: Annotated[
        str | None, typer.Option(metavar="CODE", help="The link of one rater again, who lost it.")
    ] = None,
    participants: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="One id a line: a link for each, signed, that opens their seat alone."
        ),
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="Where the server is reached; default where `label serve` ran last.")
    ] = None,
    store: StoreOption = None,
) -> None:
    """Print invitations: one signed link for each seat, one for all, or one for each participant of a file.

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


app.command("serve")(serve)
app.command("demo")(demo)
app.command("simulate")(simulate)
app.command("status")(status)
app.command("import")(import_)
app.command("adjudicate")(adjudicate)
app.command("export")(export)
for _name, _command in COMMANDS.items():
    app.command(_name)(_command)
