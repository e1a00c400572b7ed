"""Record goldens anew: `python -m tests.golden --record [results|asks|wordings] [CASE ...]`.

Only in a commit marked [scores] that names the figures that move and why: whatever is recorded here is what later
versions are held to. Without names every case whose data is there is recorded.
"""

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from personafit import Store
from tests.golden.cases import CASES
from tests.golden.others import OTHERS, carry_out_other
from tests.golden.server import ScriptedServer
from tests.golden.taking import asks_of, carry_out, results_of
from tests.golden.wordings import entries, unversioned

HERE = Path(__file__).parent
WHAT = ("results", "asks")


def golden_path(what: str, case: str) -> Path:
    """The file of a golden."""
    return HERE / what / f"{case}.json"


def read_golden(what: str, case: str) -> Any:
    """A golden as it was recorded."""
    return orjson.loads(golden_path(what, case).read_bytes())


def write_golden(what: str, case: str, value: dict[str, dict[str, Any]]) -> None:
    """Write a golden, an entry a line, so that a change can be read."""
    path = golden_path(what, case)
    path.parent.mkdir(exist_ok=True)
    blocks = []
    for name, kept in value.items():
        lines = ",\n".join(f"  {_json(key)}: {_json(entry)}" for key, entry in kept.items())
        blocks.append(f" {_json(name)}: {{\n{lines}\n }}")
    path.write_text("{\n" + ",\n".join(blocks) + "\n}\n", encoding="utf-8")


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


def record_wordings() -> None:
    """Take down new wordings and new versions; other words under an old version are refused."""
    path, now = HERE / "wordings.json", entries()
    before = orjson.loads(path.read_bytes()) if path.is_file() else {}
    if wrong := unversioned(before, now):
        raise SystemExit("\n".join(wrong))
    path.write_bytes(orjson.dumps(now, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def main() -> None:
    """Record what the command line names."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument(
        "--record",
        nargs="*",
        required=True,
        metavar="WHAT",
        help="results, asks, wordings, or names of cases",
    )
    named = parser.parse_args().record
    if "wordings" in named:
        record_wordings()
        named.remove("wordings")
        if not named:
            return
    whats = [what for what in WHAT if what in named] or WHAT
    names = [name for name in named if name not in WHAT]
    for name in OTHERS:
        if "asks" in whats and (name in names or not names):
            with (
                TemporaryDirectory() as folder,
                ScriptedServer(),
                Store(carry_out_other(name, Path(folder))) as store,
            ):
                write_golden("asks", name, asks_of(store))
    cases = [case for case in CASES if case.name in names or not names]
    for case in cases:
        if case.missing is not None:
            print(f"{case.name}: left as it is, {case.missing.name} is not in ../shared/data")
            continue
        started = time.monotonic()
        with (
            TemporaryDirectory() as folder,
            ScriptedServer() as server,
            Store(Path(folder) / "store.db") as store,
        ):
            finished = carry_out(case, store, Path(folder) / "data")
            if "results" in whats:
                write_golden("results", case.name, results_of(store, finished))
            if "asks" in whats:
                write_golden("asks", case.name, asks_of(store))
            print(f"{case.name}: {server.asked} calls, {time.monotonic() - started:.1f} s")


if __name__ == "__main__":
    main()
