"""The notebooks of the documentation are executed, each in a kernel and a folder of its own; nothing of a run is kept in them."""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

DOCS = Path(__file__).parents[2] / "docs"
NOTEBOOKS = DOCS / "notebooks"


def outputs(name: str, folder: Path) -> str:
    book = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    nbformat.validate(book)
    assert not any(cell.get("outputs") for cell in book.cells)
    done = NotebookClient(book, timeout=240, resources={"metadata": {"path": str(folder)}}).execute()
    return str([cell.outputs for cell in done.cells if cell.cell_type == "code"])


def test_first_steps_run_from_top_to_bottom(tmp_path: Path) -> None:
    text = outputs("first-steps", tmp_path)
    assert re.search(r"<p>shares_words chooses the right answer in .*<svg .*<table>", text, re.DOTALL)
    assert re.search(r"'\(0, \d{3,}\)'", text)  # nothing was asked twice
    assert "text/html" in text
    assert (tmp_path / "report.html").is_file()


@pytest.mark.slow
def test_the_papers_questions_are_answered_from_recordings(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "recordings").symlink_to(DOCS / "recordings")
    text = outputs("takeaways", tmp_path)
    assert (
        "are not distinguishable: they differ by 11.0 points" in text
    )  # 135 million parameters against 1.5 billion
    assert "knowing the right person adds 22.6 points" in text
    assert "by 11.8 points of accuracy" in text  # the profile against retrieval
    assert "by 16.0 points of accuracy" in text  # retrieval against nothing
    assert (tmp_path / "takeaways.html").is_file()


def test_every_notebook_is_tested() -> None:
    assert sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")) == ["first-steps", "takeaways"]
