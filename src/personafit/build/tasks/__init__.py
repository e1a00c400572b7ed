"""People with preferences, histories and things they want done: what the dialogue benchmark runs on.

Three steps of the line: `profiles` draws who people are and what they prefer, evenly and by rules; `histories` has past
conversations summed up; `tasks` gives everyone things to get done, each in a situation.
"""
