"""Small builds for tests: a scripted strong writer in a file of its own, configs, and the line run inside this process."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from personafit.build import Built, build, read_config
from personafit.engine import Silence

# It does what each prompt asks, tells nobody apart but by name, and notes every call in a file.
STRONG = """
import hashlib, os, re, signal
from pathlib import Path

HERE = Path(__file__).parent

def own(asked):
    return "".join(chr(97 + byte % 26) for byte in hashlib.sha256(asked.encode()).digest()[:6])

async def answer(messages):
    with (HERE / "calls.txt").open("a") as file:
        file.write(messages[-1]["content"].replace("\\n", " ")[:60] + "\\n")
    if os.environ.get("DIE_AT") and len((HERE / "calls.txt").read_text().splitlines()) >= int(os.environ["DIE_AT"]):
        os.kill(os.getpid(), signal.SIGKILL)
    asked = messages[1 if messages[0]["role"] == "system" else 0]["content"]
    if "one letter" in asked or "一个字母" in asked:
        return os.environ.get("VERDICT", "A")
    if "numbers, separated" in asked:
        return ", ".join(str(n) for n in range(1, int(re.search(r"Answer with (\\d+) numbers", asked)[1]) + 1))
    if "[2, 5]" in asked:
        count = int(re.search(r"(?:Give |给出)(\\d+)", asked)[1])
        said = "Likes to plan things well ahead of time, number {} of {}" if "Give" in asked else "凡事喜欢提前做好安排，第{}条，{}"
        return "\\n".join(f"{n}. {said.format(n, own(asked))} [{n}]" for n in range(1, count + 1))
    if "things this person posted" in asked or "打给别人的" in asked:
        count = int(re.search(r"(?:Write |打给别人的)(\\d+)", asked)[1])
        said = "Bought a second-hand bicycle pump, number {} of {}" if "Write" in asked else "买了一个二手的自行车打气筒，第{}个，{}"
        return "\\n".join(f"{n}. {said.format(n, own(asked))}" for n in range(1, count + 1))
    points = asked.rsplit("\\n\\n", 2)[1]
    end = lambda said: ", as everyone at home knows" if said.isascii() or "é" in said else "，家里人都知道"
    return "\\n".join(f"{line}{end(line.split(': ', 1)[1])}" for line in points.splitlines())
"""


@contextmanager
def own_writer(folder: Path) -> Iterator[None]:
    """Work in a folder, with the writer that is there and not that of another test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(str(folder))
        sys.modules.pop("strong_writer", None)
        yield
    sys.modules.pop("strong_writer", None)


def write_build(folder: Path, sections: str, build_section: str = 'languages = ["en", "zh"]') -> Path:
    """A config for the strong writer, beside the writer's own file."""
    (folder / "strong_writer.py").write_text(STRONG, encoding="utf-8")
    config = folder / "build.toml"
    models = '[models]\nwriter = "python:strong_writer:answer"\n'
    config.write_text(f"[build]\n{build_section}\n{models}\n{sections}", encoding="utf-8")
    return config


def run_build(config: Path, out: Path, redo: str | None = None, budget: float | None = None) -> Built:
    """The line inside this process; `redo` has a step done another time."""
    read = read_config(config)
    read.build.takes.update({redo: 1} if redo else {})
    return build(read, out, budget, Silence())


def calls(folder: Path) -> int:
    """How often the writer was asked."""
    path = folder / "calls.txt"
    return len(path.read_text(encoding="utf-8").splitlines()) if path.is_file() else 0


def lines(path: Path) -> list[dict[str, Any]]:
    """A JSONL file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
