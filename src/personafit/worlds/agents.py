"""Agents of a world by their spec: chat models, Python functions that receive the tools as functions, and the scripted controls."""

from dataclasses import replace

from personafit._errors import UserError
from personafit.models import MODELS, make_model, parse_spec
from personafit.worlds.chat_agents import ChatAgent
from personafit.worlds.python_agents import PythonAgent
from personafit.worlds.scripted import AGENTS, ScriptedAgent

Agent = ChatAgent | PythonAgent | ScriptedAgent
FUNCTION_CALLERS = ("openai", "replay")


def make_agent(text: str) -> Agent:
    """Create the agent that a spec names; `tools=text` lets a model write calls as text, `tools=calls` uses a server's function calling."""
    if text in AGENTS:
        return ScriptedAgent(text)
    spec = parse_spec(text)
    if spec.kind == "python":
        return PythonAgent(spec)
    if spec.kind not in MODELS:
        raise UserError(
            f"'{text}' names no agent; there are the scripted {', '.join(AGENTS)}, python:MODULE:OBJECT, and models such as "
            "openai:MODEL@URL."
        )
    options, possible = (
        dict(spec.options),
        ["text"] if spec.kind not in FUNCTION_CALLERS else ["calls", "text"],
    )
    how = options.pop("tools", possible[0])
    if how not in possible:
        raise UserError(
            f"{text}: tools={how} is not possible; write tools=text, or tools=calls for a model behind an OpenAI-compatible server."
        )
    return ChatAgent(make_model(replace(spec, options=options)), by_text=how == "text")
