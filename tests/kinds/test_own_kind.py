"""A kind of somebody's own: results, lift and differences from nothing but scored rows, and sentences where something is missing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import personafit as pf
from personafit import Kind, Metric, QuestionSet, UserError
from personafit.benchmarks import write_folder
from personafit.benchmarks.rows import rows_benchmark
from personafit.items import ChoiceQuestion
from personafit.items.choice import CHOICES
from personafit.kinds import Line
from personafit.kinds.choice import ChoiceKind
from personafit.kinds.lines import CONTROL_CONTEXTS, RunLines, control_of
from personafit.reports.line_results import differences_of, line_shares, results_of, worst_coverage
from personafit.reports.result import Result
from personafit.statistics import cluster_mean
from personafit.store import RunRecord

PEOPLE, QUESTIONS = 8, 3
SHOWN_UNDER = ("profile", "none", "wrong:profile")
RAISED = {"profile": 0.3, "none": 0.0, "wrong:profile": 0.1}
METRICS = [
    Metric("rank_score", label="how near the best answer is to the top", compared=True),
    Metric("lift", "rank_score", over="context"),
]


def score(person: int, question: int, context: str) -> float:
    """Anybody's score without the person, a little more with one."""
    return (person * 7 + question * 3) % 5 / 10 + RAISED[context]


def frames() -> Iterator[pl.DataFrame]:
    """Four answers ranked by two raters under three contexts, a page per person; the careless one skips the last question."""
    for person in range(PEOPLE):
        rows: list[dict[str, Any]] = []
        for rater in ("careful", "careless"):
            for context in SHOWN_UNDER:
                for question in range(QUESTIONS):
                    skipped = rater == "careless" and question == QUESTIONS - 1
                    rows.append(
                        {
                            "rater": rater,
                            "context": context,
                            "person": f"p{person}",
                            "prompt": f"q{question}",
                            "unit": f"p{person}/q{question}",
                            "topic": "food" if question else "music",
                            "rank_score": None if skipped else score(person, question, context),
                        }
                    )
        yield pl.DataFrame(rows)


def run() -> RunRecord:
    raters = [{"fingerprint": "careless", "name": "careless", "control": True}]
    return RunRecord(-1, "ranks-1", "ranks@1", {"raters": raters}, 0, 0.0, None)


def one(results: list[Result], metric: str, rater: str, context: str, **where: str) -> Result:
    (found,) = [
        r for r in results if (r.metric, r.rater, r.context, r.slice) == (metric, rater, context, dict(where))
    ]
    return found


def opened(twice: str = "") -> RunLines:
    """The lines of those frames; everything under the context `twice` stands in two rows."""
    again = [page.filter(pl.col("context") == twice) for page in frames()]
    scores = pl.concat([*frames(), *again]).with_columns(
        item="unit", asked=pl.lit(1), answered=pl.col("rank_score").is_not_null().cast(pl.Int64)
    )
    lines = [
        Line(
            str(rater),
            str(rater),
            str(context),
            None,
            None,
            frame,
            control_of(str(rater), str(context), {}, CONTROL_CONTEXTS),
            rater != "careless",
        )
        for (rater, context), frame in scores.partition_by(
            "rater", "context", as_dict=True, maintain_order=True, include_key=False
        ).items()
    ]
    return RunLines(run(), {}, "ranking", lines, METRICS, [("topic",)])


def test_means_have_clustered_intervals_coverage_and_slices() -> None:
    results = results_of(opened())
    total = one(results, "rank_score", "careful", "profile")
    cells = [(p, q) for p in range(PEOPLE) for q in range(QUESTIONS)]
    values = [score(p, q, "profile") for p, q in cells]
    wanted = cluster_mean(values, [p for p, _ in cells], [q for _, q in cells], (0.0, 1.0))
    for found, other in ((total.value, wanted.value), (total.low, wanted.low), (total.high, wanted.high)):
        assert found == pytest.approx(other)
    assert (total.n, total.people, total.coverage) == (PEOPLE * QUESTIONS, PEOPLE, 1.0)
    assert "clustered by person and prompt" in str(total.note)
    assert one(results, "rank_score", "careful", "profile", topic="music").n == PEOPLE
    assert one(results, "rank_score", "careless", "profile").coverage == pytest.approx(2 / 3)


