"""Stage 2 of a study: everybody's yes and no side by side, kappas by pair and by kind, yes-rates, and scores against people."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
import polars as pl
from numpy.typing import NDArray

from personafit.benchmarks.benchmark import Benchmark
from personafit.benchmarks.recentering.labels import INFO, PUBLISHED
from personafit.items.relevance import ALONE, NO, YES
from personafit.reporting.relevance.scores import PUBLISHED as VOTES
from personafit.reporting.relevance.scores import load_relevance
from personafit.reporting.results import Result
from personafit.reporting.yes_no import found_relevant, yes_rate
from personafit.statistics import Estimate
from personafit.statistics.agreement import Ints
from personafit.statistics.raters import compare_raters
from personafit.store import Judgment, RunRecord, Store, gold_answers, item_rows

PANEL = ("human", "simulated")
GOLD, RULE = "gold", "rule"
QUOTED = "published, not measured here"

Answers = Mapping[str, bool]


@dataclass(frozen=True)
class StudyRater:
    """Who gave a column of answers."""

    name: str
    kind: str
    """human, simulated, llm, gold, rule, fitted, ..."""


@dataclass(frozen=True)
class RelevanceStudy:
    """Units × raters: 1 yes, 0 no, -1 none."""

    raters: tuple[StudyRater, ...]
    codes: Ints
    people: NDArray[Any]
    prompts: NDArray[Any]
    reference: int | None
    """The column everybody is scored against: people's majority."""
    notes: tuple[str, ...] = ()
    quote: bool = False
    """Whether the published figures belong beside these."""


def relevance_study(
    store: Store,
    labels: Benchmark,
    votes: Iterable[Judgment],
    kinds: Mapping[str, str],
    runs: Sequence[RunRecord],
) -> RelevanceStudy:
    """The answers that came with the data, single votes, and those of every run on the same items."""
    items = list(labels.items())
    said: dict[StudyRater, dict[str, bool]] = {}
    for row in [*labels.gold(), *votes]:
        if row.label in (YES, NO):
            voter = (row.extra or {}).get("voter")
            rater = StudyRater(row.rater, str(voter or kinds.get(row.rater, "human")))
            said.setdefault(rater, {})[row.item] = row.label == YES
    for run in runs:
        for rater, answers in _lines(store, run):
            said.setdefault(rater, answers)
    frame = pl.DataFrame(
        {
            "item": [item.id for item in items],
            "person": [item.person for item in items],
            "prompt": [item.prompt for item in items],
        }
    )
    return _table(frame, said, labels.notes(), labels.info.version == INFO.version)


def run_relevance(store: Store, run: RunRecord) -> RelevanceStudy:
    """All raters of one run, and whatever answers came with its data."""
    info = store.dataset_info(run.dataset)
    frame = item_rows(store, run.dataset)
    if run.config["selected"] is not None:
        frame = frame.filter(pl.col("item").is_in(run.config["selected"]))
    said: dict[StudyRater, dict[str, bool]] = {}
    for row in gold_answers(store, run.dataset).iter_rows(named=True):
        if row["gold"] in (YES, NO):
            kind = GOLD if row["gold_rater"] == info["gold"] else "llm"
            said.setdefault(StudyRater(row["gold_rater"], kind), {})[row["item"]] = row["gold"] == YES
    for rater, answers in _lines(store, run):
        said.setdefault(rater, answers)
    return _table(frame, said, run.config["notes"], info["version"] == INFO.version)


def _lines(store: Store, run: RunRecord) -> Iterator[tuple[StudyRater, dict[str, bool]]]:
    """The raters of a run who saw the prompt; votes that came with the data are in already."""
    kinds = {rater["fingerprint"]: rater["kind"] for rater in run.config["raters"]}
    for line in load_relevance(store, run).lines:
        if line.view == ALONE or line.control == VOTES:
            continue
        known = line.frame.filter(pl.col("yes").is_not_null())
        kind = RULE if line.control else kinds.get(str(line.fingerprint), "llm")
        yield StudyRater(str(line.rater), kind), dict(known.select("item", "yes").iter_rows())


