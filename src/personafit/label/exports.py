"""Taking a study's votes elsewhere: tables, a dataset folder with a card, Label Studio, Argilla; and a checksum for every file.

All of them are made from one reading of the votes, with pseudonyms only: no names, no addresses, no ids from elsewhere.
"""

import re
import time
import uuid
from collections import Counter
from collections.abc import Callable
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr  # nosec B406 # written, never read

import orjson
import polars as pl
from sqlalchemy import select

from personafit._errors import UserError
from personafit.label.adjudicating import labels_of
from personafit.label.agreement import study_agreement
from personafit.label.records import Arrangement, Field, Page, RaterState, Role
from personafit.label.studies import ADJUDICATED, Studies
from personafit.label.votes import UNIT, adjudicated_votes, stored_page, study_remarks, study_votes, tally
from personafit.reports.pieces import result_cell
from personafit.store import tables as t
from personafit.store.reading import export_frame

VOTE_COLUMNS = (
    "study", "item", "question", "target", "rater", "kind", "label", "value", "status", "why", "text", "note", "order",
    "seconds", "at", "client_time", "perspective", "generation", "page", "role", "person", "weight",
)  # fmt: skip
REMARK_COLUMNS = ("page", "person", "rater", "kind", "question", "label", "text", "at")
AGGREGATE = {
    "item": pl.String,
    "question": pl.String,
    "target": pl.String,
    "person": pl.String,
    "votes": pl.Int64,
    "counts": pl.String,
    "majority": pl.String,
    "share": pl.Float64,
    "cannot_tell": pl.Int64,
    "adjudicated": pl.String,
}
CHATS = {"page": pl.String, "rater": pl.String, "turn": pl.Int64, "role": pl.String, "text": pl.String}
FIGURES = {
    "percent": "percent agreement",
    "fleiss": "Fleiss' kappa",
    "nominal": "Krippendorff's alpha, nominal",
    "ordinal": "Krippendorff's alpha, ordinal",
}
CARD = Path(__file__).with_name("votes_card.md")
SHOWN = "page"  # what the tools call the text of a page
HIGHEST_RATING, FEWEST_STEPS = 10, 3  # of what Argilla takes for a rating
TEXT = {"type": "text", "use_markdown": False}


class ExportPage:
    """A page as it is exported: its texts, and its fields under names that are the same on every page."""

    def __init__(self, studies: Studies, name: str, page: Page) -> None:
        form = studies.form(name)
        self.page, self.shown = page, stored_page(form, page)
        self.fields: dict[str, Field] = {}
        """By question, and the place where a page asks it several times."""
        fields = form.fields(page, Arrangement.stored(page))
        many, place = Counter(field.question for field in fields), Counter[str]()
        for field in fields:
            place[field.question] += 1
            several = f"_{place[field.question]}" if many[field.question] > 1 else ""
            self.fields[f"{field.question}{several}"] = field
        self.labels = {called: labels_of(studies, name, page, field) for called, field in self.fields.items()}

    @property
    def text(self) -> str:
        """Everything on the page, in the order stored."""
        return "\n\n".join(f"{name.upper()}\n{_plain(value)}" for name, value in self.shown.items())

    def answers(self, votes: pl.DataFrame) -> dict[str, dict[str, dict[str, Any]]]:
        """The votes on the page, by rater and field."""
        # Where raters make the item themselves, each has another one.
        unit = UNIT[1:] if self.page.makes else UNIT
        names = {tuple(getattr(field, part) for part in unit): name for name, field in self.fields.items()}
        found: dict[str, dict[str, dict[str, Any]]] = {}
        for vote in votes.filter(pl.col("page") == self.page.id).iter_rows(named=True):
            found.setdefault(vote["rater"], {})[names[tuple(vote[part] for part in unit)]] = vote
        return found


