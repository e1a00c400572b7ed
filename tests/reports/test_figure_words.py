"""Figures for those who do not see them, names where there is little room, and numbers as people read them."""

from pathlib import Path

import pytest

from personafit.reports import plots
from personafit.reports.plots import LONGEST_NAME, Dot, Panel, PlotRow, lined_name
from personafit.reports.result import plain, signed

RECORDED = "replay:docs/recordings/qwen2.5-coder-1.5b{}.jsonl,ask=likelihood"


@pytest.mark.parametrize(
    ("value", "digits", "as_number", "as_difference"),
    [
        (-0.04, 1, "0.0", "0.0"),
        (0.04, 1, "0.0", "0.0"),
        (-0.0, 2, "0.00", "0.00"),
        (-1.25, 2, "−1.25", "−1.25"),
        (3.14, 1, "3.1", "+3.1"),
    ],
)
def test_nothing_has_no_sign(value: float, digits: int, as_number: str, as_difference: str) -> None:
    assert (plain(value, digits), signed(value, digits)) == (as_number, as_difference)


def test_a_figure_says_who_is_highest_in_each_panel() -> None:
    rows = [
        PlotRow("rule:length", [Dot(50.0), Dot(41.0, 30.0, 52.0)], control=True),
        PlotRow("a judge", [Dot(72.6, 62.2, 83.0), Dot()]),
        PlotRow("GPT-4.1", [Dot(80.0), Dot(-0.01)], published=True),
    ]
    figure = plots.panels_figure(rows, [Panel("easy", 50.0), Panel("hard\npairs", 50.0)])
    assert figure.get_label() == (
        "easy: GPT-4.1 (published) 80.0, a judge 72.6 (62.2 to 83.0), rule:length (control) 50.0. "
        "hard pairs: rule:length (control) 41.0 (30.0 to 52.0), GPT-4.1 (published) 0.0."
    )


def test_of_many_numbers_the_ends_are_said() -> None:
    many = [PlotRow(f"rater {place}", [Dot(place / 10)]) for place in range(20)]
    words = plots.panels_figure(many, [Panel("Says yes", digits=2)]).get_label()
    assert words == (
        "Says yes: rater 19 1.90, rater 18 1.80, rater 17 1.70, then 14 more, rater 2 0.20, rater 1 0.10, rater 0 0.00."
    )


def test_what_was_published_has_another_mark_than_what_was_measured() -> None:
    def mark(row: PlotRow) -> str:
        axis = plots.panels_figure([row], [Panel("all")]).axes[0]
        return str(axis.lines[-1].get_marker())

    dots = [Dot(50.0)]
    rows = (
        PlotRow("a", dots),
        PlotRow("a", dots, control=True),
        PlotRow("a", dots, people=True),
        PlotRow("a", dots, published=True),
    )
    assert [mark(row) for row in rows] == ["o", "s", "D", "x"]


def test_long_names_stay_apart() -> None:
    one, other = (lined_name(RECORDED.format(which)) for which in ("", "-memory"))
    assert one == "replay:…/qwen2.5-coder-1.5b.jsonl,\nask=likelihood"
    assert other == "replay:…/qwen2.5-coder-1.5b-\nmemory.jsonl,ask=likelihood"
    assert lined_name("openai:Qwen/Qwen2.5-7B") == "openai:Qwen/Qwen2.5-7B"
    lines = lined_name("x" * 200).split("\n")
    assert len(lines) == 2
    assert max(map(len, lines)) <= LONGEST_NAME + 1
    assert "\u202e" not in lined_name("turned \u202e around")


def test_a_figure_as_svg_has_a_title(tmp_path: Path) -> None:
    figure = plots.panels_figure([PlotRow("a <judge>", [Dot(50.0)])], [Panel("all")])
    plots.save(figure, tmp_path / "figure.svg")
    plots.save(figure, tmp_path / "figure.png")
    text = (tmp_path / "figure.svg").read_text(encoding="utf-8")
    assert "<title>all: a &lt;judge&gt; 50.0.</title>" in text
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
