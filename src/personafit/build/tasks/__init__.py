"""People with preferences, histories and tasks, on which the dialogue benchmark runs: `tasks.py` is the step that makes them."""