def test_lift_is_over_the_larger_control() -> None:
    results = results_of(opened())
    lift = one(results, "lift", "careful", "profile")
    assert lift.value == pytest.approx(RAISED["profile"] - RAISED["wrong:profile"])
    assert "over wrong:profile, the larger of the two controls" in str(lift.note)
    assert one(results, "lift", "careful", "profile", topic="food").n == PEOPLE * (QUESTIONS - 1)
    assert not [r for r in results if r.metric == "lift" and r.context != "profile"]
    assert one(results, "rank_score", "careful", "none").control == "no view"
    assert one(results, "rank_score", "careful", "wrong:profile").control == "wrong person"


def test_lines_are_subtracted_where_both_have_an_answer() -> None:
    first, second = (line for line in opened().lines if line.context == "profile")
    results = differences_of(opened(), [(first, second, "careless")])
    gap = one(results, "rank_score_difference", "careful", "profile", against="careless")
    assert (gap.value, gap.n) == (0.0, PEOPLE * (QUESTIONS - 1))


def test_a_control_that_answers_little_does_not_hide_the_rater_asked_for() -> None:
    worst = worst_coverage(line_shares(opened().lines))
    assert worst is not None
    assert worst[0].startswith("careful")


def test_a_unit_in_several_rows_is_paired_by_its_mean() -> None:
    lift = one(results_of(opened(twice="none")), "lift", "careful", "profile")
    assert lift.n == PEOPLE * QUESTIONS
    assert lift.value == pytest.approx(RAISED["profile"] - RAISED["wrong:profile"])


ROWS = [
    {"person": {"id": "ann", "Likes": "tea"}, "question": "What?", "chosen": "Tea.", "rejected": "Ale."},
    {"person": {"id": "bob", "Likes": "ale"}, "question": "What?", "chosen": "Ale.", "rejected": "Tea."},
]


def test_a_metric_without_its_column_is_named(tmp_path: Path) -> None:
    class Unscored(Kind):
        name = "unscored"

        def metrics(self, info: Any) -> list[Metric]:
            return [Metric("skill")]

    with pf.evaluate(ROWS, raters=["rule:length"], store=tmp_path / "s.db", progress=False)._store as store:
        record = pf.load("last", store=store).record
        with pytest.raises(UserError, match="kind unscored have no column 'skill', which its metric skill"):
            Unscored().lines(store, record)


@pytest.mark.parametrize(
    ("scored", "sentence"),
    [
        (lambda rows: rows.with_columns(skill=pl.lit(7.0)), "has the value 7, outside its bounds of 0 to 1"),
        (
            lambda rows: rows.with_columns(skill=pl.lit("high")),
            "column 'skill' of kind odd-scores holds no numbers",
        ),
        (lambda rows: rows.select("no such"), "kind odd-scores cannot score: ColumnNotFoundError"),
        (lambda rows: None, "scores of kind odd-scores must be a polars frame, not NoneType"),
        (lambda rows: rows.head(1).with_columns(skill=pl.lit(1.0)), "have 1 of [0-9]+ rows; keep every row"),
    ],
)
def test_scores_that_cannot_be_right_are_one_sentence(scored: Any, sentence: str, tmp_path: Path) -> None:
    class OddScores(Kind):
        name = "odd-scores"

        def metrics(self, info: Any) -> list[Metric]:
            return [Metric("skill")]

        def score(self, rows: pl.DataFrame) -> pl.DataFrame:
            found: pl.DataFrame = scored(rows)
            return found

    run = pf.evaluate(ROWS, raters=["rule:length"], store=tmp_path / "s.db", progress=False)
    with pytest.raises(UserError, match=sentence):
        OddScores().lines(run._store, run.record)