class StudyExport:
    """What an export of a study holds: standing votes of raters who are not excluded, and what they are about."""

    def __init__(self, studies: Studies, name: str) -> None:
        self._studies, self.study, form = studies, studies.study(name), studies.form(name)
        config = self.study.config
        self.guidelines = config.guidelines or form.guidelines[config.language]
        seats = studies.seats(name)
        out = {seat.code for seat in seats if seat.state is RaterState.EXCLUDED}
        self.excluded = len(out)
        weight = pl.col("item").replace_strict(config.weights, default=None, return_dtype=pl.Float64)
        self._votes = study_votes(studies, name)
        self.votes = self._votes.with_columns(study=pl.lit(name), weight=weight).select(VOTE_COLUMNS)
        self.decisions = adjudicated_votes(studies, name)
        self.remarks = study_remarks(studies, name).filter(~pl.col("rater").is_in(out)).select(REMARK_COLUMNS)
        codes = {seat.seat: seat.code for seat in seats if seat.code not in out}
        chats = t.study_chats.c
        query = select(chats.page, chats.seat, chats.turn, chats.role, chats.text)
        rows = studies.store.rows(
            query.where(chats.study == name, chats.seat.in_(codes)).order_by(
                chats.seat, chats.page, chats.turn
            )
        )
        self.chats = pl.DataFrame(
            [(row.page, codes[row.seat], *row[2:]) for row in rows], schema=CHATS, orient="row"
        )

    @cached_property
    def pages(self) -> list[ExportPage]:
        """The pages that count, as raters saw them."""
        name = self.study.name
        return [ExportPage(self._studies, name, page) for page in self._studies.pages(name, (Role.ITEM,))]

    @cached_property
    def questions(self) -> dict[str, tuple[Field, list[str]]]:
        """Every field by its name, with the labels it can have on any page."""
        found: dict[str, tuple[Field, dict[str, None]]] = {}
        for page in self.pages:
            for name, field in page.fields.items():
                found.setdefault(name, (field, {}))[1].update(dict.fromkeys(page.labels[name]))
        return {name: (field, list(labels)) for name, (field, labels) in found.items()}

    @property
    def aggregate(self) -> pl.DataFrame:
        """What the votes come to: one row for each item, question and target."""
        decided = {row[:3]: row[3] for row in self.decisions.select(*UNIT, "label").iter_rows()}
        rows: list[tuple[Any, ...]] = []
        for key, part in self.votes.group_by(UNIT, maintain_order=True):
            found = tally(part["label"])
            skipped = part.filter(pl.col("status") == "skipped").height
            if found.counts or skipped:  # texts come to nothing
                counts = orjson.dumps(found.counts).decode()
                total = sum(found.counts.values())
                come_to = (total, counts, found.majority, found.share, skipped, decided.get(key))
                rows.append((*key, part["person"][0], *come_to))
        return pl.DataFrame(rows, schema=AGGREGATE, orient="row")

    def card(self) -> str:
        """What a reader of the data has to know."""
        study, votes, config = self.study, self.votes, self.study.config
        raters = Counter(votes.select("rater", "kind").unique()["kind"])
        simulated = "- **some or all raters are simulated: their votes are not votes of people**\n"
        return CARD.read_text(encoding="utf-8").format(
            study=study,
            config=config,
            pages=len(self.pages),
            items=votes["item"].n_unique(),
            votes=votes.height,
            raters=", ".join(f"{count} {kind}" for kind, count in sorted(raters.items())) or "none",
            excluded=self.excluded,
            perspective=", ".join(sorted(set(votes["perspective"]))) or config.perspective,
            decided=self.decisions.height,
            simulated=simulated if "simulated" in raters else "",
            agreement="\n".join(self._agreement()),
            guidelines="\n".join(f"> {line}".rstrip() for line in self.guidelines.splitlines()),
        )

    def _agreement(self) -> list[str]:
        found = study_agreement(self._studies, self.study.name, self._votes)
        if not found:
            return ["No two raters have answered the same item."]
        heads = "| question | raters | items shared | figure | value | 95 % interval over people |"
        lines = [heads, "|---|---|---|---|---|---|"]
        for one in found:
            for name, estimate in one.figures.items():
                cell = result_cell(estimate, "{:.3f}".format, to=" to ")
                cells = [one.question, one.raters, one.units, FIGURES[name], cell.text or "–"]
                lines.append(f"| {' | '.join(map(str, cells))} | {cell.interval or estimate.note or '–'} |")
        return lines


