"""Licences under which data may be published again, as the hub calls them."""

import re

from personafit._errors import UserError

# Short names of the hub. Those that allow no changed copies are not among them: a benchmark folder is a changed copy.
OPEN = (
    "apache-2.0",
    "mit",
    "bsd-2-clause",
    "bsd-3-clause",
    "cc0-1.0",
    "cc-by-2.0",
    "cc-by-3.0",
    "cc-by-4.0",
    "cc-by-sa-3.0",
    "cc-by-sa-4.0",
    "cc-by-nc-3.0",
    "cc-by-nc-4.0",
    "cc-by-nc-sa-3.0",
    "cc-by-nc-sa-4.0",
    "odc-by",
    "odbl",
    "pddl",
    "cdla-permissive-1.0",
    "cdla-permissive-2.0",
    "cdla-sharing-1.0",
    "unlicense",
)


def open_licence(text: str) -> str | None:
    """The hub's name of the licence that a text begins with, such as 'Apache-2.0 (c) 2025 ...'."""
    said = re.sub(r"[\s_-]+", "-", text.strip().lower())
    known = [name for name in OPEN if said == name or re.match(rf"{re.escape(name)}[^a-z0-9.]", said)]
    return max(known, key=len, default=None)


def publishable(stated: str, given: str | None, where: str) -> dict[str, str]:
    """What the card says of the licence: the data's own, or what the user vouches for."""
    if given is not None:
        if not given.strip():
            raise UserError("--licence is empty; give a licence such as CC-BY-4.0.")
        known = open_licence(given)
        return {"license": known} if known else {"license": "other", "license_name": given.strip()}
    known = open_licence(stated)
    if known is None:
        raise UserError(
            f"{where}, field 'licence' says '{stated}', which is not known as a licence to publish under; if you may publish "
            "these data, say under which licence with --licence, such as --licence CC-BY-4.0."
        )
    return {"license": known}
