"""The command line within the test's own process: the same way in and out, without the start of an interpreter."""

import sys
from pathlib import Path

import pytest

from personafit.cli import main
from tests.faults.world import Command, sentences
from tests.store.conftest import _postgres, url  # noqa: F401  (fixtures, used by name)


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command line in a folder of its own, insist on its exit code, and return the sentences it said."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, code: int = 2) -> list[str]:
        monkeypatch.setattr(sys, "argv", ["personafit", *arguments])
        found: object = 0
        try:
            main()
        except SystemExit as left:
            found = left.code or 0
        captured = capsys.readouterr()
        assert found == code, captured.err
        return sentences(captured.err)

    return run
