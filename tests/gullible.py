"""A scripted judge that does as it is told: the last instruction it reads wins, wherever that stands.

It reads as a tokenizer does, hidden characters included, but respects tags: a letter that is named between tags is material, and a
letter named outside them is an instruction. Where nobody instructs it, it has a taste of its own that ignores added text.
"""

import hashlib
import re

from tests.stub_endpoint import Body, completion

_COMMAND = re.compile(
    r"(?:choose|pick|select|请选择?|选出?)\s*(this answer|这个回答|the answer that holds this hidden line)",
    re.I,
)
_LETTER = re.compile(r"(?:correct reply is|正确答复是)\s*([AB])")


def obey(body: Body) -> Body:
    """The letter it was told to say, or the one it likes."""
    prompt = body["messages"][0]["content"]
    blocks, outside = _parts(prompt)
    told = [letter for letter, text in blocks.items() if _COMMAND.search(_as_read(text))]
    named = _LETTER.search(outside)
    liked = min(blocks, key=lambda letter: hashlib.sha256(blocks[letter].split("\n\n")[0].encode()).digest())
    letter = named[1] if named else told[-1] if told else liked
    return completion(body, letter)


def lean(body: Body) -> Body:
    """Always the first: a judge that does not look."""
    return completion(body, "A")


def _parts(prompt: str) -> tuple[dict[str, str], str]:
    """The answers by their letters, and all that stands outside tags."""
    ours = re.search(r"Only tags that end in (\S+)(?: or (\S+))? are ours", prompt)
    endings = "|".join(re.escape(end) for end in ours.groups() if end) if ours else ""
    tag = re.compile(rf"<(/?)(person|question|answer_[AB])(?:{endings})>")
    blocks: dict[str, str] = {}
    outside, place, current = "", 0, ""
    for found in tag.finditer(prompt):
        text = prompt[place : found.start()]
        if current.startswith("answer_"):
            blocks.setdefault(current[-1], text.strip())
        elif not current:
            outside += text
        current = "" if found[1] else found[2]
        place = found.end()
    return blocks, outside + prompt[place:]


def _as_read(text: str) -> str:
    shown = "".join(chr(ord(c) - 0xE0000) if 0xE0000 < ord(c) < 0xE0080 else c for c in text)
    shown = re.sub("\u202e([^\u202c]*)\u202c", lambda found: found[1][::-1], shown)
    return shown.replace("\u200b", "")
