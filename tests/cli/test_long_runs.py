"""A run that takes long to read is announced, on standard error, and any other is not."""

from pathlib import Path

import pytest

from personafit import Store
from personafit.api.places import LONG, find_run


@pytest.mark.parametrize(
    ("planned", "said"), [(1_000_000, "Reading 1,000,000 judgments of long-1"), (LONG, "")]
)
def test_a_long_run_is_announced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], planned: int, said: str
) -> None:
    with Store(tmp_path / "store.db") as store:
        store.begin_run("long-1", "data@1", {}, planned)
        assert find_run(store, "last").planned == planned
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == (f"{said} ...\n" if said else "")
