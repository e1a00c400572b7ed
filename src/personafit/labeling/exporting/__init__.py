"""Taking a study's votes elsewhere: tables, a dataset folder with a card, Label Studio, Argilla.

All of them are made from one reading of the votes, with pseudonyms only: no names, no addresses, no ids from elsewhere.
"""

from collections.abc import Callable
from pathlib import Path

from personafit._errors import UserError
from personafit.labeling.exporting.argilla import write_argilla
from personafit.labeling.exporting.label_studio import write_label_studio
from personafit.labeling.exporting.reading import StudyExport, read_study
from personafit.labeling.exporting.tables import write_checksums, write_dataset, write_tables
from personafit.labeling.studies import Studies

FORMATS: dict[str, Callable[[StudyExport, Path], None]] = {
    "jsonl": lambda exported, folder: write_tables(exported, folder, "jsonl"),
    "csv": lambda exported, folder: write_tables(exported, folder, "csv"),
    "parquet": lambda exported, folder: write_tables(exported, folder, "parquet"),
    "folder": write_dataset,
    "label-studio": write_label_studio,
    "argilla": write_argilla,
}


def export_study(studies: Studies, name: str, folder: Path, format: str) -> StudyExport:
    """Write a study's votes to a folder that is empty or not there yet; returns what was written."""
    if format not in FORMATS:
        raise UserError(f"--format {format}: there are {', '.join(FORMATS)}.")
    exported = read_study(studies, name)
    if exported.votes.is_empty() and exported.remarks.is_empty() and exported.chats.is_empty():
        excluded = f" ({exported.excluded} excluded)" if exported.excluded else ""
        raise UserError(f"{name} has no votes to write yet{excluded}; nothing was written.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UserError(f"{folder} is not empty; name a new folder with --out.")
        FORMATS[format](exported, folder)
        write_checksums(folder)
    except OSError as error:
        raise UserError(
            f"{folder} cannot be written ({error.strerror}); choose another with --out."
        ) from error
    return exported


__all__ = ["FORMATS", "StudyExport", "export_study"]
