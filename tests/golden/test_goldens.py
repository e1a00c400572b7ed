"""Every kind of run gives the results that were recorded, from the same asks under the same job keys."""

from pathlib import Path

import pytest

from personafit import Store
from tests.golden.__main__ import HERE, read_golden
from tests.golden.cases import CASES, Case
from tests.golden.others import OTHERS, carry_out_other
from tests.golden.server import ScriptedServer
from tests.golden.taking import Numbers, Row, asks_of, carry_out, differences, results_of

SHOWN = 12  # differences that a failure lists


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_results_asks_and_keys_are_as_recorded(case: Case, tmp_path: Path) -> None:
    if case.missing is not None:
        pytest.skip(
            f"{case.name} is compared where ../shared/data/{case.missing.name} lies beside the checkout."
        )
    with ScriptedServer(), Store(tmp_path / "store.db") as store:
        finished = carry_out(case, store, tmp_path / "data")
        asks, results = asks_of(store), results_of(store, finished)
    _compare(read_golden("asks", case.name), asks)
    wrong = differences(read_golden("results", case.name), results)
    assert not wrong, f"{len(wrong)} results differ:\n" + "\n".join(wrong[:SHOWN])


@pytest.mark.parametrize("name", OTHERS)
def test_asks_and_keys_of_other_commands_are_as_recorded(name: str, tmp_path: Path) -> None:
    with ScriptedServer(), Store(carry_out_other(name, tmp_path / "data")) as store:
        _compare(read_golden("asks", name), asks_of(store))


def _compare(recorded: dict[str, Row], asks: dict[str, Row]) -> None:
    assert sorted(asks) == sorted(recorded), "other lanes of asks"
    for lane, found in asks.items():
        assert found == recorded[lane], f"{lane}: other asks, keys or judgments"


def test_every_golden_has_a_case() -> None:
    names = {case.name for case in CASES}
    assert {path.stem for path in (HERE / "results").glob("*.json")} == names
    assert {path.stem for path in (HERE / "asks").glob("*.json")} == names | set(OTHERS)


def test_a_moved_figure_is_seen() -> None:
    def numbers(*accuracy: float | int | None) -> Numbers:
        return {"rater a": {"accuracy": list(accuracy), "lift": [None, None, None, 1.0, 0, 0]}}

    golden = numbers(0.5, 0.4, 0.6, 1.0, 10, 5)
    assert not differences(golden, numbers(0.5 + 1e-12, 0.4, 0.6, 1.0, 10, 5))
    assert len(differences(golden, numbers(0.5 + 1e-8, 0.4, 0.6, 1.0, 10, 5))) == 1
    assert len(differences(golden, numbers(0.5, None, 0.6, 1.0, 10, 5))) == 1
    assert len(differences(golden, numbers(0.5, 0.4, 0.6, 1.0, 11, 5))) == 1
    assert len(differences(golden, {})) == 2
