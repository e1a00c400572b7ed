"""Setting a study up: from a source and a question to pages, narrowed to a sample, with practice, gold and attention pages among them."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import orjson

from personafit._errors import UserError, located
from personafit._hashing import hash_text
from personafit.labeling.forms import FORMS, LabelForm, form_named
from personafit.labeling.forms.form import key_name
from personafit.labeling.records import Arrangement, Page, Role, StudyConfig
from personafit.labeling.sampling import stratified_sample
from personafit.labeling.sources import StudySource, open_source
from personafit.labeling.studies import Studies
from personafit.models import MODELS, parse_spec
from personafit.store import RunRecord, Store

KINDS = ("choice", "relevance", "preference", "dialogue")
Known = Mapping[tuple[str, str, str], tuple[str, int]]
"""Label and line by item, target and question, which is empty where a line names none."""


class StudySetup(NamedTuple):
    """A study that was set up: its number of pages, its form and remarks for the researcher."""

    pages: int
    form: str
    notes: list[str]


class ExtraPages(NamedTuple):
    """Pages beside the items of a study: with a known answer, for attention, for practice."""

    gold: str | None = None
    """How many pages with a known answer are mixed in, or a file that says what is known."""
    attention: int = 0
    practice: int = 0


def make_study(
    store: Store,
    name: str,
    source: str,
    question: str | None,
    config: StudyConfig,
    find_run: Callable[[Store, str], RunRecord],
    data: Path | None = None,
    stratify: str | None = None,
    count: int | None = None,
    besides: ExtraPages = ExtraPages(),
) -> StudySetup:
    """Make a study of what `source` names."""
    opened = open_source(store, source, find_run, data)
    form = form_named(question) if question else _default_form(opened)
    config = config.model_copy(update={"view": form.view, "perspective": form.perspective})
    if form.name == "chat":
        _check_model(config.model)
    pages, notes = in_one_language(list(form.pages(opened)), opened, config.language)
    _refuse_doubles(pages)
    if besides.gold is not None and not besides.gold.isdecimal():
        pages = _all_keyed(form, pages, Path(besides.gold))
    drawn = sorted(pages, key=lambda page: hash_text("sample", str(config.seed), page.id))
    if stratify is not None:
        among = {item for page in pages for item in page.items}
        weights = stratified_sample(store, opened.run, stratify, count, config.seed, among)
        chosen = [page for page in pages if any(item in weights for item in page.items)]
        rest = [page for page in drawn if not any(item in weights for item in page.items)]
        config = config.model_copy(update={"weights": weights})
    elif count is not None:
        chosen, rest = drawn[:count], drawn[count:]
    else:
        chosen, rest = pages, []
    made = [*_with(form, chosen, rest, besides), *_attention(form, besides.attention, config.language)]
    counts = Counter(page.role for page in made)
    dataset = (
        f"chat@{name}" if form.name == "chat" else opened.dataset
    )  # chats become items of the study's own
    Studies(store).create(name, dataset, form, config, made)
    extra = [
        f"{counts[role]} {role} pages besides." for role in Role if role is not Role.ITEM and counts[role]
    ]
    return StudySetup(counts[Role.ITEM], form.name, [*notes, *extra])


def _with(form: LabelForm, chosen: list[Page], rest: list[Page], besides: ExtraPages) -> list[Page]:
    """The chosen pages with those for practice and gold, which are taken from the rest while there are any."""
    candidates = [page for page in (*rest, *reversed(chosen)) if page.key]
    practice = candidates[: besides.practice]
    _enough(practice, besides.practice, "--practice")
    gold = candidates[besides.practice :]
    if besides.gold is None:
        gold = []
    elif besides.gold.isdecimal():
        gold = gold[: int(besides.gold)]
        _enough(gold, int(besides.gold), "--gold")
    taken = {page.id for page in (*practice, *gold)}
    return [
        *(_practised(page) for page in practice),
        *(page.model_copy(update={"role": Role.GOLD}) for page in gold),
        *(page for page in chosen if page.id not in taken),
    ]


def _practised(page: Page) -> Page:
    """The page for practice: its answers are about items of their own, so that none of them counts."""
    items = [f"practice/{item}" for item in page.items]
    return page.model_copy(update={"role": Role.PRACTICE, "id": f"practice/{page.id}", "items": items})


def _enough(pages: Sequence[Page], wanted: int, option: str) -> None:
    if len(pages) < wanted:
        raise UserError(
            f"{option} {wanted}: only {len(pages)} more pages have a known answer; --gold FILE says what is known "
            "(lines with item, label and, where there is one, target)."
        )


def _attention(form: LabelForm, count: int, language: str) -> list[Page]:
    return [form.attention(number, language) for number in range(1, count + 1)]


def _default_form(source: StudySource) -> LabelForm:
    if source.run is not None and source.run.config.get("kind") == "dialogue":
        return form_named("dialogue")
    if source.tasks:
        return form_named("chat")
    kinds = {item.kind for item in islice(source.items(KINDS), 1)}
    for form in FORMS.values():
        if kinds & set(form.kinds):
            return form
    if source.folder is not None:
        return form_named("attributes")
    raise UserError(f"{source.name} has no items to ask about; say what is asked with --question.")


def in_one_language(pages: list[Page], source: StudySource, language: str) -> tuple[list[Page], list[str]]:
    """Where people of a source are written about in several languages, raters get those in theirs."""
    if source.tasks:
        return pages, []
    spoken = source.languages
    if len({spoken.get(page.person, language) for page in pages}) < 2:
        return pages, []
    kept = [page for page in pages if spoken.get(page.person, language) == language]
    left = len(pages) - len(kept)
    return kept, [f"{left} pages in other languages are left out; --language names the one raters read."]


def _refuse_doubles(pages: Iterable[Page]) -> None:
    ((name, times),) = Counter(page.id for page in pages).most_common(1) or [("", 0)]
    if times > 1:
        raise UserError(f"There are {times} pages '{name}'; ids must be unique.")


def _check_model(spec: str) -> None:
    if not spec:
        raise UserError(
            "--question chat needs --model SPEC, whom people talk with, such as openai:MODEL@URL."
        )
    if parse_spec(spec).kind not in MODELS:
        raise UserError(f"--model {spec} names no model; kinds are {', '.join(MODELS)}.")


def _known(path: Path) -> Known:
    """What a file says is right: item, target, question and label of each line, as in gold.jsonl."""
    known: dict[tuple[str, str, str], tuple[str, int]] = {}
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise UserError(f"--gold {path}: neither a number nor a file that can be read.") from error
    for number, line in enumerate(lines, 1):
        try:
            row = orjson.loads(line)
            about = (str(row["item"]), str(row.get("target", "")), str(row.get("question", "")))
            known[about] = (str(row["label"]), number)
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{located(path, number)}: a line has item, label and perhaps target.") from error
    return known


def _all_keyed(form: LabelForm, pages: Sequence[Page], path: Path) -> list[Page]:
    """The pages with what the file says of them, and nothing else, as their keys."""
    known = _known(path)
    keyed = [page.model_copy(update={"key": _key(form, page, known, path)}) for page in pages]
    if not any(page.key for page in keyed):
        raise UserError(f"--gold {path}: none of its items is on a page of the study; ids must be the same.")
    return keyed


def _key(form: LabelForm, page: Page, known: Known, path: Path) -> dict[str, str]:
    plain = Arrangement(sides=list(range(page.sides)), places=list(range(page.places)))
    key = {}
    for field in form.fields(page, plain):
        said = known.get((field.item, field.target, field.question)) or known.get(
            (field.item, field.target, "")
        )
        if said is not None and field.options:
            label, line = said
            labels = [form.answered(page, plain, field, option.value).label for option in field.options]
            if label not in labels:
                raise UserError(
                    f"{located(path, line, 'label')}: '{label}' is none of {', '.join(map(str, labels))}."
                )
            key[key_name(field)] = label
    return key
