"""Pages with console blocks do what they say: files are written, commands run, and every line of output shown was printed."""

from pathlib import Path

import pytest

from tests.docs.pages import Command, carry_out, missing

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS / name for name in ("evaluate.md", "human-studies.md", "guides/training.md")]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_runs_and_prints_what_it_shows(page: Path, tmp_path: Path) -> None:
    ran = 0
    for command, printed in carry_out(page, tmp_path):
        ran += 1
        line = missing(command, printed)
        assert line is None, f"$ {command.line}\ndoes not print\n{line}\nbut\n{printed}"
    assert ran >= 3, f"{page.name} runs {ran} commands"


def test_a_line_that_is_not_printed_is_found() -> None:
    printed = "one\n  two   three\nfour 4.25\n"
    assert missing(Command("x", ["one", "...", "two three", "four ..."]), printed) is None
    assert missing(Command("x", ["two three", "one"]), printed) == "one"
    assert missing(Command("x", ["two"]), printed) == "two"
