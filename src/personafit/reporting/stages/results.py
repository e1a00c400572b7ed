"""Measures of sources and error flows as flat records, as `--json` prints them."""

from collections.abc import Sequence

from personafit.models.embeddings import Embedder
from personafit.reporting.results import Result
from personafit.reporting.stages.published import ACCEPTANCE, FAILURES, SOURCE
from personafit.stages.error_flow import FlowFigures, FlowStep
from personafit.stages.measures import AttributeSource, Measure, difference, measures
from personafit.statistics import Estimate

PUBLISHED = "published"


def source_results(sources: Sequence[AttributeSource], embedder: Embedder) -> list[Result]:
    """Every measure of every source; with several, what each differs by from the first."""
    found = [measures(source, embedder) for source in sources]
    results = []
    for source, rows in zip(sources, found, strict=True):
        for one in rows:
            results.append(_result(source.name, one, one.estimate()))
    first = {_key(one): one for one in found[0]}
    for source, rows in zip(sources[1:], found[1:], strict=True):
        for one in rows:
            if (other := first.get(_key(one))) is not None:
                gap = difference(one, other)
                where = dict(one.slice) | {"minus": sources[0].name}
                results.append(
                    Result.of(gap, metric=f"{one.metric}_difference", system=source.name, slice=where)
                )
    return [*results, *published_results()]


def published_results() -> list[Result]:
    """The paper's figures, so that they stand beside."""

    def published(value: float) -> Estimate:
        return Estimate(value, None, None, 0, 0, SOURCE)

    rows = [
        Result.of(published(value), metric=metric, system=name, control=PUBLISHED)
        for name, shares in ACCEPTANCE.items()
        for metric, value in shares.items()
    ]
    return rows + [
        Result.of(
            published(value),
            metric="failure_mode",
            system="published: all",
            slice={"mode": mode},
            control=PUBLISHED,
        )
        for mode, value in FAILURES.items()
    ]


def flow_results(traced: FlowFigures, names: dict[str, str]) -> list[Result]:
    """All figures of an error flow; `names` says which model does which stage."""
    results = []
    for step in traced.steps:
        done = [stage for stage, by_model in zip(names, step.arm, strict=False) if by_model]
        where = {"by models": ", ".join(done) or "nothing"}
        results.append(Result.of(step.f1, metric="f1", slice=where, coverage=traced.coverage))
        if step.change is not None and step.stage is not None:
            change = {"stage": step.stage, "after": ", ".join(done[:-1]) or "nothing"}
            results.append(
                Result.of(
                    step.change,
                    metric="f1_change",
                    system=names[step.stage],
                    slice=change,
                    coverage=traced.coverage,
                )
            )
    for metric, figures in (
        ("f1_lost_alone", traced.lost_alone),
        ("f1_gained_by_people", traced.gained_by_people),
    ):
        for stage, estimate in figures.items():
            where = {"stage": stage}
            results.append(
                Result.of(estimate, metric=metric, system=names[stage], slice=where, coverage=traced.coverage)
            )
    if traced.invented is not None:
        note = "attributes that say nothing people know of, called relevant, per prompt"
        results.append(Result.of(traced.invented, metric="unknown_attributes_used", note=note))
    return results


def flow_of(results: Sequence[Result]) -> tuple[FlowFigures, dict[str, str]]:
    """The flow that `flow_results` made these records of, and which model did which stage."""

    def alone(metric: str) -> dict[str, Estimate]:
        return {one.slice["stage"]: _estimate(one) for one in results if one.metric == metric}

    names = {one.slice["stage"]: str(one.system) for one in results if one.metric == "f1_lost_alone"}
    changes = {one.slice["stage"]: _estimate(one) for one in results if one.metric == "f1_change"}
    steps = []
    coverage = 0.0
    for place, one in enumerate(one for one in results if one.metric == "f1"):
        stage = list(names)[place - 1] if place else None
        arm = tuple(index < place for index in range(len(names)))
        steps.append(FlowStep(stage, arm, _estimate(one), None if stage is None else changes.get(stage)))
        coverage = one.coverage or 0.0
    invented = next((_estimate(one) for one in results if one.metric == "unknown_attributes_used"), None)
    return FlowFigures(steps, alone("f1_lost_alone"), alone("f1_gained_by_people"), coverage, invented), names


def _estimate(one: Result) -> Estimate:
    return Estimate(one.value, one.low, one.high, one.n, one.people, one.note, one.se, one.df)


def _result(name: str, one: Measure, estimate: Estimate) -> Result:
    return Result.of(estimate, metric=one.metric, system=name, slice=dict(one.slice), coverage=one.coverage)


def _key(one: Measure) -> tuple[str, tuple[tuple[str, str], ...]]:
    return one.metric, tuple(sorted(one.slice.items()))
