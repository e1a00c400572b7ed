"""The forms of labelling pages. A kind of item without a form of its own gets one built from its questions."""

from functools import cache

from personafit._errors import UserError
from personafit._plugins import find_plugin
from personafit.label.forms.form import LabelForm, LabelValue
from personafit.label.forms.questions import (
    AttributesForm,
    ChatForm,
    ChoiceForm,
    DialogueForm,
    GradeForm,
    KindForm,
    PreferenceForm,
    RelevanceForm,
    ScreenForm,
)

_ALL = (
    ChoiceForm,
    GradeForm,
    DialogueForm,
    AttributesForm,
    RelevanceForm,
    PreferenceForm,
    ChatForm,
    ScreenForm,
)
FORMS: dict[str, LabelForm] = {form.name: form() for form in _ALL}


def form_named(name: str) -> LabelForm:
    """Return the form of that name, or the form of the kind of item of that name."""
    return FORMS.get(name) or _form_of_kind(name)


@cache
def _form_of_kind(name: str) -> LabelForm:
    if find_plugin("kinds", name) is None:
        raise UserError(
            f"--question {name}: there are {', '.join(FORMS)}, and kinds of item of installed packages."
        )
    from personafit.kinds import find_kind

    return KindForm(find_kind(name))


__all__ = ["FORMS", "LabelForm", "LabelValue", "form_named"]
