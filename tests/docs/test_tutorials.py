"""The tutorials do what they say: every file is written, every command run, every line of output shown was printed."""

from pathlib import Path

import pytest

from tests.docs.pages import Command, carry_out, missing

TUTORIALS = sorted((Path(__file__).parents[2] / "docs" / "tutorials").glob("*.md"))


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_runs_and_prints_what_it_shows(page: Path, tmp_path: Path) -> None:
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
