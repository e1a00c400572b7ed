"""Setting a study up: from a source and a question to pages, narrowed to a sample, with practice, gold and attention pages among them.

A sample of a run can be drawn evenly over the range of a metric, so that rare marks are seen as often as common ones.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from sqlalchemy import func, select

from personafit._errors import UserError, located
from personafit._hashing import hash_text
from personafit._plugins import find_plugin
from personafit.benchmarks.lines import read_lines
from personafit.labeling.forms import FORMS, LabelForm, form_named
from personafit.labeling.forms.form import key_name
from personafit.labeling.records import Arrangement, Page, Role, StudyConfig
from personafit.labeling.sources import StudySource, open_source
from personafit.labeling.studies import Studies
from personafit.models import MODELS, parse_spec
from personafit.store import RunRecord, Status, Store
from personafit.store import tables as t

KINDS = ("choice", "relevance", "preference", "dialogue")
ACCURACY, MARGIN = "accuracy", "margin"
STRATA = 5
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
    attention = [form.attention(number, config.language) for number in range(1, besides.attention + 1)]
    made = [*_with(form, chosen, rest, besides), *attention]
    counts = Counter(page.role for page in made)
    # Chats become items of the study's own.
    dataset = f"chat@{name}" if form.name == "chat" else opened.dataset
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


def _default_form(source: StudySource) -> LabelForm:
    if source.run is not None and source.run.config.get("kind") == "dialogue":
        return form_named("dialogue")
    if source.tasks:
        return form_named("chat")
    item = next(source.items(KINDS), None) or next(source.items(), None)
    for form in FORMS.values():
        if item is not None and item.kind in form.kinds:
            return form
    if item is not None and find_plugin("kinds", item.kind) is not None:
        return form_named(item.kind)
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
    if not path.is_file():
        raise UserError(f"--gold {path}: neither a number nor a file that can be read.")
    for number, row in read_lines(path):
        if not {"item", "label"} <= row.keys():
            raise UserError(f"{located(path, number)}: a line has item, label and perhaps target.")
        about = (str(row["item"]), str(row.get("target", "")), str(row.get("question", "")))
        known[about] = (str(row["label"]), number)
    return known


def _all_keyed(form: LabelForm, pages: Sequence[Page], path: Path) -> list[Page]:
    """The pages with what the file says of them, and nothing else, as their keys."""
    known = _known(path)
    keyed = [page.model_copy(update={"key": _key(form, page, known, path)}) for page in pages]
    if not any(page.key for page in keyed):
        raise UserError(f"--gold {path}: none of its items is on a page of the study; ids must be the same.")
    return keyed


def _key(form: LabelForm, page: Page, known: Known, path: Path) -> dict[str, str]:
    plain = Arrangement.stored(page)
    key = {}
    for field in form.fields(page, plain):
        said = known.get((field.item, field.target, field.question)) or known.get(
            (field.item, field.target, "")
        )
        if said is not None and field.kind != "text":
            label, line = said
            labels = form.labels(page, plain, field).values()
            if labels and label not in labels:
                raise UserError(
                    f"{located(path, line, 'label')}: '{label}' is none of {', '.join(map(str, labels))}."
                )
            key[key_name(field)] = label
    return key


def stratified_sample(
    store: Store, run: RunRecord | None, metric: str, count: int | None, seed: int, among: Container[str]
) -> dict[str, float]:
    """Ids of so many items of a run, of those there are, evenly over a metric, each with its design weight."""
    if run is None:
        raise UserError("--stratify: metrics are a run's; name one with --from RUN.")
    if count is None:
        raise UserError("--stratify says over what to sample; say how many with --limit N.")
    metrics = metric_values(store, run)
    if metric not in metrics:
        known = ", ".join(sorted(metrics)) or "none; nobody has judged it yet"
        raise UserError(
            f"--stratify {metric}: {run.name} has no such metric for its items; there are: {known}."
        )
    return stratified({item: value for item, value in metrics[metric].items() if item in among}, count, seed)


def metric_values(store: Store, run: RunRecord) -> dict[str, dict[str, float]]:
    """What a run's raters said of each item on average, by metric: accuracy and margin of choices, the marks of all else."""
    ask, judgment = t.asks.c, t.judgments.c
    query = (
        select(judgment.question, judgment.item, func.avg(judgment.value).label("mean"))
        .select_from(
            t.run_jobs.join(t.asks, ask.job == t.run_jobs.c.job).join(t.judgments, judgment.ask == ask.id)
        )
        .where(t.run_jobs.c.run == run.id, judgment.status == Status.OK.value, judgment.value.is_not(None))
        .group_by(judgment.question, judgment.item)
    )
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for rows in store.stream(query, 1000):
        for row in rows:
            found[row.question][row.item] = float(row.mean)
    if run.config.get("kind", "choice") != "choice" or "raters" not in run.config:
        return dict(found)
    margins = found.get(str(run.config.get("question", "fit")), {})
    sure = {item: abs(value) for item, value in margins.items()}
    accuracies = _accuracies(store, run)
    return {name: values for name, values in ((ACCURACY, accuracies), (MARGIN, sure)) if values}


def _accuracies(store: Store, run: RunRecord) -> dict[str, float]:
    from personafit.reporting import load_scores

    by_item: dict[str, list[float]] = defaultdict(list)
    scores = load_scores(store, run)
    for rater in scores.raters:
        frame = scores.scores[rater["fingerprint"], scores.headline_view]
        for item, accuracy in frame.select("item", "accuracy").drop_nulls().iter_rows():
            by_item[item].append(accuracy)
    return {item: fmean(values) for item, values in by_item.items()}


def stratified(values: Mapping[str, float], count: int, seed: int) -> dict[str, float]:
    """So many ids, evenly over the range of their values, each with its design weight.

    Few distinct values are strata by themselves; many are cut at their quantiles. Within a stratum the draw is seeded. The weight is
    the size of the stratum over how many were drawn from it: for so many items each of the drawn stands.
    """
    distinct = sorted(set(values.values()))
    ranked = sorted(values, key=lambda one: (values[one], hash_text("stratify", str(seed), one)))
    groups: dict[int, list[str]] = {}
    for place, one in enumerate(ranked):
        stratum = distinct.index(values[one]) if len(distinct) <= STRATA else place * STRATA // len(ranked)
        groups.setdefault(stratum, []).append(one)
    for members in groups.values():
        members.sort(key=lambda one: hash_text("draw", str(seed), one))
    sizes = {stratum: len(members) for stratum, members in groups.items()}
    chosen: dict[int, list[str]] = {stratum: [] for stratum in groups}
    drawn = 0
    while drawn < min(count, len(ranked)):
        for stratum, members in groups.items():
            if members and drawn < count:
                chosen[stratum].append(members.pop())
                drawn += 1
    return {one: sizes[stratum] / len(ids) for stratum, ids in chosen.items() for one in ids}
