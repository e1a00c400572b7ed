"""What chapters are made of: printed tables read back, files for papers, curves, flows from records, ceilings by tier."""

import csv
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console
from rich.table import Table as Printed
from rich.text import Text

from personafit._errors import UserError
from personafit.reporting.agree_ratings import VOTE, Source, VotingRater
from personafit.reporting.number_tables import NumberRow
from personafit.reporting.sections import Cell
from personafit.reporting.stages.results import flow_of, flow_results
from personafit.reporting.whole.ceiling import beside_people
from personafit.reporting.whole.content import Chapter, Grid, PieceGroup, Sentences, text_cell
from personafit.reporting.whole.curves import is_training, read_training, training_figure
from personafit.reporting.whole.export import latex, write_tables
from personafit.reporting.whole.fitted import fitted_pieces, is_fitted, read_fitted
from personafit.reporting.whole.making import training_words
from personafit.reporting.whole.printed import printed_pieces, table_grid
from personafit.stages.error_flow import FlowFigures, FlowStep
from personafit.statistics import Estimate
from personafit.training.matcher_card import card
from personafit.training.matcher_quality import BY_PROMPT, METRICS, MatcherMetric


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("72.6\n62.2–83.0", Cell("72.6", "62.2–83.0", 72.6)),
        ("-0.03 (-0.18 to 0.14)", Cell("−0.03", "−0.18 to 0.14", -0.03)),
        ("1,144", Cell("1,144", "", 1144.0)),
        ("1.000 (a)", Cell("1.000 (a)", "", 1.0)),
        ("python:own (mine)", Cell("python:own (mine)")),
    ],
)
def test_a_printed_number_is_read_with_its_interval(text: str, cell: Cell) -> None:
    assert text_cell(text) == cell


def show(console: Console, name: str) -> None:
    table = Printed(title="Scores [b]of[/b] all")
    for heading, justify in (("rater", "left"), ("easy\ntier", "right"), ("hard", "right")):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    table.add_row(Text(name), "61.0\n[dim]50.0–72.0[/dim]", "")
    table.add_row("published, Table 3:", "", "")
    table.add_row("GPT", "70.0", "")
    console.print(table)
    console.print(Text("(a) too few", style="dim"))
    console.print(Text("It is above chance."))


def test_what_is_printed_becomes_a_table_of_the_page() -> None:
    words, grid, notes = printed_pieces(show, "a [red] name")
    assert words == Sentences(["It is above chance."])
    assert notes == Sentences(["(a) too few"], small=True)
    assert isinstance(grid, Grid)
    assert (grid.title, grid.heads, grid.columns) == ("Scores of all", ["rater"], ["easy tier"])
    ours, quoted = grid.rows
    assert (list(ours.names), ours.cells, ours.source) == (
        ["a [red] name"],
        [Cell("61.0", "50.0–72.0", 61.0)],
        None,
    )
    assert (list(quoted.names), quoted.source) == (["GPT"], "published, Table 3")


def test_a_column_of_intervals_joins_the_numbers_before_it() -> None:
    table = Printed("rater", title="Ranking")
    for heading in ("strength", "95 % interval", "comparisons"):
        table.add_column(heading, justify="left" if heading == "95 % interval" else "right")
    table.add_row("one", "-0.30", "-0.54 to -0.05", "146")
    grid = table_grid(table)
    assert (grid.heads, grid.columns) == (["rater"], ["strength", "comparisons"])
    assert grid.rows[0].cells == [Cell("−0.30", "−0.54 to −0.05", -0.3), Cell("146", sort=146.0)]


def test_the_card_of_a_fitted_rater_becomes_sentences_and_tables(tmp_path: Path) -> None:
    metrics = (*METRICS, "f1_mean_of_prompts", "average_precision")
    figures = [
        MatcherMetric(metric, BY_PROMPT, Estimate(value, value - 0.07, value + 0.07, 134, 12), control)
        for control, value in ((None, 0.44), ("always-yes", 0.48))
        for metric in metrics
    ]
    gain = Estimate(-0.011, -0.086, 0.064, 134, 12)
    figures.append(MatcherMetric("f1_gain_over_attribute_alone", BY_PROMPT, gain))
    facts = {"pairs": 134, "relevant": 42, "prompts": 12, "people": 12}
    matcher = SimpleNamespace(card=facts, threshold=0.27, fingerprint="c55c")
    assert not is_fitted(tmp_path)
    (tmp_path / "card.md").write_text(card(matcher, figures, "starter"))  # type: ignore[arg-type]
    (tmp_path / "quality.json").write_text("[]")
    assert is_fitted(tmp_path)
    pieces = fitted_pieces(read_fitted(tmp_path))
    (grid,) = [one for one in pieces if isinstance(one, Grid)]
    assert isinstance(pieces[0], Sentences)
    assert pieces[0].sentences[0].startswith("A fitted matcher. Fitted on 134 pairs of a prompt")
    assert grid.title == "Prompts left out"
    assert [row.names[0] for row in grid.rows] == ["matcher", "always yes"]
    assert grid.rows[0].cells[0] == Cell("0.440", "0.370 to 0.510", 0.44)
    (tmp_path / "card.md").write_text("no title")
    with pytest.raises(UserError, match=r"card\.md is no card of a rater"):
        read_fitted(tmp_path)


HOSTILE = "=cmd & 50% of_{it} \\input{x} $a^2$ ~\u202e#"


