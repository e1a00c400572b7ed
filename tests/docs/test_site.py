"""The site asks nothing of anybody: no font, script or style from elsewhere. Links of pages outside it lead somewhere.

Broken links and anchors inside it fail `make check`, which builds it strictly.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOADED = re.compile(
    r'<(?:script|img|iframe|source)[^>]+src="(https?:)?//[^"]+"|<link[^>]+stylesheet[^>]+href="(https?:)?//'
)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", tmp_path],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    pages = [page for page in tmp_path.rglob("*.html") if "reports" not in page.parts]
    assert len(pages) > 40
    assert (tmp_path / "search" / "search_index.json").is_file()
    outside = {
        page.name: found[0] for page in pages if (found := LOADED.search(page.read_text(encoding="utf-8")))
    }
    assert not outside


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_outside_the_site_lead_somewhere(name: str) -> None:
    targets = [
        target for target in LINK.findall((ROOT / name).read_text(encoding="utf-8")) if ":" not in target
    ]
    missing = [target for target in targets if not (ROOT / target).exists()]
    assert not missing
