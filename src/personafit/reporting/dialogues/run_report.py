"""A run of dialogues, read back: its numbers, its tables, its page, its coverage."""

from pathlib import Path

from rich.console import Console

from personafit.reporting.dialogues.agreement import judge_human_kappa
from personafit.reporting.dialogues.effects import context_effects
from personafit.reporting.dialogues.faults import audit_results, audit_simulator
from personafit.reporting.dialogues.loading import load_dialogues
from personafit.reporting.dialogues.results import dialogue_coverage, dialogue_results, opened_dialogues
from personafit.reporting.dialogues.signatures import find_signatures
from personafit.reporting.dialogues.terminal import print_dialogues
from personafit.reporting.dialogues.words import explain_dialogues
from personafit.reporting.results import Result
from personafit.store import RunRecord, Store


class DialogueReport:
    """A run in which assistants talked with simulated users and judges marked what they said."""

    def __init__(self, store: Store, run: RunRecord) -> None:
        self._store = store
        self.run = load_dialogues(store, run)
        self.opened = opened_dialogues(self.run)
        self.audit = audit_simulator(self.run)
        self.signatures = find_signatures(self.run, self.opened)
        self.benchmark: str = self.run.info["name"]
        self.coverage_bar: float = self.run.info["coverage_bar"]
        self.results: list[Result] = [
            *dialogue_results(self.run, self.opened),
            *context_effects(self.opened),
            *audit_results(self.run, self.opened, self.audit),
            *judge_human_kappa(store, self.run.marks, self.run.units, self.run.raters),
        ]

    def print(self, console: Console) -> None:
        """Show the tables and what they mean."""
        print_dialogues(console, self.run, self.results)
        for sentence in self.sentences():
            print(sentence)

    def sentences(self) -> list[str]:
        """What the tables mean, a sentence each."""
        return list(explain_dialogues(self.run, self.results, self.signatures))

    def write_html(self, path: Path) -> None:
        """Write the report page."""
        from personafit.reporting.dialogues.page import write_page

        write_page(self._store, self.run, self.audit, self.signatures, self.results, path)

    def worst_coverage(self) -> tuple[str, float] | None:
        """The assistant, context and judge with the least coverage."""
        return dialogue_coverage(self.run, self.opened.lines)
