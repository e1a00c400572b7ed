"""The web app for human studies; people's answers are stored in the same table as the judgments of models."""

from typing import TYPE_CHECKING

from personafit._lazy import lazy_names

if TYPE_CHECKING:
    from personafit.label.access import Access
    from personafit.label.adjudicating import decide_item, disputes
    from personafit.label.exports import export_study
    from personafit.label.gold import write_benchmark
    from personafit.label.importing import import_votes
    from personafit.label.making import ExtraPages, make_study
    from personafit.label.overview import (
        dispute_pieces,
        status_object,
        status_pieces,
        study_overview,
    )
    from personafit.label.records import RaterState, StudyConfig
    from personafit.label.screening import write_decisions
    from personafit.label.serving import serve_studies
    from personafit.label.simulating import simulate_votes
    from personafit.label.steering import (
        REMAIN,
        erase_rater,
        exclude,
        find_seat,
        pause,
        resume,
        set_state,
        warn,
    )
    from personafit.label.studies import Studies

__getattr__ = lazy_names(
    __name__,
    {
        "access": ("Access",),
        "adjudicating": ("decide_item", "disputes"),
        "exports": ("export_study",),
        "gold": ("write_benchmark",),
        "importing": ("import_votes",),
        "making": ("ExtraPages", "make_study"),
        "overview": ("dispute_pieces", "status_object", "status_pieces", "study_overview"),
        "records": ("RaterState", "StudyConfig"),
        "screening": ("write_decisions",),
        "serving": ("serve_studies",),
        "simulating": ("simulate_votes",),
        "steering": ("REMAIN", "erase_rater", "exclude", "find_seat", "pause", "resume", "set_state", "warn"),
        "studies": ("Studies",),
    },
)

__all__ = [
    "REMAIN",
    "Access",
    "ExtraPages",
    "RaterState",
    "Studies",
    "StudyConfig",
    "decide_item",
    "dispute_pieces",
    "disputes",
    "erase_rater",
    "exclude",
    "export_study",
    "find_seat",
    "import_votes",
    "make_study",
    "pause",
    "resume",
    "serve_studies",
    "set_state",
    "simulate_votes",
    "status_object",
    "status_pieces",
    "study_overview",
    "warn",
    "write_benchmark",
    "write_decisions",
]
