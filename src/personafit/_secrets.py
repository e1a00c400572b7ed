"""API keys: where they are read from, and how they are kept out of everything that is stored or printed.

A key comes from the environment or the system's keyring, never from a command line: those end up in shell histories,
process lists and run records. Texts that may still contain one, such as a database URL, are masked before they are shown.
"""

import os
import re

from personafit._errors import UserError

MASK = "***"
SERVICE = "personafit"  # service name of the keys in the keyring
LEAST = 12  # characters: a shorter "key", such as EMPTY, is no secret and may well occur in a reply

_NAMES = r"(?:[a-z0-9]+[_-])*(?:api[_-]?key|key|token|secret|(?:ssl)?password|passwd|pwd|authorization|auth|sig|signature)"
_SAME = r"(?!\+reward:)"  # an address ends where the next member of a blend begins
_PASSWORD = re.compile(rf"(://(?:{_SAME}[^\s'\":@/])*):(?:{_SAME}[^\s'\"])*@")
_NAMED = re.compile(rf"(?i)(?<![a-z0-9_-])((?:--)?{_NAMES}=)[^\s,;&'\"]+")
_LOOKS_LIKE_ONE = re.compile(r"\b(?:sk-|gsk_|hf_|ghp_|xai-|AIza)[A-Za-z0-9_-]{16,}")
_MORE_THAN_A_PLACE = re.compile(rf"://(?:{_SAME}\S)*[@?#]")


def key_for(name: str) -> str:
    """Return the key of this name from the environment, or else from the keyring; empty if there is none."""
    return os.environ.get(name, "").strip() or _from_keyring(name)


def masked(text: str) -> str:
    """Return the text with passwords in addresses, values of key-like names and everything that looks like a key masked."""
    text = _PASSWORD.sub(rf"\1:{MASK}@", text)
    text = _NAMED.sub(rf"\1{MASK}", text)
    return _LOOKS_LIKE_ONE.sub(MASK, text)


def without(key: str, text: str) -> str:
    """Return a server's decoded reply with the key masked, in case the server repeats it: replies may be stored."""
    return text.replace(key, MASK) if len(key) >= LEAST else text


def refuse_secrets(text: str, called: str | None = None) -> None:
    """Raise a UserError for a spec or address that contains a key, or might; the message does not repeat it."""
    if masked(text) != text or _MORE_THAN_A_PLACE.search(text):
        before, place, _ = text.partition("://")
        shown = called or masked(f"{before}://…" if place else text)
        raise UserError(
            f"{shown}: keys, passwords and queries do not belong into a spec or an address, as those are written down with "
            "every run; put the key into OPENAI_API_KEY, into a variable you name with key_env=NAME, or into the keyring."
        )


def _from_keyring(name: str) -> str:
    try:
        import keyring

        return (keyring.get_password(SERVICE, name) or "").strip()
    except Exception:  # not installed, locked, or no desktop session: treated as no key
        return ""
