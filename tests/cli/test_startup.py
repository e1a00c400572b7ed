"""What is imported before a command is known, and completion in the shells people use."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from personafit.cli.app import app
from personafit.cli.lazy import LazyCommand, LazyGroup
from tests.conftest import Command

HEAVY = ("aiohttp", "matplotlib", "numpy", "polars", "pydantic", "scipy", "sqlalchemy")


def python(code: str, **environment: str) -> str:
    """What a fresh process prints."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_help_and_version_import_nothing_heavy(option: str) -> None:
    code = f"""
import sys
from personafit.cli import main
sys.argv = ["personafit", {option!r}]
try:
    main()
except SystemExit as end:
    assert not end.code
print("IMPORTED", *sorted(sys.modules))
"""
    printed = python(code)
    assert "personafit" in printed.split("IMPORTED")[0]
    imported = {name.split(".")[0] for name in printed.split("IMPORTED")[1].split()}
    assert "typer" in imported
    assert not imported & set(HEAVY)


def test_a_run_of_choices_imports_only_what_it_needs(tmp_path: Path) -> None:
    """What the command loads, and then a rule on the starter set; docs/imports/loaded.py counts it in `make check`."""
    late = {"aiohttp", "matplotlib", "scipy.optimize", "scipy.stats", "sklearn", "torch"}
    others = (
        *(
            "benchmarks.hub",
            "benchmarks.personalens",
            "benchmarks.recentering",
            "contexts.retrieval",
            "engine.ray",
        ),
        *("build", "extract", "label", "models.local", "models.openai", "raters.counting"),
        *("reports.audit", "reports.dialogue", "reports.relevance", "simulate", "train"),
    )
    code = (
        f"import sys\nimport personafit.cli.run\nprint('LATE', sys.modules.keys() & {late!r})\n"
        "from personafit.cli import main\n"
        "sys.argv = ['personafit', 'run', 'starter', '--rater', 'rule:length', '--limit', '5', '--store', 'store.db', '--out', 'out']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        f"print('IMPORTED', sys.modules.keys() & {{f'personafit.{{name}}' for name in {others!r}}})"
    )
    printed = python(f"import os\nos.chdir({str(tmp_path)!r})\n{code}")
    assert printed.startswith("LATE set()\n")
    assert printed.endswith("IMPORTED set()\n")


def test_every_registered_command_is_there() -> None:
    group = app.info.cls
    assert isinstance(group, type)
    assert issubclass(group, LazyGroup)
    names = [name for name, _, _ in group.registered]
    assert len(names) == len(set(names))
    for name, target, line in group.registered:
        command = LazyCommand(name, target, line).load()
        assert command.name == name
        assert command.help, f"{target} has no help of its own"
        assert line.endswith(".")


def test_no_help_cuts_a_name_or_shows_a_type_beside_a_flag() -> None:
    code = """
from typer.main import get_command
from typer.testing import CliRunner
from docs.reference.generate import commands
from personafit.cli.app import app

groups = [[], ["label"], ["train"], ["data"]]
for command in groups + [name.split() for name, _ in commands(get_command(app))]:
    for line in CliRunner().invoke(app, [*command, "--help"]).output.splitlines():
        assert len(line) <= 80 and "…" not in line and "<bool>" not in line, (command, line)
"""
    root = str(Path(__file__).parents[2])
    python(code, COLUMNS="80", TERMINAL_WIDTH="80", PYTHONPATH=os.pathsep.join([root, *sys.path]))


def test_the_help_of_run_fits_one_screen() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "personafit", "run", "--help"],
        env={**os.environ, "COLUMNS": "100", "TERMINAL_WIDTH": "100"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.rstrip()
    assert len(shown.splitlines()) < 50
    assert "…" not in shown
    for heading in ("What to evaluate", "Sampling", "Cost and resuming", "Gate and output"):
        assert f"─ {heading} ─" in shown


def test_an_unknown_command_is_named(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "personafit", "judgee"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 2
    assert "judgee" in done.stderr
    assert "Traceback" not in done.stderr


def asked(shell: str, typed: str) -> dict[str, str]:
    """What a shell's completion script sets."""
    words = {
        "bash": {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": typed},
        "fish": {"_TYPER_COMPLETE_ARGS": typed, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }[shell]
    return {**words, "_PERSONAFIT_COMPLETE": f"complete_{shell}"}


@pytest.mark.parametrize(
    ("shell", "typed", "offered"),
    [
        ("bash", "personafit run personaf", "personafeedback"),
        ("zsh", "personafit data ch", "check"),
        ("fish", "personafit re", "report"),
    ],
)
def test_a_completion_is_answered(
    personafit: Command,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    shell: str,
    typed: str,
    offered: str,
) -> None:
    for name, value in asked(shell, typed).items():
        monkeypatch.setenv(name, value)
    assert offered in personafit().out
    assert list(tmp_path.iterdir()) == []


def test_a_completion_is_answered_by_the_real_command(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "personafit"],
        env={**os.environ, **asked("bash", "personafit run --ra")},
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert "--rater" in done.stdout, done.stderr
    assert list(tmp_path.iterdir()) == []
