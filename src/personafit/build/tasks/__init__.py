"""Task profiles: people with preferences, histories and tasks, on which the dialogue benchmark runs.

Three steps: `profiles` samples interests and preferences, evenly and by rules; `histories` has past conversations summarised;
`tasks` gives each person tasks, each in a situation.
"""
