"""The kinds of page a study can have: one file each, and a template of the same name."""

from personafit._errors import UserError
from personafit.labeling.forms.attributes import AttributesForm
from personafit.labeling.forms.chat import ChatForm
from personafit.labeling.forms.choice import ChoiceForm
from personafit.labeling.forms.dialogue import DialogueForm
from personafit.labeling.forms.form import LabelForm, LabelValue
from personafit.labeling.forms.grade import GradeForm
from personafit.labeling.forms.preference import PreferenceForm
from personafit.labeling.forms.relevance import RelevanceForm

FORMS: dict[str, LabelForm] = {
    form.name: form
    for form in (
        ChoiceForm(),
        GradeForm(),
        DialogueForm(),
        AttributesForm(),
        RelevanceForm(),
        PreferenceForm(),
        ChatForm(),
    )
}


def form_named(name: str) -> LabelForm:
    """A form by name."""
    try:
        return FORMS[name]
    except KeyError:
        raise UserError(f"--question {name}: there are {', '.join(FORMS)}.") from None


__all__ = ["FORMS", "LabelForm", "LabelValue", "form_named"]
