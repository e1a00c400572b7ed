"""Runs beside each other have names of their own, as short as may be."""

from personafit.reports.naming import NamedRun, apart


def test_a_name_is_as_long_as_it_takes_to_tell_runs_apart() -> None:
    runs = [
        NamedRun("lamp", "1", "lamp-a"),
        NamedRun("rewardbench", "1", "rewardbench-b"),
        NamedRun("rewardbench", "2", "rewardbench-c"),
        NamedRun("starter", "2", "starter-d"),
        NamedRun("starter", "2", "starter-e"),
        NamedRun("starter", "1", "starter-f"),
    ]
    assert apart(runs) == ["lamp", "rewardbench 1", "rewardbench 2", "starter-d", "starter-e", "starter 1"]
    assert apart(runs[:2]) == ["lamp", "rewardbench"]
    assert apart([]) == []
