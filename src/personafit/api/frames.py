"""Inputs of an evaluation in any form: a name, a path, a frame, rows, or a benchmark object."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from personafit._errors import UserError
from personafit.benchmarks import Benchmark, known_people, open_benchmark, open_log


def _is_benchmark(source: object) -> bool:
    return all(hasattr(source, name) for name in ("info", "items", "gold", "people", "products"))


def benchmark_of(source: Any, data: str | Path | None, seed: int) -> Benchmark:
    """Return the benchmark for rows, a frame or a file of them; `data` is a folder with the people they name by id."""
    if _is_benchmark(source):
        benchmark: Benchmark = source
        return benchmark
    if isinstance(source, str | Path):
        return open_log(Path(source), None if data is None else Path(data), seed)
    from personafit.benchmarks.rows import rows_benchmark

    return rows_benchmark(rows_of(source), known_people(data), seed)


def named_benchmark(made: Any, name: str) -> Benchmark:
    """Return the result of a function under `@benchmark` as a benchmark of that name."""
    if _is_benchmark(made):
        benchmark: Benchmark = made
        return benchmark
    if isinstance(made, str | Path):
        return open_benchmark(str(made))
    from personafit.benchmarks.rows import rows_benchmark

    opened = rows_benchmark(rows_of(made), name=name)
    opened.info = opened.info.model_copy(update={"name": name})
    return opened


def rows_of(source: Any) -> list[dict[str, Any]]:
    """Return the rows of a polars or pandas frame, of an Arrow table, or of any iterable of dictionaries."""
    if hasattr(source, "collect") and hasattr(source, "lazy"):  # a polars LazyFrame
        source = source.collect()
    for method in ("to_dicts", "to_pylist"):
        if callable(found := getattr(source, method, None)):
            return list(found())
    if hasattr(source, "notna") and hasattr(source, "to_dict"):
        if not source.columns.is_unique:
            twice = source.columns[source.columns.duplicated()][0]
            raise UserError(f"The frame has several columns called '{twice}'; rename or drop all but one.")
        source = source.astype(object).where(source.notna(), None).to_dict("records")
    if isinstance(source, Mapping | str | bytes) or not isinstance(source, Iterable):
        raise UserError(
            f"Rows are a polars or pandas frame, or a list of dictionaries, not {type(source).__name__}."
        )
    rows: Sequence[Any] = list(source)
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise UserError(f"Row {number} must be a dictionary, not {type(row).__name__}.")
    return [{str(name): value for name, value in row.items()} for row in rows]
