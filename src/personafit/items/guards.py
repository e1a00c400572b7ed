"""The question about answers behind other guards against hostile text, so that each guard's worth can be measured.

`tags` is what is asked everywhere: texts between tags that they cannot close. `off` leaves the tags as they are in the texts, `marks`
shows what is invisible, `nonce` gives the tags a name that a text cannot know; `all` is everything.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit._versions import fingerprint_of, other_words, own_version
from personafit.items.hostile import cleaned
from personafit.items.question import FIT, ChoiceQuestion, Shown, inert
from personafit.items.wording import words_of
from personafit.models import Message

GUARDS = ("off", "tags", "marks", "nonce", "all")
"""Ways to guard a judge against texts that try to steer it."""

NONCE_DIGITS = 8
_WORDS = words_of("guard")


@dataclass(frozen=True)
class GuardedQuestion(ChoiceQuestion):
    """Asks the same behind another guard."""

    version: ClassVar[str] = "1"

    guard: str = "all"
    genuine: str = _WORDS["genuine"]

    @cached_property
    def fingerprint(self) -> str:
        """That of the version behind this guard, and of other words than the usual ones."""
        words = {name: said for name, said in other_words(self).items() if name != "guard"}
        return fingerprint_of(f"fit/{self.guard}", own_version(self), words)

    @property
    def instrument(self) -> str:
        """That of the plain question: a guard is a setting of the rater."""
        return FIT.fingerprint

    def messages(self, shown: Shown) -> tuple[Message, ...]:
        """The prompt, laid out as usual; tags that bear a nonce are named in its end."""
        letters = self.letters(len(shown.order))
        person = self._guarded(shown.context.text)
        asked = self._guarded(shown.prompt)
        texts = [self._guarded(shown.texts[index]) for index in shown.order]
        # The person's tags depend on nothing but the person, so that prompts about one person begin alike.
        about = self._mark(person)
        mark = self._mark(person, asked, *texts)
        parts = [self.task, f"<person{about}>\n{person}\n</person{about}>" if person else self.unknown]
        parts.append(f"<question{mark}>\n{asked}\n</question{mark}>")
        for letter, text in zip(letters, texts, strict=True):
            parts.append(f"<answer_{letter}{mark}>\n{text}\n</answer_{letter}{mark}>")
        if mark:
            parts.append(
                self.genuine.format(nonce=" or ".join(filter(None, (about if person else "", mark))))
            )
        parts.append(self.closing.format(letters=" or ".join(letters)))
        return ({"role": "user", "content": "\n\n".join(parts)},)

    def _guarded(self, text: str) -> str:
        if self.guard in ("marks", "all"):
            text = cleaned(text)
        # Without `inert` only where nothing, or the nonce alone, is to stand in an attack's way.
        return text if self.guard in ("off", "nonce") else inert(text)

    def _mark(self, *texts: str) -> str:
        """A name for tags: a text would have to hold a hash of itself to use it."""
        if self.guard not in ("nonce", "all"):
            return ""
        return f"-{hash_text('nonce', *texts)[:NONCE_DIGITS]}"


def guarded_question(guard: str) -> ChoiceQuestion:
    """The question behind a guard; `tags` is the usual one."""
    if guard not in GUARDS:
        raise UserError(f"guard={guard}: there is no such guard; there are {', '.join(GUARDS)}.")
    return FIT if guard == "tags" else GuardedQuestion(guard=guard)
