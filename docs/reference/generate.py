"""Writes what the documentation takes from the code: the JSON Schemas of all records, and the list of commands.

With --check it writes nothing and fails if a file differs from the code.
"""

import inspect
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from typer.core import TyperGroup
from typer.main import get_command

from personafit.benchmarks.answers import AnswerRow
from personafit.benchmarks.benchmark import BenchmarkInfo
from personafit.cli.app import app
from personafit.cli.lazy import LazyCommand
from personafit.people import Attribute, Conversation, Memory, Person, Task
from personafit.store import Ask, Item, Judgment, Product, RaterRecord

HERE = Path(__file__).parent
SCHEMAS = HERE.parent / "schema"
COMMANDS = HERE / "commands.md"
WIDEST = 110  # characters of a command on one line
OPENING = """# Commands

Every command with its options, generated from the code by `make schema`. `personafit COMMAND --help` prints the same. Options marked with * are required; those marked with + can be repeated.
"""
RECORDS: dict[str, type[BaseModel]] = {
    "answer-log": AnswerRow,
    "ask": Ask,
    "attribute": Attribute,
    "benchmark": BenchmarkInfo,
    "conversation": Conversation,
    "item": Item,
    "judgment": Judgment,
    "memory": Memory,
    "person": Person,
    "product": Product,
    "rater": RaterRecord,
    "task": Task,
}


def schema(model: type[BaseModel]) -> str:
    """Render the schema of a record as its file holds it."""
    return json.dumps(model.model_json_schema(), indent=2, ensure_ascii=False) + "\n"


def commands(group: TyperGroup, above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every command below a group with its full name, in the order of `--help`."""
    for name, found in group.commands.items():
        command: Any = found.load() if isinstance(found, LazyCommand) else found
        if isinstance(command, TyperGroup):
            yield from commands(command, f"{above}{name} ")
        elif not command.hidden:
            yield f"{above}{name}", command


def cell(text: str) -> str:
    """Make Markdown safe for a table cell: one line, and no bar that would end the cell."""
    line = " ".join(text.split()).replace("<", "&lt;")
    coded = re.sub(
        r"`([^`]*\|[^`]*)`", r"<code>\1</code>", line
    )  # in a code span an entity would show as it is
    return coded.replace("|", "&#124;")


def folded(line: str) -> str:
    """Break a long command before an option."""
    parts, lines = line.split(" --"), [""]
    for part in (parts[0], *(f" --{rest}" for rest in parts[1:])):
        if len(lines[-1]) + len(part) > WIDEST:
            lines += ["   "]
        lines[-1] += part
    return " \\\n".join(lines)


def option_rows(command: Any) -> Iterator[str]:
    """Yield a table row for each option of a command but `--help`."""
    for parameter in command.params:
        if parameter.param_type_name != "option" or parameter.hidden or parameter.name == "help":
            continue
        takes = f" {parameter.metavar}" if parameter.metavar else ""
        names = ", ".join(cell(f"`{name}{takes}`") for name in (*parameter.opts, *parameter.secondary_opts))
        mark = "*" if parameter.required else "+" if parameter.multiple else ""
        yield f"| {names}{mark} | {cell(parameter.help or '')} |"


def command_section(name: str, command: Any) -> str:
    """Render one command: usage, description, examples and options."""
    arguments = [
        parameter.metavar or parameter.name.upper()
        for parameter in command.params
        if parameter.param_type_name == "argument"
    ]
    told, *examples = re.split(r"\*\*Examples?\*\*", inspect.cleandoc(command.help or ""), maxsplit=1)
    # Joined to one line each: in the source a paragraph is broken where the code's margin is.
    paragraphs = [" ".join(part.split()) for part in told.split("\n\n") if part.strip()]
    lines = [f"## {name}", "", "```", " ".join(["personafit", name, *arguments, "[OPTIONS]"]), "```", ""]
    for paragraph in paragraphs:
        lines += [paragraph.replace("<", "&lt;"), ""]
    shown = [line.strip() for line in "".join(examples).splitlines() if line.strip()]
    if shown:
        lines += ["```bash", *map(folded, shown), "```", ""]
    rows = list(option_rows(command))
    if rows:
        lines += ["| option | what it does |", "|---|---|", *rows, ""]
    return "\n".join(lines)


def files() -> dict[Path, str]:
    """Map every generated file to its text."""
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    sections = [command_section(name, command) for name, command in commands(group)]
    found = {SCHEMAS / f"{name}.json": schema(model) for name, model in RECORDS.items()}
    return {**found, COMMANDS: "\n".join([OPENING, *sections])}


def main() -> int:
    """Write the files, or check them."""
    made = files()
    if "--check" not in sys.argv:
        for path, text in made.items():
            path.write_text(text, encoding="utf-8")
        return 0
    stale = [path for path, text in made.items() if not path.is_file() or path.read_text("utf-8") != text]
    stale += [path for path in SCHEMAS.glob("*.json") if path not in made]
    if stale:
        names = ", ".join(path.relative_to(HERE.parent).as_posix() for path in stale)
        print(f"docs have drifted from the code ({names}): run `make schema`.")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
