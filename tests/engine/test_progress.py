"""Progress without a terminal: a line for each lane."""

import re

import pytest

from personafit.engine import Bars


def test_without_a_terminal_each_lane_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with Bars() as progress:
        progress.begin("judge", 3)
        progress.begin("other", 2)
        for _ in range(3):
            progress.advance("judge", 1)
        progress.advance("judge", 0, "a note after the end")
        progress.advance("other", 1)
    lines = capsys.readouterr().err.splitlines()
    assert [re.sub(r"^\d\d:\d\d:\d\d  ", "", line) for line in lines] == ["judge 3/3", "other 1/2"]
