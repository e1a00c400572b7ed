"""Makes the reports of the gallery: runs the commands of index.md in an empty folder and keeps what they write.

The commands stand on the page and nowhere else, so that it says how each report was made. The Python files they name are
those of evaluate.md and `players.py`, the stand-ins for models.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
DOCS = HERE.parent
REPORTS = HERE / "reports"
BLOCK = re.compile(r'^```(\w+) title="([^"]+)"\n(.*?)^```', re.MULTILINE | re.DOTALL)
LARGEST = 400_000  # bytes: a gallery is for looking, not for keeping data


def blocks(page: Path, language: str) -> dict[str, str]:
    """The titled blocks of a page in one language."""
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return {title: body for kind, title, body in found if kind == language}


def make(name: str, commands: str, folder: Path) -> None:
    """Run the commands of one block; the folder it is named for must then hold one report."""
    for line in re.sub(r"\\\n\s*", "", commands).strip().splitlines():
        program, *arguments = shlex.split(line)
        if program != "personafit":
            raise SystemExit(f"docs/gallery/index.md, block {name}: '{line}' is no personafit command.")
        ran = subprocess.run(
            [sys.executable, "-m", program, *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode:
            raise SystemExit(f"docs/gallery/index.md, block {name}: {line}\n{ran.stdout}{ran.stderr}")
    (report,) = (folder / name).glob("*.html")
    if report.stat().st_size > LARGEST:
        raise SystemExit(f"The report {name} has {report.stat().st_size:,} bytes; choose fewer items.")
    shutil.copyfile(report, REPORTS / f"{name}.html")


def main() -> int:
    """Make all of them."""
    shutil.rmtree(REPORTS, ignore_errors=True)
    REPORTS.mkdir()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for part in ("docs", "src"):
            (folder / part).symlink_to(DOCS.parent / part)
        shutil.copyfile(HERE / "players.py", folder / "players.py")
        for title, body in blocks(DOCS / "evaluate.md", "python").items():
            (folder / title).write_text(body, encoding="utf-8")
        for name, commands in blocks(HERE / "index.md", "bash").items():
            make(name, commands, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
