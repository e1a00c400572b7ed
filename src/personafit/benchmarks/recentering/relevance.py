"""`personafit run recentering`: a relevance run from configuration to stored judgments; what it covers is decided here and written with it."""

from collections.abc import Iterator, Mapping, Sequence

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.benchmarks.benchmark import ingest
from personafit.benchmarks.config import Finished, RunConfig, chosen_people
from personafit.benchmarks.plans import RunPlan, estimate_asks, note_fitted_prompts, rows_where, run_lanes
from personafit.benchmarks.recentering import open_relevance
from personafit.benchmarks.recentering.labels import CONTROLS
from personafit.engine import ProgressView
from personafit.items.relevance import RELEVANCE, VIEWS
from personafit.people import Person
from personafit.raters.relevance import (
    RelevanceJudging,
    RelevanceRater,
    attribute_reasons,
    make_relevance_rater,
    relevance_lanes,
)
from personafit.store import Item, Store, item_rows


class RelevancePlan(RunPlan[RelevanceJudging, RelevanceRater]):
    """A relevance run that is ready to be carried out."""


async def execute(store: Store, config: RunConfig, progress: ProgressView) -> Finished:
    """Let every rater say which attributes matter."""
    return await run_lanes(store, config, progress, make_plan(store, config), relevance_lanes)


def estimate(store: Store, config: RunConfig) -> str:
    """The plan in words: asks, tokens and, where prices are known, money."""
    plan = make_plan(store, config)
    lines = estimate_asks(
        plan,
        lambda rater: (rater.request(one) for one in plan.judging.listings(rater)),
        lambda rater: "lists" if rater.by_list else "asks",
    )
    return "\n".join(lines)


def make_plan(store: Store, config: RunConfig) -> RelevancePlan:
    """Decide what a run covers; the data is read into the store on the way."""
    benchmark = open_relevance(config.data)
    views = list(dict.fromkeys(config.views or ["none", *CONTROLS.views]))
    for view in views:
        if view not in VIEWS:
            listed = "; ".join(f"{name} ({what})" for name, what in VIEWS.items())
            raise UserError(f"--view {view}: relevance knows {listed}.")
    dataset = ingest(store, benchmark)
    people = store.people(dataset)
    specs, raters, left_out = _make_raters(config.raters, people)
    items = list(store.items(dataset))
    selected = _selection(items, store, dataset, config)
    judging = RelevanceJudging(
        store=store,
        dataset=dataset,
        views=views,
        reasons=attribute_reasons(store, (item.products[0] for item in items)),
        seed=config.seed,
        samples=config.samples,
        selected=selected,
    )
    notes = [
        *benchmark.notes(),
        *left_out,
        *_note_parts(judging, raters),
        *note_fitted_prompts(raters, (item.prompt for item in items)),
    ]
    record = {
        "kind": RELEVANCE,
        "benchmark": benchmark.info.name,
        "dataset": dataset,
        "question": RELEVANCE,
        "views": views,
        "seed": config.seed,
        "samples": config.samples,
        "selected": None if selected is None else sorted(selected),
        "raters": [
            {
                "fingerprint": rater.record.fingerprint,
                "name": rater.record.name,
                "kind": rater.record.kind,
                "by_list": rater.by_list,
                "views": judging.views_of(rater),
                "control": spec not in config.raters,
            }
            for spec, rater in zip(specs, raters, strict=True)
        ],
        "notes": notes,
        "command": config.command,
    }
    return RelevancePlan(judging, raters, benchmark.info, record)


def _make_raters(
    asked: Sequence[str], people: Mapping[str, Person]
) -> tuple[list[str], list[RelevanceRater], list[str]]:
    """The raters asked for and the controls; a control that cannot be had is left out, and that is said."""
    specs, raters, left_out = [], [], []
    for spec in dict.fromkeys([*asked, *CONTROLS.raters]):
        try:
            rater = make_relevance_rater(spec, people)
        except UserError as error:
            if spec in asked:
                raise
            left_out.append(f"The control {spec} is left out. {error}")
            continue
        specs.append(spec)
        raters.append(rater)
    return specs, raters, left_out


def _note_parts(judging: RelevanceJudging, raters: Sequence[RelevanceRater]) -> Iterator[str]:
    """A model that gets a long list in parts picks the few of each part, which are more than the few of the whole."""
    for rater in raters:
        cut = {listing.name for listing in judging.listings(rater) if listing.part} if rater.by_list else ()
        if cut:
            yield (
                f"{rater.record.name} got {len(cut)} lists in parts, because they have more than {rater.most_listed} "
                "attributes; it picked from each part by itself."
            )


def _selection(items: Sequence[Item], store: Store, dataset: str, config: RunConfig) -> frozenset[str] | None:
    """The items that --users, --where and --limit leave; --limit takes whole lists; None for all."""
    if config.limit is None and config.users is None and not config.where:
        return None
    if config.where:
        wanted = set(rows_where(item_rows(store, dataset), config)["item"])
        items = [item for item in items if item.id in wanted]
    if config.users is not None:
        chosen = set(chosen_people(sorted({item.person for item in items}), config.users, config.seed))
        items = [item for item in items if item.person in chosen]
        if not items:
            raise UserError(f"--users {config.users} leaves nobody to judge for.")
    if config.limit is None:
        return frozenset(item.id for item in items)
    lists: dict[tuple[str, str], list[Item]] = {}
    for item in items:
        lists.setdefault((item.person, item.group), []).append(item)
    taken: list[Item] = []
    for members in _spread(list(lists.values()), config.seed):
        if not taken or len(taken) + len(members) <= config.limit:
            taken += members
    return frozenset(item.id for item in taken)


def _spread(lists: Sequence[list[Item]], seed: int) -> list[list[Item]]:
    """Lists in a drawn order that takes one of each prompt before it takes a second of any."""
    drawn = sorted(lists, key=lambda members: hash_text("select", members[0].group, str(seed)))
    turns: dict[str, int] = {}
    keyed = []
    for place, members in enumerate(drawn):
        turn = turns[members[0].prompt] = turns.get(members[0].prompt, -1) + 1
        keyed.append((turn, place, members))
    return [members for _, _, members in sorted(keyed, key=lambda entry: entry[:2])]
