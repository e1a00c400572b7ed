"""Question generation: specific questions from features and scenarios, general ones from a pool, both checked."""