def test_a_kind_that_asks_nothing_or_measures_nothing_is_refused(tmp_path: Path) -> None:
    @pf.kind("silent")
    class Silent(Kind):
        """It lacks what is asked."""

    folder = tmp_path / "silent"
    write_folder(folder, rows_benchmark(ROWS))
    items = (folder / "items.jsonl").read_text(encoding="utf-8")
    (folder / "items.jsonl").write_text(items.replace('{"id"', '{"kind": "silent", "id"'), encoding="utf-8")
    for asks in (None, QuestionSet("silent", ())):
        Silent.asks = asks  # type: ignore[assignment]
        with pytest.raises(UserError, match="The kind silent does not say what is asked"):
            pf.evaluate(folder, raters=["rule:length"], store=tmp_path / "s.db", progress=False)
    Silent.asks, Silent.own_options = CHOICES, {"tone": ("soft", "hard")}
    asked: dict[str, Any] = {"raters": ["rule:length"], "store": tmp_path / "s.db", "progress": False}
    run, other = (pf.evaluate(folder, options={"tone": tone}, **asked) for tone in ("soft", "hard"))
    assert run.name != other.name
    with pytest.raises(UserError, match="The kind silent has no metrics"):
        _ = run.results


@pytest.mark.parametrize(
    ("metrics", "sentence"),
    [
        (lambda kind, info: info["no such"], "kind odd-metrics cannot say its metrics: KeyError"),
        (lambda kind, info: ["skill"], "metrics of kind odd-metrics must be a list of personafit.Metric"),
    ],
)
def test_metrics_that_cannot_be_right_are_one_sentence(metrics: Any, sentence: str, tmp_path: Path) -> None:
    odd = type("OddMetrics", (Kind,), {"name": "odd-metrics", "metrics": metrics})
    run = pf.evaluate(ROWS, raters=["rule:length"], store=tmp_path / "s.db", progress=False)
    with pytest.raises(UserError, match=sentence):
        odd().lines(run._store, run.record)


def test_a_question_that_raises_fails_its_asks_and_no_others(tmp_path: Path) -> None:
    class Odd(ChoiceQuestion):
        name, version = "odd", "1"

        def decide(self, *_: Any) -> list[pf.PartAnswer]:
            raise KeyError("answer")

    @pf.kind("odd-question")
    class OddQuestion(ChoiceKind):
        asks = pf.QuestionSet("odd-question", (Odd(),))

    folder = tmp_path / "odd"
    write_folder(folder, rows_benchmark(ROWS))
    items = (folder / "items.jsonl").read_text(encoding="utf-8")
    (folder / "items.jsonl").write_text(
        items.replace('{"id"', '{"kind": "odd-question", "id"'), encoding="utf-8"
    )
    run = pf.evaluate(folder, raters=["rule:length"], store=tmp_path / "s.db", progress=False)
    assert set(run.judgments["status"]) == {"failed"}
    assert "rule:length could not answer 'odd' (KeyError: 'answer')" in run.judgments["detail"].to_list()[0]


def test_a_kind_that_nobody_knows_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "odd"
    write_folder(folder, rows_benchmark(ROWS))
    items = (folder / "items.jsonl").read_text(encoding="utf-8")
    odd = items.replace('{"id"', '{"kind": "quarrel", "id"')
    (folder / "items.jsonl").write_text(odd, encoding="utf-8")
    for place in ("items.jsonl, line 1, field 'kind'", "benchmark.toml, field 'kind'"):
        unknown = f"{place}: there are items of kind 'quarrel', which nothing here knows; kinds are choice"
        with pytest.raises(UserError, match=unknown):
            pf.evaluate(folder, raters=["rule:length"], store=tmp_path / "s.db", progress=False)
        info = folder / "benchmark.toml"
        info.write_text('kind = "quarrel"\n' + info.read_text(encoding="utf-8"), encoding="utf-8")


def test_only_a_kind_can_be_named_one() -> None:
    with pytest.raises(UserError, match="a kind is a subclass of personafit"):
        pf.kind("odd")(dict)  # type: ignore[type-var]


def test_a_kind_that_the_items_are_not_of_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--kind relevance: the items of starter are of kind choice"):
        pf.evaluate("starter", kind="relevance", store=tmp_path / "s.db", progress=False)


def test_a_lift_over_something_else_is_refused() -> None:
    with pytest.raises(UserError, match="over='view' must be 'context' or 'system_context'"):
        pf.Metric("lift", "rank_score", over="view")  # type: ignore[arg-type]