def write_tables(exported: StudyExport, folder: Path, kind: str) -> None:
    """Votes and what they come to; flags, notes and chats where there are any."""
    tables = {"votes": exported.votes, "aggregate": exported.aggregate}
    more = {"remarks": exported.remarks, "chats": exported.chats}
    for name, frame in (tables | {name: one for name, one in more.items() if not one.is_empty()}).items():
        export_frame(frame, folder / f"{name}.{kind}")


def write_dataset(exported: StudyExport, folder: Path) -> None:
    """The tables, the pages as raters saw them, and a card."""
    write_tables(exported, folder, "jsonl")
    with (folder / "pages.jsonl").open("wb") as file:
        for one in exported.pages:
            about = {"page": one.page.id, "person": one.page.person, "items": one.page.items}
            file.write(orjson.dumps(about | {"content": one.shown}) + b"\n")
    (folder / "card.md").write_text(exported.card(), encoding="utf-8")


def _plain(value: Any, depth: int = 0) -> str:
    indent = "  " * depth
    if isinstance(value, dict) and set(value) in ({"role", "text"}, {"letter", "text"}):
        return indent + ": ".join(map(str, value.values()))
    if isinstance(value, dict):
        lines = [(f"{key}:", one) for key, one in value.items()]
    elif isinstance(value, list):
        lines = [(f"[{number}]", one) for number, one in enumerate(value, 1)]
    else:
        return f"{indent}{'' if value is None else value}"
    return "\n".join(f"{indent}{head} {_plain(one, depth + 1).lstrip()}" for head, one in lines)


def write_label_studio(exported: StudyExport, folder: Path) -> None:
    """`tasks.json` to import, `config.xml` to paste into the project's settings.

    Label Studio refuses annotations by users it does not know, so annotations carry no user; whose they are stands in the task's
    data, in the order of the annotations. Decisions are ground truth.
    """
    votes = pl.concat([exported.votes, exported.decisions], how="diagonal")
    # Every task has a text for every entry that any page lists, since the configuration shows them all.
    listed = {name: "" for name, (field, _) in exported.questions.items() if field.place is not None}
    tasks = []
    for number, one in enumerate(exported.pages, 1):
        given, about = one.answers(votes), {"id": one.page.id, "person": one.page.person}
        data = {SHOWN: one.text, **about, "raters": list(given), **listed}
        data |= {name: field.text for name, field in one.fields.items() if field.place is not None}
        annotations = [_annotation(number, one, rater, answers) for rater, answers in given.items()]
        tasks.append({"id": number, "data": data, "annotations": annotations, "predictions": []})
    (folder / "tasks.json").write_bytes(orjson.dumps(tasks, option=orjson.OPT_INDENT_2))
    lines = ["<View>", f'  <Text name="{SHOWN}" value="${SHOWN}"/>']
    for name, (field, labels) in exported.questions.items():
        lines.append(f"  <Header value={quoteattr(field.question)}/>")
        if field.place is not None:
            lines.append(f"  <Text name={quoteattr(f'{name}_target')} value={quoteattr(f'${name}')}/>")
        if field.kind == "text":
            lines.append(f'  <TextArea name={quoteattr(name)} toName="{SHOWN}"/>')
            continue
        lines.append(f'  <Choices name={quoteattr(name)} toName="{SHOWN}" choice="single">')
        lines += [f"    <Choice value={quoteattr(label)}/>" for label in labels]
        lines.append("  </Choices>")
    (folder / "config.xml").write_text("\n".join([*lines, "</View>"]) + "\n", encoding="utf-8")


def _annotation(
    task: int, page: ExportPage, rater: str, answers: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    results = []
    for name, vote in answers.items():
        text = page.fields[name].kind == "text"
        if given := vote["text"] if text else vote["label"]:
            about = {"id": f"{task}-{name}", "from_name": name, "to_name": SHOWN}
            kind = {"type": "textarea" if text else "choices"}
            results.append(about | kind | {"value": {"text" if text else "choices": [given]}})
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(max(vote["at"] for vote in answers.values())))
    return {
        "result": results,
        "was_cancelled": not results,
        "ground_truth": rater == ADJUDICATED,
        "created_at": when,
        "updated_at": when,
        "lead_time": max(vote["seconds"] for vote in answers.values()),
    }


