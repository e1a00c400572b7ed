"""Draws the way of a run through the files of the package, traced.

Three commands are carried out with every function call noted: choices, dialogues and attributes. A file that all three enter is
shared; what one enters alone should be its kind and its reader. Reports are left out: each kind still has a page of its own.
"""

import subprocess
import sys
from collections import defaultdict
from html import escape
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

FOLDER = Path(__file__).parent
DRAWING = FOLDER / "walk.svg"

TALKERS = """
def user(messages):
    return "Please.\\n[CONTINUE]" if len(messages) < 3 else "Thanks.\\n[SATISFIED]"

def system(messages):
    return "Done."

def judge(shown):
    return [shown.question.low] * len(shown.parts) if shown.question.by_turn else shown.question.low
"""
COMMANDS = {
    "run starter": ["starter", "--rater", "rule:length", "--limit", "8"],
    "run personalens": [
        *(
            "personalens",
            "--data",
            "starter",
            "--system",
            "python:talkers:system",
            "--user",
            "python:talkers:user",
        ),
        *("--rater", "python:talkers:judge", "--limit", "2"),
    ],
    "run recentering": ["recentering", "--data", "starter", "--rater", "rule:overlap", "--limit", "20"],
}
TRACE = """
import sys, threading
from pathlib import Path

entered = set()

def note(frame, event, _):
    if event == "call" and frame.f_code.co_flags & 1:  # a function, not the body of a module or class
        entered.add(frame.f_code.co_filename)

import personafit
root = Path(personafit.__file__).parent
from personafit.cli import main

threading.setprofile(note)
sys.setprofile(note)
try:
    main()
finally:
    sys.setprofile(None)
    inside = sorted(str(Path(name).relative_to(root)) for name in entered if name.startswith(str(root)))
    sys.stderr.write("\\nENTERED\\n" + "\\n".join(inside))
"""
LEFT_OUT = (
    "reports",
    "statistics",
    "cli/app.py",
    "cli/lazy.py",
    "cli/common.py",
    "api/run.py",
)
STEPS = (
    "cli",
    "api",
    "run.py",
    "benchmarks",
    "kinds",
    "contexts",
    "simulate",
    "raters",
    "items",
    "engine",
    "models",
    "people",
    "store",
)

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #20262e }
  .title { font-weight: 600 }
  .room { fill: #f1f4f7; stroke: #68717d }
  .own { fill: #2a5f8f }
  .way { stroke: #68717d; fill: none; marker-end: url(#head) }
  .head { fill: #68717d }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6e8eb } .room { fill: #2a3038; stroke: #9aa3ae } .own { fill: #8fbce6 } .way { stroke: #9aa3ae } .head { fill: #9aa3ae }
  }
"""
ROOM, COLUMN, LINE, TOP = 150, 235, 18, 58


def entered(arguments: list[str]) -> set[str]:
    """The files whose functions a run calls, from the command to the stored judgments."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "talkers.py").write_text(TALKERS, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-c", TRACE, "run", *arguments, "--store", "store.db", "--out", "out", "--json"],
            cwd=folder,
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
    said, _, files = done.stderr.partition("\nENTERED\n")
    if done.returncode not in (0, 1):  # 1: too few people for a bar that has nothing to do with the way
        raise SystemExit(f"`personafit run {' '.join(arguments)}` ended with {done.returncode}:\n{said}")
    return {name for name in files.splitlines() if not name.startswith(("_", *LEFT_OUT))}


def by_room(files: set[str]) -> dict[str, list[str]]:
    """Files by the room they are in, in the order of a run."""
    rooms: dict[str, list[str]] = defaultdict(list)
    for name in sorted(files):
        rooms[name.partition("/")[0]].append(name.partition("/")[2].removesuffix(".py") or name)
    return {room: rooms[room] for room in STEPS if room in rooms} | dict(rooms)


def drawn(ways: dict[str, set[str]]) -> str:
    """The rooms from top to bottom, how many of their files all three runs enter, and what each enters alone."""
    shared = set.intersection(*ways.values())
    rooms = by_room(set.union(*ways.values()))
    lines, y = [], TOP
    middle = []
    for room in rooms:
        together = by_room(shared).get(room, [])
        alone = {way: by_room(files - shared).get(room, []) for way, files in ways.items()}
        height = LINE * max(2, *(len(names) for names in alone.values())) + 12
        lines.append(f'<rect class="room" x="20" y="{y}" width="{ROOM}" height="38" rx="5"/>')
        lines.append(f'<text class="title" x="32" y="{y + 16}">{escape(room)}</text>')
        lines.append(
            f'<text x="32" y="{y + 32}">{len(together)} shared file{"" if len(together) == 1 else "s"}</text>'
        )
        for column, names in enumerate(alone.values()):
            for place, name in enumerate(names):
                x = ROOM + 50 + COLUMN * column
                lines.append(f'<text class="own" x="{x}" y="{y + 16 + LINE * place}">{escape(name)}</text>')
        middle.append((y, y + 38))
        y += height + 12
    for (_, low), (high, _) in pairwise(middle):
        lines.append(f'<path class="way" d="M{20 + ROOM / 2:.0f} {low} L{20 + ROOM / 2:.0f} {high}"/>')
    heads = [
        f'<text class="title" x="{ROOM + 50 + COLUMN * column}" y="40">{escape(way)}: {len(files - shared)} of {len(files)}</text>'
        for column, (way, files) in enumerate(ways.items())
    ]
    title = f'<text class="title" x="20" y="20">{len(shared)} files are on the way of all three runs; the others:</text>'
    width = ROOM + 50 + COLUMN * len(ways)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y}" role="img">',
            "<title>The files that three kinds of run enter</title>",
            f"<style>{STYLE}</style>",
            '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            '<path class="head" d="M0 0 L8 4 L0 8 z"/></marker></defs>',
            title,
            *heads,
            *lines,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    DRAWING.write_text(drawn({way: entered(given) for way, given in COMMANDS.items()}), encoding="utf-8")
