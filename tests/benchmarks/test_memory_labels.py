"""Which memories bear on which items: the starter set's labels, the command that uses them, and faults in such a file."""

import shutil
from pathlib import Path

import pytest

from personafit import UserError
from personafit.benchmarks.memory_labels import FILE, LabelledMemories
from personafit.benchmarks.starter import FOLDER
from personafit.reports.pieces import Grid
from personafit.reports.retrieval import analyze_retrieval
from tests.scripted import write_lines


def test_every_specific_choice_of_the_starter_set_is_labelled() -> None:
    labelled = LabelledMemories("starter")
    languages = [labelled.people[item.person].language for item, _ in labelled.labels]
    assert len(labelled.labels) == 144
    assert (languages.count("en"), languages.count("zh")) == (73, 71)
    assert all(item.slices["half"] == "specific" for item, _ in labelled.labels)
    assert sum(not relevant for _, relevant in labelled.labels) == 11


def test_vectors_find_more_than_words_and_more_than_chance(capsys: pytest.CaptureFixture[str]) -> None:
    found = analyze_retrieval("starter")
    rows = {tuple(one.slice.values()): one for one in found.figures if one.metric == "recall"}
    (grid,) = found.part().lead
    assert isinstance(grid, Grid)
    blind = {tuple(row.names): row.cells[1].sort or 0.0 for row in grid.rows}
    for language in ("en", "zh"):
        dense = rows["dense", language, "3"].low or 0.0
        assert dense > (rows["bm25", language, "3"].high or 1.0)
        assert dense > blind["dense", language, "3"]
    found.print()
    assert "precision" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"item": "nobody", "relevant": []}, "line 2, field 'item': there is no item 'nobody'"),
        (
            {"item": "starter/nadia/sleep", "relevant": ["owen-m1"]},
            "line 2, field 'relevant': nadia has no memory 'owen-m1'",
        ),
        ({"item": "starter/nadia/leaving-do", "relevant": []}, "occurs twice"),
        ({"item": "starter/nadia/sleep"}, "field 'relevant'"),
    ],
)
def test_a_fault_names_file_line_and_field(row: dict[str, object], says: str, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    shutil.copytree(FOLDER, folder)
    write_lines(folder / FILE, [{"item": "starter/nadia/leaving-do", "relevant": ["nadia-m2"]}, row])
    with pytest.raises(UserError, match=says):
        LabelledMemories(str(folder))


def test_a_folder_without_labels_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not say which memories bear on which items"):
        LabelledMemories(str(tmp_path))
