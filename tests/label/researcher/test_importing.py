"""Votes made elsewhere: taken in as they were, corrected, counted once, and refused by line and field."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from personafit import UserError
from personafit.label import RaterState, Studies, export_study, import_votes, study_overview, write_benchmark
from personafit.label.votes import study_votes
from tests.label.researcher.vote_files import NAME, lines, write_votes
from tests.label.served import new_study

SAME = [
    "item",
    "question",
    "target",
    "rater",
    "label",
    "value",
    "status",
    "order",
    "seconds",
    "at",
    "note",
    "perspective",
]


def test_a_benchmark_of_imported_simulated_votes_says_so(studies: Studies, tmp_path: Path) -> None:
    export_study(studies, "pilot", tmp_path / "out", "jsonl")
    import_votes(studies, "copy", tmp_path / "out" / "votes.jsonl")
    write_benchmark(studies.store, "copy", tmp_path / "all")
    assert "majority of 3 simulated raters" in (tmp_path / "all" / "benchmark.toml").read_text()
    card = (tmp_path / "all" / "card.md").read_text()
    assert "a study of 3 simulated raters:" in card
    assert "All votes are simulated" in card
    item = study_votes(studies, "copy")["item"][0]
    votes = write_votes(tmp_path / "one.jsonl", [{"item": item, "rater": "ana", "label": "0"}])
    import_votes(studies, "copy", votes)
    write_benchmark(studies.store, "copy", tmp_path / "mixed")
    card = (tmp_path / "mixed" / "card.md").read_text()
    assert "a study of 1 person and 3 simulated raters:" in card
    assert "All votes are simulated" not in card


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_what_is_exported_comes_in_again_as_it_was(studies: Studies, tmp_path: Path, kind: str) -> None:
    export_study(studies, "pilot", tmp_path / "out", kind)
    done = import_votes(studies, "copy", tmp_path / "out" / f"votes.{kind}")
    assert (done.votes, done.raters, done.known) == (24, 3, 0)
    before, after = (study_votes(studies, name).select(SAME).sort(SAME) for name in ("pilot", "copy"))
    assert before.equals(after)
    assert set(study_votes(studies, "copy")["kind"]) == {"simulated"}
    again = import_votes(studies, "copy", tmp_path / "out" / f"votes.{kind}")
    assert (again.votes, again.known) == (0, 24)
    assert study_votes(studies, "copy").height == 24


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"item": "nothing"}, "line 2, field 'item': 'nothing' is not in the study copy"),
        ({"label": "7"}, "line 2, field 'label': '7' is none of 0, 1"),
        ({"question": "taste"}, "line 2, field 'question': copy asks fit, not 'taste'"),
        ({"target": "x"}, "line 2, field 'target'"),
        ({"perspective": "cat"}, "line 2, field 'perspective'"),
        ({"rater": " "}, "line 2, field 'rater' is empty"),
        ({"why": "undone"}, "line 2, field 'why'"),
        ({"why": "cannot tell"}, "line 2, field 'why': a vote has a label or a reason"),
        ({"at": 1e300}, "line 2, field 'at'"),
        ({"order": "00"}, "line 2, field 'order'"),
        ({"colour": "red"}, "line 2, field 'colour'"),
        ({"item": 0}, "line 2, field 'item'"),
    ],
)
def test_a_line_that_does_not_fit_is_named_and_nothing_is_written(
    studies: Studies, tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    items = study_votes(studies, "pilot")["item"].unique(maintain_order=True)
    rows = [{"item": item, "rater": NAME, "label": "0"} for item in items[:2]]
    rows[1] |= change
    with pytest.raises(UserError, match=said.replace("(", r"\(")):
        import_votes(studies, "copy", write_votes(tmp_path / "votes.jsonl", rows))
    assert study_votes(studies, "copy").is_empty()
    assert all(seat.state is RaterState.FREE for seat in studies.seats("copy"))


def test_two_votes_of_one_rater_on_one_item_are_a_mistake(studies: Studies, tmp_path: Path) -> None:
    item = study_votes(studies, "pilot")["item"][0]
    rows = [{"item": item, "rater": NAME, "label": label} for label in ("0", "1")]
    with pytest.raises(UserError, match=r"line 3 is a second vote .* see line 2"):
        import_votes(studies, "copy", write_votes(tmp_path / "votes.csv", rows))


def test_a_vote_that_was_corrected_can_be_corrected_back(studies: Studies, tmp_path: Path) -> None:
    item = study_votes(studies, "pilot")["item"][0]
    for label in ("0", "1", "0"):
        votes = write_votes(tmp_path / "votes.jsonl", [{"item": item, "rater": NAME, "label": label}])
        assert import_votes(studies, "copy", votes).votes == 1
        assert study_votes(studies, "copy")["label"].to_list() == [label]


def test_a_study_s_own_export_corrects_its_votes_and_doubles_none(studies: Studies, tmp_path: Path) -> None:
    export_study(studies, "pilot", tmp_path / "out", "jsonl")
    rows = lines(tmp_path / "out" / "votes.jsonl")
    rows[3]["label"] = str(1 - int(rows[3]["label"]))
    done = import_votes(studies, "pilot", write_votes(tmp_path / "votes.jsonl", rows))
    assert (done.votes, done.known) == (1, 23)
    after = study_votes(studies, "pilot")
    assert after["label"].to_list() == [row["label"] for row in rows]
    assert after["rater"].n_unique() == 3


def test_a_page_is_done_when_two_files_have_answered_all_of_it(studies: Studies, tmp_path: Path) -> None:
    new_study(tmp_path / "store.db", "marks", 2, question="grade", source="starter")
    page = studies.pages("marks")[0]
    for question, done in (("grade.fit", 0), ("grade.helpful", 1)):
        about = {"item": page.items[0], "target": page.targets[0], "question": question}
        votes = write_votes(tmp_path / "votes.jsonl", [about | {"rater": NAME, "label": "3"}])
        import_votes(studies, "marks", votes)
        assert study_overview(studies, "marks").raters[-1].done == done


def test_a_cell_that_a_spreadsheet_would_run_comes_in_as_it_was(studies: Studies, tmp_path: Path) -> None:
    item = study_votes(studies, "pilot")["item"][0]
    rows = [{"item": item, "rater": "ana", "label": "0", "note": "=1+1"}]
    import_votes(studies, "copy", write_votes(tmp_path / "votes.jsonl", rows))
    export_study(studies, "copy", tmp_path / "out", "csv")
    assert "'=1+1" in (tmp_path / "out" / "votes.csv").read_text()
    import_votes(studies, "pilot", tmp_path / "out" / "votes.csv")
    assert study_votes(studies, "pilot")["note"].drop_nulls().to_list() == ["=1+1"]


def test_raters_from_elsewhere_count_where_they_voted_and_get_no_pages(
    studies: Studies, tmp_path: Path
) -> None:
    for seat in range(3):
        studies.take("copy", seat, None, {})
    item = studies.pages("copy")[0].id
    rows = [{"item": item, "rater": name, "label": "0"} for name in ("ana", "ben")]
    import_votes(studies, "copy", write_votes(tmp_path / "votes.jsonl", rows))
    studies.extend("copy", 4)
    planned = Counter(one.page for one in studies.assigned("copy"))
    assert planned.pop(item) == 5, "three were to see it, two did elsewhere, and nobody else is to"
    assert set(planned.values()) == {3}
    elsewhere = [seat for seat in studies.seats("copy") if seat.external]
    assert [seat.state for seat in elsewhere] == [RaterState.DONE] * 2
    assert [len(studies.assigned("copy", seat.seat)) for seat in elsewhere] == [1, 1]
