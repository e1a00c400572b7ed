"""A human study of stage 2 (which attributes matter) or stage 3 (does using them help): items for a form, and votes back.

`write_forms` makes a benchmark folder with a `forms.json` beside it: what is asked, the answers to choose from, and which items
share a page in which order. Whose attributes they are and who wrote an answer is not for raters to see. `import_votes` takes
their judgments back, one a line, checks them, and works out gold: the majority in stage 2, the mean mark in stage 3.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from personafit._errors import UserError, located
from personafit._hashing import hash_text
from personafit.benchmarks.benchmark import Benchmark, BenchmarkInfo, Ungraded
from personafit.benchmarks.folder import FolderBenchmark, write_folder
from personafit.benchmarks.lines import read_lines, read_object, validated
from personafit.benchmarks.recentering import open_relevance
from personafit.benchmarks.recentering.responses import open_responses, rater_kinds
from personafit.items.preference import HIGHEST, LOWEST, PERSONAL, PREFER, PREFERENCE
from personafit.items.relevance import NO, PAIR, RELEVANCE, YES
from personafit.people import Person
from personafit.store import Item, Judgment, Product, RaterRecord, Status

FORMS = "forms.json"
STAGES = {2: RELEVANCE, 3: PREFERENCE}
GOLD = {RELEVANCE: "majority", PREFERENCE: "mean"}
PERSPECTIVES = ("self", "third-party")
PANEL_KINDS = ("human", "simulated")
MARKS = {1: "clearly A", 2: "rather A", 3: "no difference", 4: "rather B", 5: "clearly B"}


class Forms(Ungraded):
    """The items of a study, grouped into pages, without anybody's answers."""

    def __init__(self, source: Benchmark, question: str, seed: int) -> None:
        self._source = source
        self.info = BenchmarkInfo(
            name=f"{source.info.name}-{question}-study",
            version=source.info.version,
            title=f"{source.info.title or source.info.name} (study)",
            licence=source.info.licence,
            language=source.info.language,
            gold=GOLD[question],
            metric="f1" if question == RELEVANCE else "rating",
            view=source.info.view,
            layout=[],
        )
        # Pages come in a drawn order, and so do the items on them: neither the file's order nor the person shows.
        items = sorted(
            (_on_page(item, question) for item in source.items()),
            key=lambda item: (
                hash_text("page", str(seed), item.group),
                hash_text("place", str(seed), item.id),
            ),
        )
        self._items = items
        self._used = {product for item in items for product in item.products}
        self._people = {item.person for item in items}

    def people(self) -> Iterator[Person]:
        """Those the items are about."""
        return (person for person in self._source.people() if person.id in self._people)

    def products(self) -> Iterator[Product]:
        """What the items show."""
        return (product for product in self._source.products() if product.id in self._used)

    def items(self) -> Iterator[Item]:
        """The items, page by page."""
        return iter(self._items)


def _on_page(item: Item, question: str) -> Item:
    """Stage 2 shows all attributes for a prompt together, whosever they are; stage 3 one pair of answers at a time."""
    page = (
        f"prompt/{hash_text(item.prompt)[:12]}"
        if question == RELEVANCE
        else f"pair/{hash_text(item.id)[:12]}"
    )
    return Item.model_validate({**item.model_dump(), "group": page})


def write_forms(data: Path | None, stage: int, out: Path, seed: int = 0) -> dict[str, int]:
    """Write the folder; returns how many pages, items and answers per rater there are."""
    if stage not in STAGES:
        raise UserError(
            f"--stage {stage}: there are stage 2 (which attributes matter) and stage 3 (does using them help)."
        )
    if out.is_dir() and any(out.iterdir()):
        raise UserError(f"{out} is there already and not empty; choose another with --out.")
    question = STAGES[stage]
    source = open_relevance(data) if question == RELEVANCE else open_responses(data)
    forms = Forms(source, question, seed)
    pages: dict[str, list[Item]] = {}
    for item in forms.items():
        pages.setdefault(item.group, []).append(item)
    body = {
        "stage": stage,
        "question": question,
        "seed": seed,
        **_wording(question),
        "hidden": ["person", "maker", "given", "slices"],
        "pages": [
            {"id": page, "prompt": items[0].prompt, "items": [item.id for item in items]}
            for page, items in pages.items()
        ],
    }
    try:
        write_folder(out, forms, _card(stage, forms))
        (out / FORMS).write_bytes(orjson.dumps(body, option=orjson.OPT_INDENT_2) + b"\n")
    except OSError as error:
        raise UserError(f"{out} cannot be written ({error.strerror}).") from error
    items = [item for page in pages.values() for item in page]
    answers = sum(1 if question == RELEVANCE else len(item.products) - PERSONAL - 1 for item in items)
    return {"pages": len(pages), "items": len(items), "answers": answers}


def _wording(question: str) -> dict[str, Any]:
    if question == RELEVANCE:
        return {
            "instruction": PAIR.task,
            "answers": [{"label": YES, "text": "Yes"}, {"label": NO, "text": "No"}],
            "target": "none: one answer per item",
            "order": "as listed",
        }
    return {
        "instruction": _for_people(PREFER.task),
        "answers": [{"label": str(mark), "text": text} for mark, text in MARKS.items()],
        "target": "one answer per attribute: the item's products after the first two",
        "order": (
            "the two answers are drawn as A and B for each item and rater; a vote is kept turned, so that 1 prefers the "
            "item's first product and 5 its second, and extra.order says what was shown first"
        ),
    }


def _for_people(task: str) -> str:
    """What judges are asked, less the warning about tags: people's pages have none."""
    return task.partition("Everything between tags")[0].rstrip()


