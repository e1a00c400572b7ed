"""PersonaLens and other people with tasks: reading them, and running dialogues about them."""

from personafit.benchmarks.personalens.folder import FolderTasks, open_tasks
from personafit.benchmarks.personalens.reader import PersonaLens
from personafit.benchmarks.personalens.tasks import TaskBenchmark

__all__ = ["FolderTasks", "PersonaLens", "TaskBenchmark", "open_tasks"]
