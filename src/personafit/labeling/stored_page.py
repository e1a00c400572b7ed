"""A page as raters see it, in the order it is stored in: for whoever decides, and for exports. What raters must not see is not in it."""

from typing import Any

from personafit.labeling.forms import LabelForm
from personafit.labeling.records import Page
from personafit.labeling.votes import unshuffled

LISTED = "listed"


def stored_page(form: LabelForm, page: Page) -> dict[str, Any]:
    """The texts of a page by name; entries of a list that is asked about stand under `listed`."""
    order = unshuffled(page)
    shown = {name: value for name, value in form.shown(page, order).items() if value and name != "evidence"}
    listed = [field.text for field in form.fields(page, order) if field.place is not None]
    return shown | ({LISTED: listed} if listed else {})