def write_argilla(exported: StudyExport, folder: Path) -> None:
    """A folder that Argilla 2 reads (`rg.Dataset.from_disk`).

    It knows users by UUID: each pseudonym has one made from it, listed in `raters.json`. A response without a value for the required
    question is none to Argilla, so raters who could not tell are not in it.
    """
    # A question with labels comes first and is the required one: a text may be empty.
    ordered = sorted(exported.questions.items(), key=lambda one: one[1][0].kind == "text")
    questions: dict[str, dict[str, Any]] = {
        name: {
            "name": _slug(name),
            "title": field.question,
            "description": None,
            "required": place == 0,
            "settings": TEXT if field.kind == "text" else _options(labels),
        }
        for place, (name, (field, labels)) in enumerate(ordered)
    }
    ratings = {name for name, body in questions.items() if body["settings"]["type"] == "rating"}
    study = exported.study.name
    users = {
        rater: str(uuid.uuid5(uuid.NAMESPACE_URL, f"personafit:{study}:{rater}"))
        for rater in sorted(set(exported.votes["rater"]))
    }
    records = []
    for page in exported.pages:
        responses: dict[str, list[dict[str, Any]]] = {}
        for rater, answers in page.answers(exported.votes).items():
            said = {
                name: vote["text"] if vote["label"] is None else vote["label"]
                for name, vote in answers.items()
            }
            if said.get(ordered[0][0]) is None:
                continue
            for name, value in said.items():
                if value is not None:
                    response = {"value": int(value) if name in ratings else value, "user_id": users[rater]}
                    responses.setdefault(_slug(name), []).append(response | {"status": "submitted"})
        shown = {"fields": {SHOWN: page.text}, "metadata": {"person": page.page.person}}
        rest = {"suggestions": {}, "responses": responses, "vectors": {}}
        records.append({"id": page.page.id} | shown | rest)
    about = {"guidelines": exported.guidelines, "allow_extra_metadata": True}
    fields = [{"name": SHOWN, "title": SHOWN, "required": True, "settings": TEXT}]
    asked = {"fields": fields, "questions": list(questions.values()), "metadata": [], "vectors": []}
    (folder / ".argilla").mkdir()
    for path, body in (
        (".argilla/settings.json", about | asked),
        (".argilla/dataset.json", {"name": _slug(study)} | about),
        ("records.json", records),
        ("raters.json", users),
    ):
        (folder / path).write_bytes(orjson.dumps(body, option=orjson.OPT_INDENT_2))


def _options(labels: list[str]) -> dict[str, Any]:
    marks = all(label.isdecimal() and int(label) <= HIGHEST_RATING for label in labels)
    if marks and len(labels) >= FEWEST_STEPS:
        return {"type": "rating", "options": [{"value": value} for value in sorted(map(int, labels))]}
    options = [{"value": label, "text": label, "description": None} for label in labels]
    return {"type": "label_selection", "options": options, "visible_options": None}


def _slug(name: str) -> str:
    """A name as Argilla takes it: small letters, digits, - and _."""
    return re.sub(r"[^a-z0-9_-]", "-", name.lower()).strip("-_") or "study"


FORMATS: dict[str, Callable[[StudyExport, Path], None]] = {
    **{kind: partial(write_tables, kind=kind) for kind in ("jsonl", "csv", "parquet")},
    "folder": write_dataset,
    "label-studio": write_label_studio,
    "argilla": write_argilla,
}


def export_study(studies: Studies, name: str, folder: Path, format: str) -> StudyExport:
    """Write a study's votes to a folder that is empty or not there yet; returns what was written."""
    if format not in FORMATS:
        raise UserError(f"--format {format}: there are {', '.join(FORMATS)}.")
    exported = StudyExport(studies, name)
    if exported.votes.is_empty() and exported.remarks.is_empty() and exported.chats.is_empty():
        excluded = f" ({exported.excluded} excluded)" if exported.excluded else ""
        raise UserError(f"{name} has no votes to write yet{excluded}; nothing was written.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UserError(f"{folder} is not empty; name a new folder with --out.")
        FORMATS[format](exported, folder)
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        sums = [f"{sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}" for path in files]
        (folder / "SHA256SUMS").write_text("\n".join(sums) + "\n", encoding="utf-8")
    except OSError as error:
        raise UserError(
            f"{folder} cannot be written ({error.strerror}); choose another with --out."
        ) from error
    return exported
