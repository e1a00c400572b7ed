"""Pages that are run: their files are written, their commands carried out, and what they show must be what is printed."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.helpers import python_path

BLOCK = re.compile(r'^```(\w+)(?: title="?([^"\n]+)"?)?\n(.*?)^```', re.MULTILINE | re.DOTALL)
ANYTHING = "..."


@dataclass
class Command:
    """One line after `$`, and the lines the page shows below it."""

    line: str
    shown: list[str] = field(default_factory=list)


def commands(block: str) -> list[Command]:
    """The commands of a console block; a backslash continues one."""
    found: list[Command] = []
    for line in re.sub(r"\\\n\s*", "", block).splitlines():
        if line.startswith("$ "):
            found.append(Command(line[2:]))
        elif line.strip():
            assert found, f"output before any command: {line}"
            found[-1].shown.append(line)
    return found


def carry_out(page: Path, folder: Path) -> Iterator[tuple[Command, str]]:
    """Write the files of a page into a folder and run its commands there, in order; each with all that it printed."""
    environment = {
        **os.environ,
        "COLUMNS": "150",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": python_path(folder),
    }
    for language, title, body in BLOCK.findall(page.read_text(encoding="utf-8")):
        if title:
            (folder / title).write_text(body, encoding="utf-8")
        if language != "console":
            continue
        for command in commands(body):
            ran = subprocess.run(
                ["bash", "-c", command.line],
                cwd=folder,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            assert "Traceback" not in ran.stdout, ran.stdout
            assert ran.returncode == 0, f"$ {command.line}\n{ran.stdout}"
            yield command, ran.stdout


def missing(command: Command, printed: str) -> str | None:
    """The first shown line that was not printed after the ones before it; dots stand for anything."""
    lines = iter([" ".join(line.split()) for line in printed.splitlines()])
    for shown in command.shown:
        pattern = ".*".join(re.escape(part) for part in " ".join(shown.split()).split(ANYTHING))
        if shown.strip() != ANYTHING and not any(re.fullmatch(pattern, line) for line in lines):
            return shown
    return None
