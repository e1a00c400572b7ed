"""What the pages say when something is wrong, and what a trail says, in both languages."""

import ast
from pathlib import Path

from personafit import label
from personafit.label.texts import TEXTS


def test_what_people_are_told_is_wrong_is_said_in_both_languages() -> None:
    """Every sentence with which a request is refused, and whatever a trail can say."""
    said, done = set(), set()
    for path in Path(label.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
                name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
                words = [one.value for one in node.args if isinstance(one, ast.Constant)]
                texts = [word for word in words if isinstance(word, str)]
                said |= set(texts) if name in ("NotAllowed", "NotStored", "NotNow") else set()
                done |= (
                    set(texts[-1:])
                    if name in ("note", "update_seat", "_change") and path.name != "login.py"
                    else set()
                )
    assert len(said) > 10
    assert len(done) > 10
    assert {sentence for sentence in said if sentence not in TEXTS["zh"]} <= {
        "An answer has a value, or a reason for having none.",  # no page sends this
        "The assistant said nothing.",  # another sentence is said for these
        "The assistant did not answer.",
        "/login",
    }
    assert {what for what in done - {"", "researcher"} if f"r.event.{what}" not in TEXTS["zh"]} == set()


def test_both_languages_say_everything() -> None:
    """English leaves out sentences that are their own keys."""
    assert TEXTS["en"].keys() <= TEXTS["zh"].keys()
    assert all(" " in key for key in TEXTS["zh"].keys() - TEXTS["en"].keys())
    for key, chinese in TEXTS["zh"].items():
        assert TEXTS["en"].get(key, key).count("{") == chinese.count("{"), key
