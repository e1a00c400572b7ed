"""The item browser's data of a run of writing: what the person wrote, what was copied and what each system wrote, side by side.

The page's browser is the one of choices. A system stands where a rater does, what it was told where the view does; its verdict is
whether it came nearer to the person's own words than when told of nobody or of somebody else.
"""

from collections.abc import Iterator
from typing import Any

import polars as pl

from personafit.benchmarks.lamp.writing import MAKERS
from personafit.kinds.lines import Line
from personafit.people import Person
from personafit.reporting.blocks import frame_blocks, list_blocks
from personafit.reporting.browse import ITEMS, PEOPLE, TEXTS
from personafit.reporting.sample import MAX_ITEMS
from personafit.reporting.writing.scores import METRICS, WritingScores
from personafit.store import Status, Store

MAX_PROFILE = 4_000  # characters of a profile: a person may have written hundreds of papers
WORDS = {
    "rater": "system",
    "anybody": "any system",
    "gold": "",
    "right": "nearer",
    "wrong": "farther",
    "mixed": "as near",
    "differ": "systems differ",
    "answers": "Texts",
    "chosen": "How near each came",
    "measure": "ROUGE-1",
}
EXPLAINED = (
    "Nearer: by ROUGE-1 the text is nearer to what the person wrote than what the same system wrote told of nobody or of somebody else, "
    "whichever of these came nearer."
)
LETTERS = ("w", "m", "r")  # farther, as near, nearer


def writing_browser(store: Store, scores: WritingScores) -> dict[str, Any]:
    """All the page needs to list, filter, search and show the texts."""
    items = scores.lines[0].frame.head(MAX_ITEMS)
    written = [line for line in scores.lines if line.fingerprint is not None]
    contexts = list(scores.run.config["contexts"])
    texts: dict[str, int] = {}
    answers, makers = _texts(scores, items, texts)
    people = {person: place for place, person in enumerate(items["person"].unique(maintain_order=True))}
    everyone = store.people(scores.run.dataset)
    told = list(_told(store, scores, items, contexts))
    index = {
        "id": items["item"].to_list(),
        "question": items["prompt"].to_list(),
        "person": [people[person] for person in items["person"]],
        "answers": answers,
        "makers": makers,
        "gold": ["0"] * len(items),
        "facets": [[scores.tasks.index(task) for task in items["task"]]] if len(scores.tasks) > 1 else [],
        "verdicts": [_verdicts(scores, line, items) for line in _headlines(scores, written)],
        "statuses": [],
    }
    return {
        "raters": [system["name"] for system in scores.run.config["systems"]],
        "controls": [False] * len(scores.run.config["systems"]),
        "views": contexts,
        "view": 0,
        "facets": [{"name": "task", "values": scores.tasks}] if len(scores.tasks) > 1 else [],
        "statuses": [],
        "makers": [*MAKERS, *(f"{line.system}, told {line.given}" for line in written)],
        "people": list(people),
        "items": len(items),
        "total": len(scores.own),
        "sizes": {"texts": TEXTS, "people": PEOPLE, "asks": ITEMS, "told": ITEMS},
        "words": WORDS,
        "blocks": {
            "index": list_blocks([index], 1),
            "texts": list_blocks(list(texts), TEXTS),
            "people": list_blocks([_profile(everyone.get(person)) for person in people], PEOPLE),
            "asks": frame_blocks(_asks(scores, items, written, contexts), ITEMS),
            "told": list_blocks(told, ITEMS) if any(told) else [],
        },
    }


def _headlines(scores: WritingScores, written: list[Line]) -> Iterator[Line]:
    """Of each system what it wrote under the first context that was asked for."""
    for system in scores.run.config["systems"]:
        yield next(line for line in written if line.fingerprint == system["fingerprint"])


