"""The commands of `personafit label` on an existing study: votes in and out, decisions, and actions on raters."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from personafit import label
from personafit._errors import UserError, counted
from personafit.api.places import hint, store_url
from personafit.cli.common import console, print_object
from personafit.cli.options import JsonOption, StoreOption

app = typer.Typer()

MOST = 10_000  # maximum number of raters, and of pages besides the items: more is probably a typo

Study = Annotated[str, typer.Argument(metavar="STUDY", help="Name of the study.")]
Rater = Annotated[str, typer.Argument(metavar="RATER", help="Pseudonym, as `label status` prints it.")]
OneRater = Annotated[str | None, typer.Argument(metavar="[RATER]", help="Only this one.")]
Message = Annotated[str, typer.Argument(help="Message shown on every page; an empty one removes it.")]
Reason = Annotated[str, typer.Option(metavar="TEXT", help="Reason, stored in the audit trail.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


@contextmanager
def opened_studies(store: str | None) -> Iterator["label.Studies"]:
    """Open the studies of a store within a context."""
    from personafit import Store

    with Store(store_url(store)) as opened:
        yield label.Studies(opened)


@app.command("import")
def import_(
    study: Study,
    votes: Annotated[Path, typer.Argument(metavar="VOTES", help="A .jsonl or .csv file.")],
    simulated: Annotated[
        bool, typer.Option("--simulated", help="The votes are simulated; everything made from them says so.")
    ] = False,
    store: StoreOption = None,
) -> None:
    """Import votes made elsewhere into a study: item, rater, label, and question, target, perspective where needed.

    Raters get pseudonyms. Nothing is written unless every line fits; the same file again changes nothing.

    **Example**

        personafit label import pilot votes.csv
    """
    with opened_studies(store) as studies:
        done = label.import_votes(studies, study, votes, simulated)
    again = f"; {done.known:,} were there already" if done.known else ""
    taken, raters = counted(done.votes, "vote", "votes"), counted(done.raters, "rater", "raters")
    print(f"{taken} of {raters} imported into {study}{again}.")


@app.command("adjudicate")
def adjudicate(
    study: Study,
    decide: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ITEM=ANSWER", help="Decide an item; an empty ANSWER takes the decision back. Repeatable."
        ),
    ] = None,
    question: Annotated[str, typer.Option(help="Which question, where a study asks several.")] = "",
    target: Annotated[str, typer.Option(help="Which part of the item, where it has several.")] = "",
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Reason, stored with the decision.")] = "",
    json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """List what raters disagree about, least agreed first, or decide it; the researcher's pages do both too.

    Answers are labels as votes hold them.

    **Examples**

        personafit label adjudicate pilot

        personafit label adjudicate pilot --decide starter/marlene/backups=1 --reason "the other one only mentions her job"
    """
    from personafit.api.report import print_pieces

    with opened_studies(store) as studies:
        for given in decide or []:
            item, sign, answer = given.rpartition("=")
            if not sign or not item:
                raise UserError(f"--decide {given}: write ITEM=ANSWER, such as starter/marlene/backups=1.")
            try:
                label.decide_item(studies, study, item, answer or None, question, target, reason)
            except UserError as error:
                raise UserError(f"--decide {given}: {error}") from error
        found = label.disputes(studies, study)
    if json:
        rows = [
            one.field.model_dump(include={"item", "question", "target"})
            | {"counts": one.counts, "share": one.share, "decided": one.decided, "reason": one.why}
            for one in found
        ]
        print_object({"study": study, "disputes": rows})
    elif not found:
        print(f"The raters of {study} disagree about nothing.")
    else:
        print_pieces(label.dispute_pieces(study, found), console())


@app.command("export")
def export(
    study: Study,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for the votes, new or empty.")
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Format of the tables in --out: jsonl (default), csv or parquet."),
    ] = None,
    benchmark: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write a benchmark folder with gold and tiers from the votes; of a screening, the build's folder to decide about.",
        ),
    ] = None,
    store: StoreOption = None,
) -> None:
    """Export a study's votes without names or addresses; excluded raters are left out, corrections count once.

    **Examples**

        personafit label export pilot --out pilot-votes --format csv

        personafit label export pilot --benchmark my-benchmark/

        personafit label export screening --benchmark my-build/
    """
    if out is None and benchmark is None:
        raise UserError("Say where to: --out DIR for the votes, --benchmark DIR for a benchmark.")
    if out is None and format is not None:
        raise UserError(f"--format {format} says how votes are written to --out, which is missing.")
    with opened_studies(store) as studies:
        if out is not None:
            done = label.export_study(studies, study, out, format or "jsonl")
            votes = counted(done.votes.height, "vote", "votes")
            raters = counted(done.votes["rater"].n_unique(), "rater", "raters")
            print(f"{votes} of {raters} written to {out} ({format or 'folder'}).")
        if benchmark is not None and studies.study(study).form == "screen":
            _decide(studies, study, benchmark)
        elif benchmark is not None:
            gold = label.write_benchmark(studies.store, study, benchmark)
            items = counted(len({row.item for row in gold.rows}), "item", "items")
            print(f"Gold for {items} written to {benchmark}.")
            if tiers := ", ".join(f"{count:,} {tier}" for tier, count in sorted(gold.sizes.items())):
                print(f"Tiers: {tiers}.")
            for sentence in gold.tiers.warnings if gold.tiers else ():
                hint(sentence)
            if gold.undecided:
                left = counted(len(gold.undecided), "item has", "items have")
                hint(f"{left} no majority and no decision, and therefore no gold; label adjudicate decides.")


def _decide(studies: "label.Studies", study: str, folder: Path) -> None:
    """Write a screening's decisions into the folder of its build, and print the outcome."""
    found = label.write_decisions(studies, study, folder)
    drops = " and ".join(f"{one.dropped:,} of {one.screened:,} {step}" for step, one in found.items())
    print(f"{study}: {drops} are marked as dropped in {folder / 'review'}.")
    if ties := sum(one.ties for one in found.values()):
        hint(f"{ties:,} are tied and so kept; label adjudicate {study} decides them.")
    hint(f"personafit build CONFIG.toml --out {folder} replaces what was dropped.")


