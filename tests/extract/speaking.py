"""A model for the stages that answers by rules: what it says depends on nothing but the prompt, so that runs can be compared.

It extracts one statement from each user turn, finds fault with 'always', mends it, drops secrets, and picks the first of a list.
"""

import json
import re

from tests.stub_endpoint import Body, completion

TURN = re.compile(r'<user-[0-9a-f]{8} turn="(\d+)"(?: piece="[^"]*")?>\n(.*?)\n</user-', re.DOTALL)
STATEMENT = re.compile(r"<statement-[0-9a-f]{8}>\n(.*?)\n</statement-", re.DOTALL)


def reply(prompt: str) -> str:
    """What the model says to a prompt of any stage."""
    if "attributes" in prompt and '"turns"' in prompt:
        found = [
            {"statement": statement_of(text), "turns": [int(number)], "confidence": 0.9, "kind": "preference"}
            for number, text in TURN.findall(prompt)
        ]
        return json.dumps({"attributes": found}, ensure_ascii=False)
    if '"label"' in prompt:
        always = "always" in STATEMENT.findall(prompt)[-1]
        label, problem = ("unsure", "over-generalised") if always else ("accepted", "none")
        return json.dumps({"label": label, "problem": problem, "reason": "By rule."})
    if '"action"' in prompt:
        statement = STATEMENT.findall(prompt)[-1]
        if "secret" in statement:
            return json.dumps({"action": "drop", "statement": ""})
        return json.dumps({"action": "rewrite", "statement": statement.replace("always", "sometimes")})
    if '"score"' in prompt:
        return json.dumps({"score": 0.1 if "about a jailbreak" in prompt else 0.9})
    if "JSON list" in prompt:
        return "[1]"
    return "Here is an answer."


def statement_of(text: str) -> str:
    """The statement made from a turn."""
    return f"The user says {' '.join(text.split())[:120]}"


def speak(body: Body) -> Body:
    """A completion by the rules."""
    return completion(body, reply("\n".join(message["content"] for message in body["messages"])))
