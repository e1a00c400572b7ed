"""Stores as each version of the tables had them, as SQL: what every later version must still be able to open."""