def _table(
    frame: pl.DataFrame, said: Mapping[StudyRater, Answers], notes: Sequence[str], quote: bool
) -> RelevanceStudy:
    order = ("human", "simulated", GOLD, "llm")
    raters = sorted(said, key=lambda rater: order.index(rater.kind) if rater.kind in order else len(order))
    codes = np.full((len(frame), len(raters)), -1, dtype=np.int64)
    for column, rater in enumerate(raters):
        answers = said[rater]
        codes[:, column] = [int(answers[item]) if item in answers else -1 for item in frame["item"]]
    kinds = [rater.kind for rater in raters]
    reference = kinds.index(GOLD) if GOLD in kinds else None
    remarks = list(notes)
    if "simulated" in kinds:
        remarks.append("The votes of stage 2 are by simulated raters, not by people.")
    if not any(kind in PANEL for kind in kinds):
        remarks.append(
            "Single people's votes are not in these data: only their majority can be compared, not they themselves."
        )
    return RelevanceStudy(
        tuple(raters),
        codes,
        frame["person"].to_numpy(),
        frame["prompt"].to_numpy(),
        reference,
        tuple(remarks),
        quote,
    )


def relevance_findings(study: RelevanceStudy) -> list[Result]:
    """Every number of stage 2."""
    return [*_yes_rates(study), *_detection(study), *_kappas(study), *(_published() if study.quote else ())]


def _yes_rates(study: RelevanceStudy) -> Iterator[Result]:
    for column, rater in enumerate(study.raters):
        codes = study.codes[:, column]
        found = yes_rate(codes, study.people, study.prompts)
        yield _result(rater, "yes_rate", found, coverage=float((codes >= 0).mean()) if len(codes) else None)


def _detection(study: RelevanceStudy) -> Iterator[Result]:
    """Raters against people's majority; those whose votes made it are left out, as they would agree with themselves."""
    if study.reference is None:
        return
    truth, against = study.codes[:, study.reference], study.raters[study.reference].name
    for column, rater in enumerate(study.raters):
        if rater.kind not in (*PANEL, GOLD):
            for metric, found in found_relevant(study.codes[:, column], truth, study.people, study.prompts):
                yield _result(rater, metric, found, against=against)


def _kappas(study: RelevanceStudy) -> Iterator[Result]:
    if len(study.raters) < 2:
        return
    kinds = [rater.kind for rater in study.raters]
    found = compare_raters(study.codes, kinds, study.people, study.prompts, "kappa")
    for pair in found.pairs:
        one, other = study.raters[pair.first], study.raters[pair.second]
        yield _result(one, "kappa", pair.figure, other=other.name, other_kind=other.kind)
    for block in found.blocks:
        note = _self_note(block.kinds)
        estimate = block.figure
        yield Result.of(
            estimate,
            metric="kappa_block",
            slice={"first": block.kinds[0], "second": block.kinds[1], "pairs": str(block.pairs)},
            note="; ".join(filter(None, [estimate.note, note])) or None,
        )


def _self_note(kinds: tuple[str, str]) -> str | None:
    if GOLD in kinds and any(kind in PANEL for kind in kinds):
        return "the majority was made by these raters, who agree with it for that reason"
    return None


def _published() -> Iterator[Result]:
    blocks = {
        "two annotators, mean of three pairs": ("human", "human"),
        "annotator and LLM, mean": ("human", "llm"),
        "two LLMs, mean": ("llm", "llm"),
    }
    for row in orjson.loads(PUBLISHED.read_bytes())["scores"]:
        note = f"{QUOTED}: {row['source']}"
        if row["model"] in blocks:
            first, second = blocks[row["model"]]
            value = Estimate(row["scores"]["kappa"] / 100, None, None, 0, 0)
            where = {"first": first, "second": second}
            yield Result.of(value, metric="kappa_block", slice=where, control="published", note=note)
            continue
        for metric, percent in row["scores"].items():
            value = Estimate(percent / 100, None, None, 0, 0)
            yield Result.of(value, rater=row["model"], metric=metric, control="published", note=note)


def _result(
    rater: StudyRater, metric: str, found: Estimate, coverage: float | None = None, **where: str
) -> Result:
    note = "simulated rater" if rater.kind == "simulated" else None
    return Result.of(
        found,
        rater=rater.name,
        metric=metric,
        slice={"kind": rater.kind, **where},
        coverage=coverage,
        note="; ".join(filter(None, [found.note, note])) or None,
    )
