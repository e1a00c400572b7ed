"""Create a study: turn a source and a question into pages, sample them, and add practice, gold and attention pages.

A sample of a run can be stratified evenly over the range of a metric, so that rare ratings are seen as often as common ones.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from sqlalchemy import func, select

from personafit._errors import UserError, counted
from personafit._hashing import hash_text
from personafit._plugins import find_plugin
from personafit.label.forms import FORMS, LabelForm, form_named
from personafit.label.records import Page, Role, StudyConfig
from personafit.label.sources import SCREEN, StudySource, open_source
from personafit.label.studies import Studies
from personafit.models import MODELS, parse_spec
from personafit.store import RunRecord, Status, Store
from personafit.store import tables as t

KINDS = ("choice", "relevance", "preference", "dialogue")
STRATA = 5
OWN_GUIDELINES = (
    "--guidelines: people and models are instructed differently, since without it people read the words of the model's prompt; "
    "cards of the study say so."
)


class StudySetup(NamedTuple):
    """Summary of a new study: number of item pages, name of its form, and notes for the researcher."""

    pages: int
    form: str
    notes: list[str]


class ExtraPages(NamedTuple):
    """Number of pages added to the items of a study: gold pages with a known answer, attention checks, practice."""

    gold: int = 0
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
    """Create a study from the items that `source` names."""
    opened = open_source(store, source, find_run, data, question)
    form = form_named(question) if question else _default_form(opened)
    config = config.model_copy(update={"context": form.context, "perspective": form.perspective})
    if form.name == "chat" and not config.model:
        raise UserError(
            "--question chat needs --model SPEC, whom people talk with, such as openai:MODEL@URL."
        )
    if form.name == "chat" and parse_spec(config.model).kind not in MODELS:
        raise UserError(f"--model {config.model} names no model; kinds are {', '.join(MODELS)}.")
    pages, notes = in_one_language(list(form.pages(opened)), opened, config.language)
    ((twice, times),) = Counter(page.id for page in pages).most_common(1) or [("", 0)]
    if times > 1:
        raise UserError(f"There are {times} pages '{twice}'; ids must be unique.")
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
    # Finished chats become items of a data set that belongs to the study.
    dataset = f"chat@{name}" if form.name == "chat" else opened.dataset
    Studies(store).create(name, dataset, form, config, made)
    if config.guidelines and form.as_models:
        notes.append(OWN_GUIDELINES)
    extra = [
        f"{counted(counts[role], f'{role} page', f'{role} pages')} added."
        for role in Role
        if role is not Role.ITEM and counts[role]
    ]
    return StudySetup(counts[Role.ITEM], form.name, [*notes, *extra])


def _with(form: LabelForm, chosen: list[Page], rest: list[Page], besides: ExtraPages) -> list[Page]:
    """Return the chosen pages with practice and gold pages added, which are taken from `rest` first."""
    candidates = [page for page in (*rest, *reversed(chosen)) if page.key]
    practice = candidates[: besides.practice]
    gold = candidates[besides.practice :][: besides.gold]
    _enough(practice, besides.practice, "--practice")
    _enough(gold, besides.gold, "--gold")
    taken = {page.id for page in (*practice, *gold)}
    return [
        # Practice pages get item ids of their own, so that answers to them do not count.
        *(
            page.model_copy(
                update={
                    "role": Role.PRACTICE,
                    "id": f"practice/{page.id}",
                    "items": [f"practice/{item}" for item in page.items],
                }
            )
            for page in practice
        ),
        *(page.model_copy(update={"role": Role.GOLD}) for page in gold),
        *(page for page in chosen if page.id not in taken),
    ]


def _enough(pages: Sequence[Page], wanted: int, option: str) -> None:
    if len(pages) < wanted:
        raise UserError(
            f"{option} {wanted}: only {len(pages)} more pages have a known answer, from the gold of the benchmark."
        )


def _default_form(source: StudySource) -> LabelForm:
    if source.run is not None and source.run.config.get("kind") == "dialogue":
        return form_named("dialogue")
    if source.tasks:
        return form_named("chat")
    if source.queue:
        return form_named(SCREEN)
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
    """Return the pages in the raters' language, if the source has people in several languages, with a note on those left out."""
    if source.tasks:
        return pages, []
    spoken = source.languages
    if len({spoken.get(page.person, language) for page in pages}) < 2:
        return pages, []
    kept = [page for page in pages if spoken.get(page.person, language) == language]
    left = len(pages) - len(kept)
    pages_left = counted(left, "page in another language is", "pages in other languages are")
    return kept, [f"{pages_left} left out; --language names the one raters read."]


def stratified_sample(
    store: Store, run: RunRecord | None, metric: str, count: int | None, seed: int, among: Container[str]
) -> dict[str, float]:
    """Return the ids of `count` items of a run among those given, evenly over a metric, each with its design weight."""
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
    """Return the mean value of each item of a run by metric: accuracy for choices, the ratings by question for other kinds."""
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
    accuracies = _accuracies(store, run)
    return {"accuracy": accuracies} if accuracies else {}


def _accuracies(store: Store, run: RunRecord) -> dict[str, float]:
    from personafit.kinds.choice import load_scores

    by_item: dict[str, list[float]] = defaultdict(list)
    scores = load_scores(store, run)
    for rater in scores.raters:
        frame = scores.scores[rater["fingerprint"], scores.headline_context]
        for item, accuracy in frame.select("item", "accuracy").drop_nulls().iter_rows():
            by_item[item].append(accuracy)
    return {item: fmean(values) for item, values in by_item.items()}


def stratified(values: Mapping[str, float], count: int, seed: int) -> dict[str, float]:
    """Return `count` ids, evenly over the range of their values, each with its design weight.

    If there are few distinct values, each is a stratum; otherwise strata are cut at quantiles. Within a stratum the draw is seeded. The
    weight is the size of the stratum divided by the number drawn from it: how many items each drawn one stands for.
    """
    distinct = sorted(set(values.values()))
    ranked = sorted(values, key=lambda one: (values[one], hash_text("stratify", str(seed), one)))
    strata: dict[int, list[str]] = defaultdict(list)
    for place, one in enumerate(ranked):
        few = len(distinct) <= STRATA
        strata[distinct.index(values[one]) if few else place * STRATA // len(ranked)].append(one)
    # Draw from the strata in turn until there are enough.
    turns: list[tuple[int, int, str]] = []
    for stratum, members in strata.items():
        members.sort(key=lambda one: hash_text("draw", str(seed), one), reverse=True)
        turns += [(turn, stratum, one) for turn, one in enumerate(members)]
    chosen = sorted(turns)[:count]
    drawn = Counter(stratum for _, stratum, _ in chosen)
    return {one: len(strata[stratum]) / drawn[stratum] for _, stratum, one in chosen}