@app.command("extend")
def extend(
    study: Study,
    raters: Annotated[int, typer.Option(min=1, max=MOST, help="Seats to add.")],
    store: StoreOption = None,
) -> None:
    """Add seats to a study; pages that raters may have seen stay as they are.

    **Example**

        personafit label extend pilot --raters 3
    """
    with opened_studies(store) as studies:
        studies.extend(study, raters)
        added = studies.seats(study)[-raters:]
        idle = sum(not studies.assigned(study, seat.seat) for seat in added)
    print(f"{study}: {counted(raters, 'seat', 'seats')} added.")
    if idle:
        hint(f"{idle:,} of the seats have no pages, since all have their raters.")
    hint(f"personafit label invite {study}")


@app.command("pause")
def pause(study: Study, rater: OneRater = None, store: StoreOption = None) -> None:
    """Pause a study, or one of its raters: answers are kept, and none is taken.

    **Example**

        personafit label pause pilot
    """
    with opened_studies(store) as studies:
        if rater is None:
            label.set_state(studies, study, "paused")
        else:
            label.pause(studies, label.find_seat(studies, study, rater), "")
    print(f"{rater or study} is paused.")


@app.command("resume")
def resume(study: Study, rater: OneRater = None, store: StoreOption = None) -> None:
    """Resume a study, or a rater who was paused or excluded.

    **Example**

        personafit label resume pilot r-1a2b3c4d
    """
    with opened_studies(store) as studies:
        if rater is None:
            label.set_state(studies, study, "open")
        else:
            label.resume(studies, label.find_seat(studies, study, rater))
    print(f"{rater or study} is resumed.")


@app.command("close")
def close(study: Study, store: StoreOption = None) -> None:
    """Close a study; `label resume` opens it again.

    **Example**

        personafit label close pilot
    """
    with opened_studies(store) as studies:
        label.set_state(studies, study, "closed")
    print(f"{study} is closed.")


@app.command("warn")
def warn(study: Study, rater: Rater, message: Message, store: StoreOption = None) -> None:
    """Show a rater a message.

    **Example**

        personafit label warn pilot r-1a2b3c4d "Please take more time for each page."
    """
    with opened_studies(store) as studies:
        label.warn(studies, label.find_seat(studies, study, rater), message)
    print(f"{rater} now sees the message." if message.strip() else f"{rater} sees no message any more.")


@app.command("exclude")
def exclude(study: Study, rater: Rater, reason: Reason, store: StoreOption = None) -> None:
    """Exclude a rater's votes from agreement, gold and exports; `label resume` includes them again.

    **Example**

        personafit label exclude pilot r-1a2b3c4d --reason "three seconds a page"
    """
    with opened_studies(store) as studies:
        label.exclude(studies, label.find_seat(studies, study, rater), reason)
    print(f"{rater} is excluded; nothing was deleted.")


@app.command("erase")
def erase(study: Study, rater: Rater, yes: Yes = False, store: StoreOption = None) -> None:
    """Delete everything about a participant, for good; a line in the audit trail stays.

    **Example**

        personafit label erase pilot r-1a2b3c4d
    """
    with opened_studies(store) as studies:
        seat = label.find_seat(studies, study, rater)
        if not yes and not typer.confirm(f"Delete everything of {rater} for good?"):
            raise UserError("Nothing was erased.")
        done = label.erase_rater(studies, seat)
    gone = ", ".join(f"{count:,} {what}" for what, count in done.counts.items() if count)
    print(f"{rater} is erased from {study}: {gone or 'there was nothing yet'}.")
    print("Exports and backups made before still have these data; delete them yourself.")
    if done.remains is not None:
        raise UserError(label.REMAIN.format(why=done.remains), code=1)
