"""Prints how many modules and lines of ours `personafit run starter --rater rule:length` loads, room by room.

Somebody who wants to know what a run does has to read no more than this.
"""

import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

COMMAND = ("run", "starter", "--rater", "rule:length")
RUN = """
import sys
from personafit.cli import main

try:
    main()
finally:
    files = [getattr(module, "__file__", None) for name, module in sys.modules.items() if name.split(".")[0] == "personafit"]
    sys.stderr.write("\\nLOADED\\n" + "\\n".join(file for file in files if file))
"""


def loaded() -> list[Path]:
    """The files of ours that a run in a folder of its own has imported when it ends."""
    with TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", RUN, *COMMAND, "--store", "store.db", "--out", "out"],
            cwd=folder,
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
    said, _, files = done.stderr.partition("\nLOADED\n")
    if done.returncode:
        raise SystemExit(f"`personafit {' '.join(COMMAND)}` ended with {done.returncode}:\n{said}")
    return [Path(file) for file in files.splitlines()]


def main() -> int:
    """Print the counts, the largest room first."""
    modules: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for path in loaded():
        inner = path.parts[len(path.parts) - path.parts[::-1].index("personafit") :]
        room = inner[0] if len(inner) > 1 else "personafit"
        modules[room] += 1
        lines[room] += len(path.read_text(encoding="utf-8").splitlines())
    print(
        f"`personafit {' '.join(COMMAND)}` loads {modules.total():,} modules of ours with {lines.total():,} lines:"
    )
    print(", ".join(f"{room} {modules[room]} / {count:,}" for room, count in lines.most_common()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