def hostile_grid() -> Grid:
    rows = [
        NumberRow([HOSTILE], [Cell("−1.5", "−2.0 to −1.0", -1.5), Cell("@said")], control="longest answer"),
        NumberRow(["quoted"], [Cell("70.0", sort=0.7), Cell("")], source="Paper, Table 3"),
        NumberRow(["[1] \t*"], [Cell("1.0", "=1+1", 0.1), Cell("\ufeff =1+1")]),
        NumberRow(["gain"], [Cell("2.0", "+1.0 to +3.0", 0.2), Cell("＝1+1")]),
    ]
    return Grid("Gains", "In points.", ["rater"], ["lift", "in words"], rows, note="Over\npeople.")


def test_tables_are_written_as_csv_without_formulas_and_as_latex_without_commands(tmp_path: Path) -> None:
    chapters = [Chapter("controls", "Controls", "", [PieceGroup("", [hostile_grid(), hostile_grid()])])]
    assert write_tables(chapters, tmp_path) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("controls-gains-2.csv", "controls-gains-2.tex", "controls-gains.csv", "controls-gains.tex"),
    ]
    with (tmp_path / "controls-gains.csv").open(encoding="utf-8", newline="") as file:
        header, first, second, third, fourth = csv.reader(file)
    assert header == ["rater", "control", "published in", "lift", "lift, interval", "in words"]
    assert first == [f"'{HOSTILE}", "longest answer", "", "-1.5", "−2.0 to −1.0", "'@said"]
    assert second[:4] == ["quoted", "", "Paper, Table 3", "70.0"]
    assert third[3:] == ["1.0", "'=1+1", "'\ufeff =1+1"]
    assert fourth[3:] == ["2.0", "+1.0 to +3.0", "'＝1+1"]
    lines = latex(hostile_grid()).splitlines()
    (row,) = [line for line in lines if "cmd" in line]
    assert row.startswith(
        r"=cmd \& 50\% of\_\{it\} \textbackslash{}input\{x\} \$a\textasciicircum{}2\$ \textasciitilde{}\#"
    )
    assert row.endswith(r"& $-$1.5 {\scriptsize $-$2.0 to $-$1.0} & @said \\")
    (bracket,) = [line for line in lines if "1]" in line]
    assert bracket.startswith("{[}1] {*} & ")  # a row's end takes what follows in brackets for an option
    assert lines[-1] == "% Over people."
    assert sum(line.startswith(r"\begin") for line in lines) == 1


def test_curves_are_read_from_the_table_or_from_the_last_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "curves.csv").write_text(
        "step,eval_accuracy,eval_accuracy_hard,eval_loss,loss\n1,,,,0.7\n2,0.75,0.5,0.6,0.5\n"
    )
    one = read_training(tmp_path / "a")
    assert one.points("loss") == [(1.0, 0.7), (2.0, 0.5)]
    assert training_words(one) == [
        "The loss went from 0.700 (step 1) to 0.500 (step 2).",
        "At the last reading on people held out: all pairs 75.0 %, hard 50.0 %.",
    ]
    figure = training_figure(one)
    assert figure is not None
    assert [len(axis.lines) for axis in figure.axes] == [2, 3]
    for step, name in ((2, "2"), (10, "10"), (4, "best")):
        folder = tmp_path / "b" / f"checkpoint-{name}"
        folder.mkdir(parents=True)
        history = [{"step": step, "loss": step / 10, "epoch": 1.0}]
        (folder / "trainer_state.json").write_text(json.dumps({"log_history": history}))
    assert read_training(tmp_path / "b").points("loss") == [(10.0, 1.0)]
    (tmp_path / "c").mkdir()
    assert not is_training(tmp_path / "c")
    (tmp_path / "c" / "curves.csv").write_text("step,loss\n1,much\n")
    with pytest.raises(UserError, match=r"curves\.csv is no log of a training run"):
        read_training(tmp_path / "c")


def test_a_flow_is_made_again_from_its_records() -> None:
    def estimate(value: float) -> Estimate:
        return Estimate(value, value - 0.1, value + 0.1, 20, 5, None)

    names = {"attributes": "folder", "relevance": "matcher"}
    traced = FlowFigures(
        [
            FlowStep(None, (False, False), Estimate(1.0, None, None, 20, 5, "1 by construction"), None),
            FlowStep("attributes", (True, False), estimate(0.6), estimate(-0.4)),
            FlowStep("relevance", (True, True), estimate(0.5), estimate(-0.1)),
        ],
        {"attributes": estimate(0.4), "relevance": estimate(0.2)},
        {"attributes": estimate(0.3), "relevance": estimate(0.1)},
        0.9,
        None,
    )
    assert flow_of(flow_results(traced, names)) == (traced, names)


def test_the_ceiling_is_one_person_against_the_others_tier_by_tier() -> None:
    import polars as pl

    people = {f"i{n}": f"p{n % 4}" for n in range(16)}
    source = Source("study", people, frozenset(people))
    rows = []
    for n, item in enumerate(people):
        easy = n < 8
        for rater in range(5):
            # On easy items all agree; on hard ones the fifth never goes with the others. The machine is always right.
            label = "0" if easy or rater < 4 else "1"
            rows.append(("fit", item, "", f"r{rater}", label, None))
        rows.append(("fit", item, "", "machine", "0", None))
    votes = pl.DataFrame(rows, schema=VOTE, orient="row")
    raters = {f"r{n}": VotingRater(f"human:r{n}", "human") for n in range(5)}
    source.add(votes, {**raters, "machine": VotingRater("machine", "llm")})
    parts = {"easy": {f"i{n}" for n in range(8)}, "hard": {f"i{n}" for n in range(8, 16)}}
    ceiling, machine = beside_people(source, parts)
    assert ceiling.who == "one person (study)"
    assert [one and one.value for one in ceiling.by_part.values()] == [1.0, pytest.approx(0.8)]
    assert [one and one.value for one in machine.by_part.values()] == [1.0, 1.0]
    assert (machine.who, machine.against) == ("machine", "the majority of the others")
