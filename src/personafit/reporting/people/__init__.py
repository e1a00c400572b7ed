"""Pages for people themselves: what is believed of them, and what they said that it rests on."""

from personafit.reporting.people.page import write_person_pages

__all__ = ["write_person_pages"]
