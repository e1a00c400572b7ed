"""Small windows, long texts, right-to-left texts, dark colours."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import orjson
import pytest

from personafit.benchmarks.starter import FOLDER
from tests.label.browser.rater import Rater
from tests.label.browser.site import Site

Make = Callable[..., Rater]
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
WORD = "Donaudampfschifffahrtsgesellschaftskapitän" * 6
ARABIC = "مرحبا، ما هي أفضل طريقة لتعلم الطبخ في المنزل؟"
MARKED = '<img src=x onerror="document.title=1"> <script>document.title=2</script> **bold**'


@pytest.fixture(scope="package")
def awkward(site: Site) -> str:
    """A benchmark whose texts are long, wide, right to left, and full of markup."""
    folder = site.folder / "awkward"
    folder.mkdir()
    for name in ("benchmark.toml", "card.md"):
        (folder / name).write_bytes((FOLDER / name).read_bytes())
    answers = {"long": f"{WORD} {MARKED} " * 40, "arabic": f"{ARABIC} " * 30}
    people = [{"id": "p", "language": "en", "facets": {"Name": ARABIC, "Likes": f"{WORD} {MARKED}"}}]
    products = [
        {"id": name, "kind": "answer", "text": text, "maker": "author"} for name, text in answers.items()
    ]
    items = [
        {
            "id": "awkward/1",
            "kind": "choice",
            "person": "p",
            "prompt": f"{ARABIC} {MARKED}",
            "products": [*answers],
        }
    ]
    gold = [{"item": "awkward/1", "question": "fit", "rater": "author", "label": "0"}]
    _write(folder, people=people, products=products, items=items, gold=gold)
    return str(folder)


def _write(folder: Path, **files: Sequence[Mapping[str, object]]) -> None:
    for name, rows in files.items():
        (folder / f"{name}.jsonl").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))


def test_awkward_texts_hold_on_a_phone_and_stay_text(site: Site, rater: Make, awkward: str) -> None:
    study = site.study("awkward", "fit", source=awkward)
    for options in (PHONE, {"color_scheme": "dark"}):
        one = rater(**options).join(study)
        one.fits()
        one.accessible()
        assert one.page.title() == "Pilot study"
        assert one.page.locator("main img, main script").count() == 0
        assert "<img src=x onerror=" in one.page.inner_text("main"), "markup is shown as what it is"
        direction = "(node) => getComputedStyle(node).direction"
        assert one.page.eval_on_selector("blockquote", direction) == "rtl"
        assert one.page.eval_on_selector(".bar", direction) == "ltr"


@pytest.mark.parametrize("form", ["grade", "attributes", "relevance", "preference", "dialogue"])
def test_every_form_fits_a_phone(site: Site, rater: Make, form: str) -> None:
    study = site.study(f"phone-{form}", form, source="last" if form == "dialogue" else "starter")
    one = rater(**PHONE, color_scheme="dark").join(study)
    one.fits()
    one.accessible()
    if form == "grade":
        one.picture("phone")
