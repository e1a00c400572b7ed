"""Pages come out as they were meant: code stands in blocks, and a page begins with a sentence that says what it is for."""

import re
from pathlib import Path

import markdown  # type: ignore[import-untyped]
import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
EXTENSIONS = ["admonition", "attr_list", "md_in_html", "tables", "toc", "pymdownx.superfences"]
FENCE = re.compile(r'```(?:\w+(?: title="[^"]+")?)?')
BESIDE_CODE = re.compile(r"<pre\b.*?</pre>|<code\b.*?</code>", re.DOTALL)
LONGEST_COMMAND = 130  # characters that a code block holds beside the contents at 1280 px


def rendered(text: str) -> str:
    """A page as the site makes it, without what stands above it for the site alone."""
    return str(
        markdown.markdown(re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL), extensions=EXTENSIONS)
    )


def faults(text: str) -> list[str]:
    """What a reader of the site would see go wrong."""
    html = rendered(text)
    found = []
    if not re.match(r"<h1[^>]*>.*?</h1>\s*<p>", html, re.DOTALL):
        found.append("it does not begin with a heading and a sentence")
    if any(not FENCE.fullmatch(line) for line in text.splitlines() if line.startswith("```")):
        found.append("a fence is not read as one: write a language, and a title in quotation marks")
    if "\\|" in html:
        found.append("a bar in a table shows its backslash")
    if re.search(r"(?m)^(?:<p>)?personafit: ", BESIDE_CODE.sub("", html)):
        found.append("a message stands outside a block")
    long = [
        line
        for block in re.findall(r"(?ms)^```(?:bash|console)?[^\n]*\n(.*?)^```", text)
        for line in block.splitlines()
        if len(line) > LONGEST_COMMAND and line.lstrip("$ ").startswith("personafit ")
    ]
    return found + [f"too long for one line: {line}" for line in long]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_a_page_comes_out_as_meant(page: Path) -> None:
    assert not faults(page.read_text(encoding="utf-8"))


def test_what_goes_wrong_is_found() -> None:
    assert not faults("# A\n\nB.\n\n```bash\npersonafit demo\n```\n")
    assert faults("# A\n\n```bash\npersonafit demo\n```\n")
    assert faults("# A\n\nB.\n\n```python title=a.py\nimport a\n```\n")
    assert faults("# A\n\nB.\n\n| a | b |\n|---|---|\n| `x\\|y` | c |\n")
    assert faults("# A\n\n- B:\n\n      personafit: no such file.\n")
    assert faults(f"# A\n\nB.\n\n```\npersonafit run starter --rater {'r' * LONGEST_COMMAND}\n```\n")