def _card(stage: int, forms: Forms) -> str:
    return (
        f"# {forms.info.title}\n\nItems of a stage {stage} study; {FORMS} says what is asked. Votes come back with\n\n"
        "    personafit data votes FOLDER VOTES.jsonl\n\none JSON object a line: item, question, rater, label, for stage 3 "
        "the target, and extra with a perspective (`self` or `third-party`).\n"
    )


def read_question(folder: Path) -> str:
    """What the study in a folder asks."""
    if not (folder / FORMS).is_file():
        raise UserError(
            f"{folder} has no {FORMS}: make it with `personafit data forms recentering --out {folder}`."
        )
    question = read_object(folder / FORMS).get("question")
    if question not in STAGES.values():
        raise UserError(
            f"{located(folder / FORMS, None, 'question')} must be {' or '.join(STAGES.values())}."
        )
    return str(question)


def import_votes(folder: Path, files: Sequence[Path], kind: str = "human") -> dict[str, int]:
    """Take votes into a study's folder; a later vote of the same rater on the same thing replaces the earlier one."""
    question = read_question(folder)
    if kind not in (*PANEL_KINDS, "llm"):
        raise UserError(f"--kind {kind}: raters are human, simulated or llm.")
    items = {item.id: item for item in FolderBenchmark(folder, kind=question).items()}
    kinds = rater_kinds(folder)
    path = folder / "votes.jsonl"
    votes = (
        {_key(vote): vote for vote in _read_votes([path], items, question, None)} if path.is_file() else {}
    )
    before = len(votes)
    read = corrected = 0
    for vote in _read_votes(files, items, question, kind):
        known = kinds.setdefault(vote.rater, kind)
        if known != kind:
            raise UserError(
                f"{vote.rater} is a {known} rater in {folder / 'raters.jsonl'}, and these votes say {kind}."
            )
        corrected += _key(vote) in votes and votes[_key(vote)].label != vote.label
        votes[_key(vote)] = vote
        read += 1
    gold = list(_gold(votes.values(), kinds, question))
    try:
        _write_lines(path, votes.values())
        raters = (RaterRecord(fingerprint=name, name=name, kind=what) for name, what in sorted(kinds.items()))
        _write_lines(folder / "raters.jsonl", raters)
        _write_lines(folder / "gold.jsonl", gold)
    except OSError as error:
        raise UserError(f"{folder} cannot be written ({error.strerror}).") from error
    return {
        "read": read,
        "new": len(votes) - before,
        "corrected": corrected,
        "votes": len(votes),
        "gold": len(gold),
    }


def _key(vote: Judgment) -> tuple[str, str, str]:
    return vote.item, vote.target, vote.rater


def _read_votes(
    files: Sequence[Path], items: dict[str, Item], question: str, kind: str | None
) -> Iterator[Judgment]:
    allowed = (YES, NO) if question == RELEVANCE else tuple(str(mark) for mark in range(LOWEST, HIGHEST + 1))
    for path in files:
        for number, row in read_lines(path):
            vote = validated(Judgment, row, path, number)
            item = items.get(vote.item)
            if item is None:
                raise UserError(f"{located(path, number, 'item')}: '{vote.item}' is not in this study.")
            if vote.question != question:
                raise UserError(
                    f"{located(path, number, 'question')} must be '{question}', not '{vote.question}'."
                )
            if vote.status is Status.OK and vote.label not in allowed:
                raise UserError(f"{located(path, number, 'label')} must be one of {', '.join(allowed)}.")
            targets = item.products[PERSONAL + 1 :] if question == PREFERENCE else [""]
            if vote.target not in targets:
                what = (
                    "must name one of the item's attributes" if question == PREFERENCE else "must be left out"
                )
                raise UserError(f"{located(path, number, 'target')} {what}.")
            if kind in PANEL_KINDS and (vote.extra or {}).get("perspective") not in PERSPECTIVES:
                raise UserError(
                    f"{located(path, number, 'extra.perspective')} must be {' or '.join(PERSPECTIVES)}: whose eyes they "
                    "judged with is part of a vote."
                )
            yield vote.model_copy(update={"value": _value(vote.label)})


def _value(label: str | None) -> float | None:
    return None if label is None else float(label == YES) if label in (YES, NO) else float(label)


def _gold(votes: Iterable[Judgment], kinds: dict[str, str], question: str) -> Iterator[Judgment]:
    """The majority or the mean of people's votes, or of simulated ones where there are no others; a tie has no majority."""
    said = [vote for vote in votes if vote.status is Status.OK and vote.label is not None]
    panel = next((kind for kind in PANEL_KINDS if any(kinds.get(vote.rater) == kind for vote in said)), None)
    units: dict[tuple[str, str], list[Judgment]] = {}
    for vote in said:
        if kinds.get(vote.rater) == panel:
            units.setdefault((vote.item, vote.target), []).append(vote)
    for (item, target), own in units.items():
        counts = Counter(str(vote.label) for vote in own)
        extra: dict[str, Any] = {"votes": dict(sorted(counts.items())), "panel": panel}
        if question == PREFERENCE:
            mean = sum(float(label) * count for label, count in counts.items()) / len(own)
            label, value = str(round(mean)), mean
        else:
            yes = counts[YES]
            if 2 * yes == len(own):
                continue
            label, value = (YES, 1.0) if 2 * yes > len(own) else (NO, 0.0)
            extra["share"] = max(yes, len(own) - yes) / len(own)
        yield Judgment(
            item=item,
            question=question,
            rater=GOLD[question],
            target=target,
            label=label,
            value=value,
            extra=extra,
        )


def _write_lines(path: Path, records: Iterable[Judgment | RaterRecord]) -> None:
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("w", encoding="utf-8") as file:
        for record in records:
            file.write(record.model_dump_json(exclude_defaults=True) + "\n")
    os.replace(partial, path)
