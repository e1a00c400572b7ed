"""The secret a store signs with, and hashes keyed with it: ids and orders that nobody without the store can work out.

The scheme of an unkeyed hash is public, and so are the ids of a public benchmark: whoever knows both could tell which answer stands
under which letter.
"""

import hmac
import secrets
from collections.abc import Callable
from functools import partial
from hashlib import sha256

from sqlalchemy import Connection, select

from personafit._hashing import KEY_LENGTH, hash_text
from personafit.store.inserting import insert_new
from personafit.store.tables import label_settings

Hashed = Callable[..., str]
"""Texts in sequence to a hex key, as `hash_text`."""


def kept(connection: Connection, name: str, fresh: str) -> str:
    """The stored value of a setting, or this one from now on."""
    connection.execute(insert_new(label_settings, connection.dialect).values(name=name, value=fresh))
    return str(
        connection.execute(select(label_settings.c.value).where(label_settings.c.name == name)).scalar_one()
    )


def store_secret(connection: Connection) -> str:
    """The secret of a store, made when it is first asked for."""
    return kept(connection, "secret", secrets.token_urlsafe(48))


def keyed_with(secret: str) -> Hashed:
    """`hash_text` keyed with a secret."""
    return partial(_keyed_hash, secret.encode())


def _keyed_hash(secret: bytes, *parts: str) -> str:
    return hmac.new(secret, f"keyed:{hash_text(*parts)}".encode(), sha256).hexdigest()[:KEY_LENGTH]
