"""A report as files: tables for papers that no spreadsheet or LaTeX runs, and Markdown for a pull request."""

import csv
from pathlib import Path

from personafit.reports.files import latex, markdown, write_tables
from personafit.reports.pieces import Cell, Grid, Row, Section
from personafit.reports.report import ReportPart

HOSTILE = "=cmd & 50% of_{it} \\input{x} $a^2$ ~\u202e#"


def hostile_grid() -> Grid:
    rows = [
        Row([HOSTILE], [Cell("−1.5", "−2.0 to −1.0", -1.5), Cell("@said")], control="longest answer"),
        Row(["quoted"], [Cell("70.0", sort=0.7), Cell("")], source="Paper, Table 3"),
        Row(["[1] \t*"], [Cell("1.0", "=1+1", 0.1), Cell("\ufeff =1+1")]),
        Row(["gain"], [Cell("2.0", "+1.0 to +3.0", 0.2), Cell("＝1+1")]),
    ]
    return Grid("Gains", "In points.", ["rater"], ["lift", "in words"], rows, note="Over\npeople.")


def test_tables_are_written_as_csv_without_formulas_and_as_latex_without_commands(tmp_path: Path) -> None:
    part = ReportPart(
        "run-1", "Title", [], [hostile_grid()], [Section("Controls", [hostile_grid(), hostile_grid()])]
    )
    for ending in ("csv", "tex"):
        assert write_tables([part], tmp_path, ending) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *(
            "controls-gains-2.csv",
            "controls-gains-2.tex",
            "controls-gains.csv",
            "controls-gains.tex",
            "gains.csv",
            "gains.tex",
        ),
    ]
    with (tmp_path / "controls-gains.csv").open(encoding="utf-8", newline="") as file:
        header, first, second, third, fourth = csv.reader(file)
    assert header == ["rater", "control", "published in", "lift", "lift, interval", "in words"]
    assert first == [f"'{HOSTILE}", "longest answer", "", "-1.5", "-2.0 to -1.0", "'@said"]
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


def test_markdown_has_the_verdict_and_the_first_table_and_no_marks_from_outside() -> None:
    part = ReportPart(
        "run-1", "A <b>title</b>", ["It *passes* | [x](javascript:1)."], [hostile_grid()], facts=["run run-1"]
    )
    text = markdown([part])
    assert r"### A \<b\>title\</b\>" in text
    assert r"It \*passes\* \| \[x\](javascript:1)." in text
    assert "| rater | lift | in words |\n| --- | ---: | ---: |" in text
    assert "| −1.5 (−2.0 to −1.0) | @said |" in text
    assert "(control: longest answer)" in text


def test_remarks_go_with_the_empty_columns_that_refer_to_them() -> None:
    cells = [Cell("1.0"), Cell(notes=(1,)), Cell("2.0", notes=(2,))]
    grid = Grid(
        "Scores", "", ["rater"], ["a", "b", "c"], [Row(["x"], cells)], ["no item", "too few"]
    ).filled()
    assert list(grid.columns) == ["a", "c"]
    assert list(grid.remarks) == ["too few"]
    assert grid.rows[0].cells == [Cell("1.0"), Cell("2.0", notes=(1,))]


def test_a_control_is_named_where_it_stands_and_people_are_no_control() -> None:
    judged = Row(["our assistant", "rule:length"], [Cell("50.0")], "longest answer", named=1)
    assert judged.called == ["our assistant", "rule:length (control: longest answer)"]
    assert Row(["author"], [Cell("3.5")], "labels in the data").called == ["author (labels in the data)"]
    text = latex(Grid("Scores", "", ["system", "rater"], ["win rate"], [judged]))
    assert "our assistant & rule:length (control: longest answer) & 50.0" in text
