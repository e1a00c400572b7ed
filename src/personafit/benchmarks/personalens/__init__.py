"""PersonaLens and other people with tasks: reading them, and running dialogues about them."""

from personafit.benchmarks.personalens.reader import FolderTasks, PersonaLens, TaskBenchmark, open_tasks

__all__ = ["FolderTasks", "PersonaLens", "TaskBenchmark", "open_tasks"]
