"""The notebooks of the documentation are executed, each in a kernel and a folder of its own; nothing of a run is kept in them."""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(path: Path, tmp_path: Path) -> None:
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    assert not any(cell.get("outputs") for cell in book.cells)
    done = NotebookClient(book, timeout=240, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [cell.outputs for cell in done.cells if cell.cell_type == "code"]
    text = str(shown)
    assert "SubjectVerdict(subject='shares_words', metric='lift'" in text
    assert re.search(r"'\(0, \d{3,}\)'", text)  # nothing was asked twice
    assert "text/html" in text
    assert (tmp_path / "report.html").is_file()


def test_there_is_a_notebook() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["first-steps"]
