"""How every report is made one self-contained page: it opens from disk, loads nothing, and nothing in it can run but ours.

Texts of people, questions, answers, replies and even raters' names come from outside and are data: templates escape them,
scripts get them as inert JSON and write them only as text, and a content security policy lets nothing run but the one
script whose hash it names.
"""

import base64
import hashlib
import os
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from personafit import __version__

PACKAGE = "personafit.reports"

# Inside a script element these could end it or, in old engines, a string; as escapes they are the same JSON.
INERT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}

JOINTS = re.compile("[/:,=_+]")  # none of these stands in an escaped character

# Characters that turn the direction of all that follows, and halves of a pair, which no file takes (a folder's name may have them).
# In item texts directions stay: there each text has a box of its own.
NOT_SHOWN = re.compile("[\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def put_page(path: Path, page: str) -> None:
    """Write a page; an old one is replaced only once the new one is complete."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(page, encoding="utf-8", newline="\n")
    os.replace(partial, path)


def fill_page(template: str, script: str, style: str = "", **values: Any) -> str:
    """The whole page as text: a template with the common script and style before its own."""
    whole = asset("page.js") + script
    return fill(
        template,
        policy=_policy(whole),
        style=Markup(asset("report.css") + style),
        script=Markup(whole),
        version=__version__,
        **values,
    )


def fill(template: str, **values: Any) -> Markup:
    """A template by itself, to be put into a page."""
    environment = Environment(
        loader=PackageLoader(PACKAGE),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["breaking"] = breaking
    environment.filters["id_of"] = id
    return Markup(environment.get_template(template).render(**values))


def breaking(name: str) -> Markup:
    """A name that may break after what joins its parts, and first there, where there is little room for it."""
    return Markup(JOINTS.sub(r"\g<0><wbr>", str(escape(_visible(str(name))))))


def asset(*names: str) -> str:
    """Scripts or styles that lie beside the templates, one after the other."""
    return "".join((files(PACKAGE) / "templates" / name).read_text(encoding="utf-8") for name in names)


def embed(value: Any) -> Markup:
    """Any JSON-like value as JSON that nothing in it can break out of."""
    text = orjson.dumps(value).decode()
    for character, escaped in INERT.items():
        text = text.replace(character, escaped)
    return Markup(text)


def _visible(value: Any) -> Any:
    """Names stand in sentences and commands, which must not be turned around by them."""
    return NOT_SHOWN.sub("\ufffd", value) if type(value) is str else value


def _policy(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # Styles may be inline, since figures carry style attributes; nothing can be loaded by them (default-src).
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
