"""What an assistant would remember of each person, and what a profiler infers from some of it."""
