"""A scripted strong model for the questions step, and builds with it."""

from pathlib import Path
from typing import Any

from tests.build.builds import STRONG, lines, write_build

# It asks something new each time; where its environment says so, it gives away, is stiff, or says the same.
ASKER = (
    STRONG
    + """
import zlib

others = answer
KNOWN = ("people ask an assistant something", "Somebody asks an assistant", "have asked an assistant", "one short question", "问助手：", "人们会问助手的", "简短问题")

async def answer(messages):
    asked = messages[1 if messages[0]["role"] == "system" else 0]["content"]
    said = reply(asked)
    if said is None:
        return await others(messages)
    with (HERE / "calls.txt").open("a", encoding="utf-8") as file:
        file.write(asked.replace("\\n", " ")[:60] + "\\n")
    return said

def reply(asked):
    wide = "助手" in asked or "简短问题" in asked
    number = zlib.crc32(asked.encode()) % 10**6
    if "could have asked just that" in asked or "真有人会这么问" in asked:
        return os.environ.get("CHECK", "A")
    if "open: a good answer" in asked or "A) 开放的" in asked:
        return "B" if "secretly closed" in asked else "A"
    if "Could it be theirs" in asked or "可能是这个人问的吗" in asked:
        return os.environ.get("MATCH", "A")
    if not any(known in asked for known in KNOWN):
        return None
    choice = "1. " if asked.rstrip()[-15:].count("2. ") else ""
    return choice + put(asked, wide, number)

def put(asked, wide, number):
    if os.environ.get("SILENT_ON", "silent on nothing") in asked:
        return "No idea."
    if os.environ.get("ALWAYS"):
        return os.environ["ALWAYS"]
    if "says outright who" in asked or "直接说破了" in asked:
        if os.environ.get("STUBBORN"):
            return asked.splitlines()[1]
        return f"第{number}件事该怎么办才好？" if wide else f"10:30 or later, what would be sensible in matter q{number}?"
    if wide:
        return f"第{number}件事要怎么选比较好？"
    if os.environ.get("LEAK"):
        feature = re.search(r"This is true of you:\\n- ([^\\n]+)", asked)[1]
        return f"What should I do, since {feature.rstrip('.')}, about matter q{number}?"
    return f"What would you choose in matter q{number}?"
"""
)

PEOPLE = "[people]\nquota = {quota}\ntraining = {training}\nfields = []\nsimilarity = 1.0\n"


def write_questions(
    folder: Path, section: str, quota: int = 3, training: int = 0, languages: str = '["en"]', more: str = ""
) -> Path:
    """A config for questions, with the asker beside it."""
    people = PEOPLE.format(quota=quota, training=training)
    config = write_build(folder, f"{people}{more}[questions]\n{section}", f"languages = {languages}")
    (folder / "strong_writer.py").write_text(ASKER, encoding="utf-8")
    return config


def rows(out: Path, stream: str = "questions") -> list[dict[str, Any]]:
    """A stream of the finished step."""
    path = out / "steps" / "questions" / f"{stream}.jsonl"
    return lines(path) if path.is_file() else []
