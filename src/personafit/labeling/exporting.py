"""Taking a study's votes elsewhere: tables, a dataset folder with a card, Label Studio, Argilla; and a checksum for every file.

All of them are made from one reading of the votes, with pseudonyms only: no names, no addresses, no ids from elsewhere.
"""

from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Literal

import orjson

from personafit._errors import UserError
from personafit.labeling.agreement import QuestionAgreement
from personafit.labeling.export_tools import write_argilla, write_label_studio
from personafit.labeling.exports import StudyExport, read_study
from personafit.labeling.studies import Studies
from personafit.store.reading import without_formulas

CHECKSUMS = "SHA256SUMS"
Kind = Literal["jsonl", "csv", "parquet"]
FIGURES = {
    "percent": "percent agreement",
    "fleiss": "Fleiss' kappa",
    "nominal": "Krippendorff's alpha, nominal",
    "ordinal": "Krippendorff's alpha, ordinal",
}
COLUMNS = """| column | meaning |
|---|---|
| item, question, target | what the vote is about |
| rater | pseudonym, of this study alone |
| kind | human, or simulated |
| label, value | the answer; for choices the index of the answer as stored, whatever order it was shown in |
| status, why | ok, or skipped with the reason (the rater could not tell) |
| text, note | what the rater wrote |
| order | order in which the answers were shown: 10 shows the second first |
| seconds | how long the page was before the rater |
| at, client_time | when it was stored, by the server's and the browser's clock, seconds since 1970 |
| perspective | third-party, or self where raters judge what was made for them |
| generation | 0, and one more for each correction; only the last is here |
| page, role, person | the page it was asked on, and whom it is about |
| weight | of items drawn by --stratify: how many items of its stratum the item stands for |"""


def write_tables(exported: StudyExport, folder: Path, kind: Kind) -> None:
    """Votes and what they come to; flags, notes and chats where there are any."""
    tables = {"votes": exported.votes, "aggregate": exported.aggregate}
    more = {"remarks": exported.remarks, "chats": exported.chats}
    for name, frame in (tables | {name: one for name, one in more.items() if not one.is_empty()}).items():
        path = folder / f"{name}.{kind}"
        if kind == "parquet":
            frame.write_parquet(path)
        elif kind == "csv":
            without_formulas(frame).write_csv(path)
        else:
            frame.write_ndjson(path)


def write_checksums(folder: Path) -> None:
    """The hash of every file, as `sha256sum --check` reads them."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = [f"{sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}" for path in files]
    (folder / CHECKSUMS).write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_dataset(exported: StudyExport, folder: Path) -> None:
    """The folder."""
    write_tables(exported, folder, "jsonl")
    with (folder / "pages.jsonl").open("wb") as file:
        for page in exported.pages:
            content = exported.shown[page.id]
            shown = {"page": page.id, "person": page.person, "items": page.items, "content": content}
            file.write(orjson.dumps(shown) + b"\n")
    (folder / "card.md").write_text(card(exported), encoding="utf-8")


def card(exported: StudyExport) -> str:
    """What a reader of the data has to know."""
    study, votes = exported.study, exported.votes
    config, raters = study.config, votes.select("rater", "kind").unique()
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(Counter(raters["kind"]).items()))
    simulated = "simulated" in set(raters["kind"])
    lines = [
        f"# {study.title}",
        "",
        f"Votes of the study `{study.name}` on {config.source} (data set `{study.dataset}`), form `{study.form}`.",
        "",
        f"- {len(exported.pages):,} pages, {votes['item'].n_unique():,} items with votes, {votes.height:,} votes",
        f"- raters: {kinds or 'none'}; {config.overlap} planned per page; {exported.excluded} excluded and left out",
        f"- perspective: {', '.join(sorted(set(votes['perspective']))) or config.perspective}; "
        f"raters were shown of the person: {config.view}",
        "- answers and pages were put in an order drawn from page, rater and seed "
        f"({config.seed}); the order shown stands with each vote",
        f"- decided by the researcher: {exported.decisions.height:,}",
    ]
    if simulated:
        lines.append("- **some or all raters are simulated: their votes are not votes of people**")
    lines += ["", "## Agreement", "", *_agreement(exported.agreement)]
    lines += ["", "## Guidelines", "", *(f"> {line}".rstrip() for line in exported.guidelines.splitlines())]
    lines += ["", "## Files", ""]
    lines += [
        "`votes.jsonl` holds one vote a line, `aggregate.jsonl` what they come to, `pages.jsonl` the texts as stored, "
        "`remarks.jsonl` flags and notes, `chats.jsonl` conversations, where there are any; `SHA256SUMS` checks them.",
        "",
        COLUMNS,
        "",
        "There are no names or addresses in the data. What raters wrote themselves is as they wrote it: read it before you "
        "pass it on.",
    ]
    return "\n".join(lines) + "\n"


def _agreement(found: list[QuestionAgreement]) -> list[str]:
    if not found:
        return ["No two raters have answered the same item."]
    lines = [
        "| question | raters | items shared | figure | value | 95 % interval over people |",
        "|---|---|---|---|---|---|",
    ]
    for one in found:
        for name, estimate in one.figures.items():
            value = "–" if estimate.value is None else f"{estimate.value:.3f}"
            interval = estimate.note or "–"
            if estimate.low is not None and estimate.high is not None:
                interval = f"{estimate.low:.3f} to {estimate.high:.3f}"
            lines.append(
                f"| {one.question} | {one.raters} | {one.units} | {FIGURES[name]} | {value} | {interval} |"
            )
    return lines


FORMATS: dict[str, Callable[[StudyExport, Path], None]] = {
    "jsonl": lambda exported, folder: write_tables(exported, folder, "jsonl"),
    "csv": lambda exported, folder: write_tables(exported, folder, "csv"),
    "parquet": lambda exported, folder: write_tables(exported, folder, "parquet"),
    "folder": write_dataset,
    "label-studio": write_label_studio,
    "argilla": write_argilla,
}


def export_study(studies: Studies, name: str, folder: Path, format: str) -> StudyExport:
    """Write a study's votes to a folder that is empty or not there yet; returns what was written."""
    if format not in FORMATS:
        raise UserError(f"--format {format}: there are {', '.join(FORMATS)}.")
    exported = read_study(studies, name)
    if exported.votes.is_empty() and exported.remarks.is_empty() and exported.chats.is_empty():
        excluded = f" ({exported.excluded} excluded)" if exported.excluded else ""
        raise UserError(f"{name} has no votes to write yet{excluded}; nothing was written.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UserError(f"{folder} is not empty; name a new folder with --out.")
        FORMATS[format](exported, folder)
        write_checksums(folder)
    except OSError as error:
        raise UserError(
            f"{folder} cannot be written ({error.strerror}); choose another with --out."
        ) from error
    return exported
