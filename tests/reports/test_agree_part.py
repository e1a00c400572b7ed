"""Agreement, studies and comparisons as parts of a report: the figures in them are those of the analysis."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import personafit as pf
from personafit.reports.agree import agreement_part, agreements, conclusions, published_figures
from personafit.reports.agree_ratings import VOTE, Source, VotingRater
from personafit.reports.collect import study_part
from personafit.reports.pieces import Grid, Picture, Piece, Prose, Row, Sentences
from personafit.reports.report_page import render_page
from tests.scripted import simple_pairs, write_pairs

PEOPLE = 8


def source(question: str, labels: tuple[str, str], seed: int = 3) -> Source:
    """Three people, two judges, a control and gold on 64 items of eight people."""
    rng = np.random.default_rng(seed)
    people = {f"i{n}": f"p{n % PEOPLE}" for n in range(64)}
    made = Source("pilot", people, frozenset())
    rows = []
    raters = {
        **{f"h{n}": VotingRater(f"human:h{n}", "human") for n in range(3)},
        "a": VotingRater("judge a", "llm"),
        "b": VotingRater("judge b", "llm"),
        "c": VotingRater("rule:always-yes", "rule", control=True),
        "gold:g": VotingRater("majority", "gold"),
    }
    for item in people:
        truth = int(rng.random() < 0.4)
        for key in raters:
            wrong = rng.random() < {"a": 0.1, "b": 0.4, "gold:g": 0.0}.get(key, 0.2)
            said = labels[1] if key == "c" else labels[truth ^ int(wrong)]
            rows.append((question, item, "", key, said, None))
    made.add(pl.DataFrame(rows, schema=VOTE, orient="row"), raters)
    return made


def grid(pieces: Sequence[Piece], title: str) -> Grid:
    return next(piece for piece in pieces if isinstance(piece, Grid) and piece.title.startswith(title))


def test_the_first_table_has_the_few_figures_to_read_first_and_controls_last() -> None:
    (found,) = agreements(source("relevance", ("no", "yes")))
    part = agreement_part(source("relevance", ("no", "yes")), [found])
    assert [text.replace("−", "-") for text in part.sentences] == [
        text.replace("−", "-") for text in conclusions(found)
    ]
    raters = grid(part.lead, "Raters")
    assert list(raters.columns) == [
        "items",
        "agrees with majority",
        "kappa with majority",
        "mean kappa with human",
        "meets people’s majority",
    ]
    assert raters.rows[-2].control == "rule"
    assert raters.rows[-1].names[0] == "the human ceiling"
    judge = next(row for row in raters.rows if row.names[0] == "judge a")
    wanted = [
        found.find("pair", "percent", "judge a", "majority"),
        found.find("pair", "kappa", "judge a", "majority"),
        found.find("reliability", "kappa", "judge a", "human"),
        found.find("ceiling", "majority", "judge a"),
    ]
    assert [cell.sort for cell in judge.cells[1:]] == [one and one.value for one in wanted]
    assert [cell.interval for cell in judge.cells[1:]] == [
        f"{one.low:.3f} to {one.high:.3f}" for one in wanted if one is not None
    ]
    assert any(isinstance(piece, Picture) for piece in part.lead)
    page = render_page([part])
    assert page.count("published, not measured here") > 2
    assert "Kappa of every two raters" in page


def test_published_rows_stand_beside_the_same_question_only() -> None:
    asked = source("relevance", ("no", "yes"))
    part = agreement_part(asked, agreements(asked), pictures=False)
    blocks = grid(part.pieces(), "By kind of rater")
    quoted = {tuple(row.names): row.cells for row in blocks.rows if row.source}
    assert quoted["human", "human"][list(blocks.columns).index("kappa")].sort == pytest.approx(0.426)
    marks = [(table, figures["spearman"]) for table, _, _, figures in published_figures("preference")]
    assert ("block", 0.325) in marks
    other = source("fit", ("0", "1"))
    pieces = agreement_part(other, agreements(other), pictures=False).pieces()
    assert not any(row.source for piece in pieces if isinstance(piece, Grid) for row in piece.rows)
    assert not any(isinstance(piece, Picture) for piece in pieces)


def test_reasons_stand_below_the_table_once() -> None:
    few = source("fit", ("0", "1"))
    few.people = {item: person for item, person in few.people.items() if person in ("p0", "p1")}
    few.parts = [part.filter(pl.col("item").is_in(list(few.people))) for part in few.parts]
    part = agreement_part(few, agreements(few), pictures=False)
    raters = grid(part.lead, "Raters")
    assert len(raters.remarks) == len(set(raters.remarks)) > 0
    assert {number for row in raters.rows for cell in row.cells for number in cell.notes} == set(
        range(1, len(raters.remarks) + 1)
    )


def test_a_study_says_who_rated_before_how_they_agree() -> None:
    asked = source("relevance", ("no", "yes"))
    agreement = agreement_part(asked, agreements(asked), pictures=False)
    standing: list[Piece] = [
        Sentences(["pilot (relevance, open): 90 of 90 pages answered."]),
        Grid("Raters", "", ["rater"], [], [Row(["r1"], [])]),
    ]
    part = study_part("pilot", standing, agreement, True, 2)
    assert part.sentences == [
        *agreement.sentences,
        "pilot (relevance, open): 90 of 90 pages answered.",
        "2 answers were decided afterwards by one person.",
    ]
    assert isinstance(part.lead[0], Prose)
    assert "simulated" in part.lead[0].text
    assert part.sections[0].title == "Who rated"
    assert grid(part.sections[0].pieces, "Raters").rows[0].names == ["r1"]


def test_the_difference_in_the_table_is_that_of_the_comparison(tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs.csv", simple_pairs(8))
    runs = [
        pf.evaluate(pairs, raters=[rater], contexts=["profile"], store=tmp_path / "s.db", progress=False)
        for rater in ("rule:length", "rule:overlap")
    ]
    found = pf.compare(*runs)
    (row,) = grid(found.part().lead, "Differences").rows
    (result,) = found.results.filter(pl.col("metric") == "accuracy").to_dicts()
    assert row.cells[1].sort == result["value"]
    assert [cell.sort for cell in row.cells[3:]] == [result["n"], result["people"]]
    page = found.report(tmp_path / "compare.html").read_text(encoding="utf-8")
    assert runs[0].name in page


def test_published_kappas_of_dialogues_stand_beside_ours() -> None:
    asked = source("completion", ("0", "1"))
    part = agreement_part(asked, agreements(asked), pictures=False)
    for title, names, figure, value in (
        ("Every two raters", ("the paper’s judge", "people"), "kappa", 0.78),
        ("All raters at once", ("human",), "Fleiss", 0.865),
    ):
        table = grid(part.pieces(), title)
        (row,) = [row for row in table.rows if row.source]
        assert tuple(row.names) == names
        assert row.cells[list(table.columns).index(figure)].sort == value
        assert "arXiv 2506.09902, human validation" in str(row.source)
    kappas = {
        question: figures["kappa"]
        for question in ("personalization", "coherence.user", "coherence.assistant", "naturalness.user")
        for table, _, _, figures in published_figures(question)
        if table == "pair"
    }
    assert kappas == {"personalization": 0.52, "coherence.user": 0.738, "coherence.assistant": 0.65}


def test_one_person_is_no_people() -> None:
    asked = source("fit", ("0", "1"))
    asked.people = dict.fromkeys(asked.people, "p0")
    assert "1 person" in agreement_part(asked, agreements(asked), pictures=False).facts