def _texts(
    scores: WritingScores, items: pl.DataFrame, texts: dict[str, int]
) -> tuple[list[list[int]], list[list[int]]]:
    """Of each item the places of its texts, and who made each; every text is kept once."""
    copied = {line.system: line for line in scores.lines if line.fingerprint is None}
    written = [line for line in scores.lines if line.fingerprint is not None]
    said = [scores.own]
    for line in [*(copied.get(maker) for maker in MAKERS[1:]), *written]:
        said.append({} if line is None else dict(line.frame.select("item", "text").drop_nulls().iter_rows()))
    answers, makers = [], []
    for item in items["item"]:
        made = [(maker, found[item]) for maker, found in enumerate(said) if item in found]
        makers.append([maker for maker, _ in made])
        answers.append([texts.setdefault(text, len(texts)) for _, text in made])
    return answers, makers


def _verdicts(scores: WritingScores, line: Line, items: pl.DataFrame) -> str:
    """One letter an item: nearer than under the better control, as near, farther, or none where something was not written."""
    others = [
        one.frame[METRICS[0]]
        for one in scores.lines
        if one.fingerprint == line.fingerprint and one.given in ("none", f"wrong:{line.given}")
    ]
    frame = pl.DataFrame({"own": line.frame[METRICS[0]], **{f"c{n}": one for n, one in enumerate(others)}})
    best = pl.max_horizontal(pl.exclude("own")) if others else pl.lit(None, pl.Float64)
    whole = pl.all_horizontal(pl.all().is_not_null())
    letters = (pl.col("own") - best).sign().cast(pl.Int64) + 1
    found = frame.head(len(items)).select(pl.when(whole).then(letters)).to_series()
    return "".join("n" if letter is None else LETTERS[letter] for letter in found)


def _asks(
    scores: WritingScores, items: pl.DataFrame, written: list[Line], contexts: list[str]
) -> pl.DataFrame:
    """A row an item, a list a column: of every text asked for its system, context, status, ROUGE-1 and what went wrong."""
    systems = {system["fingerprint"]: place for place, system in enumerate(scores.run.config["systems"])}
    if scores.answers.is_empty():
        return pl.DataFrame([{"rater": []}] * len(items), schema={"rater": pl.List(pl.Int64)})
    parts = []
    for line in written:
        ended = scores.answers.filter(rater=line.fingerprint, view=line.given).select(
            "item", "status", pl.col("detail").cast(pl.String)
        )
        scored = line.frame.select("item", pl.col(METRICS[0]).round(4).alias("value"))
        parts.append(
            ended.join(scored, on="item").with_columns(
                pl.lit(systems[line.fingerprint or ""]).alias("rater"),
                pl.lit(contexts.index(line.given or "")).alias("view"),
                pl.lit("").alias("order"),
            )
        )
    lists = pl.concat(parts).group_by("item", maintain_order=True).agg(pl.all())
    whole = items.select("item").join(lists, on="item", how="left", maintain_order="left")
    return whole.drop("item").with_columns(pl.all().fill_null([]))


def _told(
    store: Store, scores: WritingScores, items: pl.DataFrame, contexts: list[str]
) -> Iterator[list[list[Any]]]:
    """Of each item what its systems were told: the context's place, the text, how making it ended and from what."""
    if scores.answers.is_empty():
        yield from ([] for _ in range(len(items)))
        return
    rows = scores.answers.filter(pl.col("item").is_in(items["item"].implode())).unique(
        ["item", "view"], maintain_order=True
    )
    texts = store.texts(rows["context"].unique().drop_nulls())
    found = {
        (item, view): texts[context]
        for item, view, context in rows.select("item", "view", "context").iter_rows()
        if texts.get(context)
    }
    for item in items["item"]:
        yield [
            [place, found[item, view], Status.OK.value, []]
            for place, view in enumerate(contexts)
            if (item, view) in found
        ]


def _profile(person: Person | None) -> str:
    """What is known of the person, as far as there is room."""
    lines = [memory.text for memory in person.memories] if person else []
    shown: list[str] = []
    room = MAX_PROFILE
    for line in lines:
        room -= len(line)
        if room < 0 and shown:
            shown.append(f"… and {len(lines) - len(shown):,} more in the store")
            break
        shown.append(line)
    return "\n".join(shown)
