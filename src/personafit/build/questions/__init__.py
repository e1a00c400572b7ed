"""Questions: specific ones from features and scenarios, general ones from a pool, both checked until they can be asked."""
