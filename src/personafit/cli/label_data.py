"""The parts of `personafit label` that look at a study, steer it, and take its votes in and out."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from personafit._errors import UserError
from personafit.cli.common import console, find_run, hint, store_url

if TYPE_CHECKING:
    from personafit.labeling.overview import Overview
    from personafit.labeling.studies import Studies
    from personafit.statistics import Estimate

STORE = typer.Option(help="File or postgresql:// URL; default .personafit/store.db.")
Study = Annotated[str, typer.Argument(metavar="STUDY")]
Rater = Annotated[str, typer.Argument(metavar="RATER", help="Pseudonym, as `label status` prints it.")]
StoreUrl = Annotated[str | None, STORE]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


@contextmanager
def _studies(store: str | None) -> Iterator["Studies"]:
    from personafit.labeling.studies import Studies
    from personafit.store import Store

    with Store(store_url(store)) as opened:
        yield Studies(opened)


def status(study: Study, json: Json = False, store: StoreUrl = None) -> None:
    """Say how far a study is, how raters work, and how far they agree.

    **Example**

        personafit label status pilot --json
    """
    from personafit.labeling.overview import overview

    with _studies(store) as studies:
        numbers = overview(studies, study)
    if json:
        from personafit.labeling.status import status_object

        _print_json(status_object(numbers))
        return
    _print_status(numbers)


def import_(
    study: Study,
    votes: Annotated[Path, typer.Argument(metavar="VOTES", help="A .jsonl or .csv file.")],
    simulated: Annotated[
        bool, typer.Option("--simulated", help="The votes are not people's, and everything says so.")
    ] = False,
    store: StoreUrl = None,
) -> None:
    """Take votes made elsewhere into a study: item, rater, label, and question, target, perspective where they are needed.

    Raters get pseudonyms. Nothing is written unless every line fits; the same file again changes nothing.

    **Example**

        personafit label import pilot votes.csv
    """
    from personafit.labeling.importing import import_votes

    with _studies(store) as studies:
        done = import_votes(studies, study, votes, simulated)
    again = f"; {done.known:,} were there already" if done.known else ""
    print(f"{done.votes:,} votes of {done.raters:,} raters taken into {study}{again}.")


def adjudicate(study: Study, json: Json = False, store: StoreUrl = None) -> None:
    """List what raters disagree about, the least agreed first; the researcher's pages decide it.

    **Example**

        personafit label adjudicate pilot
    """
    from rich.table import Table

    from personafit.labeling.adjudicating import disputes

    with _studies(store) as studies:
        found = disputes(studies, study)
    if json:
        rows = [
            {
                "item": one.field.item,
                "question": one.field.question,
                "target": one.field.target,
                "counts": one.counts,
                "share": one.share,
                "decided": one.decided,
            }
            for one in found
        ]
        _print_json({"study": study, "disputes": rows})
        return
    if not found:
        print(f"The raters of {study} disagree about nothing.")
        return
    table = Table(title=f"{study}: what raters disagree about", title_justify="left")
    for heading in ("item", "question", "target", "votes", "largest share", "decided"):
        table.add_column(heading, overflow="fold")
    for one in found:
        counts = ", ".join(f"{label} × {count}" for label, count in one.counts.items())
        table.add_row(
            _plain(one.field.item),
            _plain(one.field.question),
            _plain(one.field.target),
            _plain(counts),
            f"{one.share:.2f}",
            _plain(one.decided or ""),
        )
    console().print(table)
    left = sum(one.decided is None for one in found)
    hint(f"{left} of {len(found)} to be decided: personafit label serve, then Adjudicate.")


def export(
    study: Study,
    out: Annotated[Path | None, typer.Option(help="Folder to write, new or empty.")] = None,
    format: Annotated[
        str, typer.Option(help="jsonl, csv, parquet, folder, label-studio or argilla.")
    ] = "folder",
    benchmark: Annotated[
        Path | None, typer.Option(help="Write a benchmark folder with gold and tiers from the votes.")
    ] = None,
    store: StoreUrl = None,
) -> None:
    """Write a study's votes without names or addresses; excluded raters are left out, corrections count once.

    **Examples**

        personafit label export pilot --out pilot-votes --format folder

        personafit label export pilot --benchmark my-benchmark/
    """
    if out is None and benchmark is None:
        raise UserError("Say where to: --out DIR for the votes, --benchmark DIR for a benchmark.")
    from personafit.labeling.exporting import export_study

    with _studies(store) as studies:
        if out is not None:
            done = export_study(studies, study, out, format)
            raters = done.votes["rater"].n_unique()
            print(f"{done.votes.height:,} votes of {raters:,} raters written to {out} ({format}).")
        if benchmark is not None:
            from personafit.labeling.gold import write_benchmark

            gold = write_benchmark(studies.store, study, benchmark)
            tiers = ", ".join(f"{count:,} {tier}" for tier, count in sorted(gold.sizes.items()))
            print(f"Gold for {len({row.item for row in gold.rows}):,} items written to {benchmark}.")
            if tiers:
                print(f"Tiers: {tiers}.")
            for sentence in gold.tiers.warnings if gold.tiers else ():
                hint(sentence)
            if gold.undecided:
                hint(f"{len(gold.undecided):,} items have no majority and are left out: label adjudicate.")


def extend(
    study: Study,
    raters: Annotated[int, typer.Option(min=0, help="Seats to add.")] = 0,
    items: Annotated[int, typer.Option(min=0, help="Items to add.")] = 0,
    source: Annotated[
        str | None, typer.Option("--from", metavar="ITEMS|RUN", help="Where from, if it has moved.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Folder in the published layout.")] = None,
    store: StoreUrl = None,
) -> None:
    """Add raters or items; what raters have seen stays as it is.

    **Example**

        personafit label extend pilot --raters 3
    """
    from personafit.labeling import steering

    with _studies(store) as studies:
        seats, pages = steering.extend(studies.store, study, raters, items, find_run, source, data)
        added = studies.seats(study)[-seats:] if seats else []
        idle = sum(not studies.assigned(study, seat.seat) for seat in added)
    print(f"{study}: {seats:,} seats and {pages:,} pages more.")
    if idle:
        hint(
            f"{idle:,} of the seats have no pages: all pages have the raters planned for them. --items adds pages."
        )
    if seats:
        hint(f"personafit label invite {study}")


def pause(
    study: Study,
    rater: Annotated[str | None, typer.Argument(metavar="[RATER]", help="Only this one.")] = None,
    reason: Annotated[str, typer.Option(help="Why; stands in the trail.")] = "",
    store: StoreUrl = None,
) -> None:
    """Pause a study, or one of its raters: answers are kept, and none is taken.

    **Example**

        personafit label pause pilot
    """
    from personafit.labeling import steering

    with _studies(store) as studies:
        if rater is None:
            steering.set_state(studies, study, "paused")
        else:
            steering.pause(studies, steering.find_seat(studies, study, rater), reason)
    print(f"{rater or study} is paused.")


def resume(
    study: Study,
    rater: Annotated[str | None, typer.Argument(metavar="[RATER]", help="Only this one.")] = None,
    store: StoreUrl = None,
) -> None:
    """Let a study, or a rater who was paused or excluded, go on with all there is.

    **Example**

        personafit label resume pilot r-1a2b3c4d
    """
    from personafit.labeling import steering

    with _studies(store) as studies:
        if rater is None:
            steering.set_state(studies, study, "open")
        else:
            steering.resume(studies, steering.find_seat(studies, study, rater))
    print(f"{rater or study} goes on.")


def close(study: Study, store: StoreUrl = None) -> None:
    """Close a study; `label resume` opens it again.

    **Example**

        personafit label close pilot
    """
    from personafit.labeling import steering

    with _studies(store) as studies:
        steering.set_state(studies, study, "closed")
    print(f"{study} is closed.")


def warn(
    study: Study,
    rater: Rater,
    message: Annotated[str, typer.Argument(help="Shown on every page; empty takes it away.")],
    store: StoreUrl = None,
) -> None:
    """Show a rater a message.

    **Example**

        personafit label warn pilot r-1a2b3c4d "Please take more time for each page."
    """
    from personafit.labeling import steering

    with _studies(store) as studies:
        steering.warn(studies, steering.find_seat(studies, study, rater), message)
    print(f"{rater} is shown the message." if message.strip() else f"{rater} is shown no message any more.")


def exclude(
    study: Study,
    rater: Rater,
    reason: Annotated[str, typer.Option(help="Why; stands in the trail.")],
    store: StoreUrl = None,
) -> None:
    """Leave a rater's votes out of agreement, gold and exports; `label resume` takes them in again.

    **Example**

        personafit label exclude pilot r-1a2b3c4d --reason "three seconds a page"
    """
    from personafit.labeling import steering

    with _studies(store) as studies:
        steering.exclude(studies, steering.find_seat(studies, study, rater), reason)
    print(f"{rater} is excluded; nothing was deleted.")


def erase(
    study: Study,
    rater: Rater,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    store: StoreUrl = None,
) -> None:
    """Delete everything a participant answered, said and is; a line in the trail stays. It cannot be taken back.

    **Example**

        personafit label erase pilot r-1a2b3c4d
    """
    from personafit.labeling import steering
    from personafit.labeling.erasing import erase_rater

    with _studies(store) as studies:
        seat = steering.find_seat(studies, study, rater)
        if not yes and not typer.confirm(f"Delete everything of {rater} for good?"):
            raise UserError("Nothing was erased.")
        counts = erase_rater(studies, seat)
    gone = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    print(f"{rater} is erased from {study}: {gone or 'there was nothing yet'}.")
    print("Exports and backups already made are outside its reach: delete those yourself.")


COMMANDS: dict[str, Callable[..., Any]] = {
    "status": status,
    "import": import_,
    "adjudicate": adjudicate,
    "export": export,
    "extend": extend,
    "pause": pause,
    "resume": resume,
    "close": close,
    "warn": warn,
    "exclude": exclude,
    "erase": erase,
}


def _print_status(numbers: "Overview") -> None:
    from rich.table import Table
    from rich.text import Text

    out = console()
    study = numbers.study
    out.print(
        Text(
            f"{study.name} ({study.form}, {study.state}): {numbers.done:,} of {numbers.planned:,} pages answered, "
            f"{numbers.complete_pages:,} of {numbers.item_pages:,} items have all their raters, "
            f"{numbers.free:,} free seats."
        )
    )
    raters = Table(title="Raters", title_justify="left")
    for heading in (
        "rater",
        "state",
        "done",
        "median s",
        "with others",
        "gold",
        "attention",
        "can't tell",
        "flags",
    ):
        raters.add_column(heading, justify="left" if heading in ("rater", "state") else "right")
    for one in numbers.raters:
        raters.add_row(
            one.code + (" (simulated)" if one.kind == "simulated" else ""),
            one.state.value,
            f"{one.done}/{one.planned}",
            "–" if one.seconds is None else f"{one.seconds:.1f}",
            _figure(one.with_others),
            f"{one.gold.right}/{one.gold.answered}" if one.gold.answered else "–",
            f"{one.attention.right}/{one.attention.answered}" if one.attention.answered else "–",
            str(one.cannot_tell),
            str(one.flags),
        )
    out.print(raters)
    if not numbers.agreement:
        out.print("No agreement yet: it takes two raters who answered the same item.")
        return
    table = Table(title="Agreement, 95 % interval over people", title_justify="left")
    for heading in ("question", "raters", "items", "percent", "Fleiss", "alpha", "alpha, ordinal"):
        table.add_column(heading, justify="left" if heading == "question" else "right")
    notes: dict[str, None] = {}
    for figures in numbers.agreement:
        cells = [figures.figures.get(name) for name in ("percent", "fleiss", "nominal", "ordinal")]
        notes |= {one.note: None for one in cells if one is not None and one.note}
        table.add_row(
            _plain(figures.question),
            str(figures.raters),
            str(figures.units),
            *(_figure(one) for one in cells),
        )
    out.print(table)
    for note in notes:
        out.print(Text(note, style="dim"))


def _figure(estimate: "Estimate | None") -> str:
    if estimate is None or estimate.value is None:
        return "–"
    interval = f" ({estimate.low:.2f} to {estimate.high:.2f})" if estimate.low is not None else ""
    return f"{estimate.value:.2f}{interval}"


def _plain(text: str) -> Any:
    """A text that may hold anything, so that nothing in it is taken for markup."""
    from rich.text import Text

    return Text(text)


def _print_json(body: dict[str, Any]) -> None:
    sys.stdout.buffer.write(orjson.dumps(body, option=orjson.OPT_INDENT_2) + b"\n")
    sys.stdout.flush()
