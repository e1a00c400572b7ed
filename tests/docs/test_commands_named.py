"""Every command in the README and on the pages exists, with the options it is shown with."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from personafit.cli.app import app
from personafit.cli.lazy import LazyCommand

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(personafit [^`\n]+)`")


def shown(page: Path) -> list[str]:
    """Commands of a page: in its blocks, continued lines joined, and in its sentences."""
    text = page.read_text(encoding="utf-8")
    lines = [line for block in BLOCK.findall(text) for line in block.replace("\\\n", " ").splitlines()]
    parts = [part for line in lines for part in re.split(r"&&|\||;", line.removeprefix("$ ").split(" #")[0])]
    return [
        part.strip()
        for part in [*parts, *INLINE.findall(BLOCK.sub("", text))]
        if part.strip().startswith("personafit ")
    ]


def fault(line: str) -> str | None:
    """What is wrong with a command, if anything."""
    words = shlex.split(re.sub(r"\[[^\]]*\]|…|\.\.\.", " ", line).replace("'", ""))[1:]
    command: Any = get_command(app)
    while isinstance(command, TyperGroup):
        if not words or words[0].startswith("-"):
            return None
        name = words.pop(0)
        if "|" in name or name.isupper():
            return None
        found = command.commands.get(name)
        if found is None:
            return f"there is no command '{name}'"
        command = found.load() if isinstance(found, LazyCommand) else found
    known = {
        option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)
    }
    unknown = [
        word for word in words if word.startswith("--") and word.split("=")[0] not in known | {"--help"}
    ]
    return f"'{command.name}' has no {', '.join(unknown)}" if unknown else None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_on_the_page_exists(page: Path) -> None:
    faults = [f"{line}: {wrong}" for line in shown(page) if (wrong := fault(line))]
    assert not faults, "\n".join(faults)


def test_a_wrong_command_is_found() -> None:
    assert fault("personafit run starter --rater rule:length") is None
    assert fault("personafit run starter --rator rule:length") == "'run' has no --rator"
    assert fault("personafit trian reward") == "there is no command 'trian'"
    assert len(shown(ROOT / "docs" / "evaluate.md")) > 10
