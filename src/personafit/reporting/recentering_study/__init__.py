"""Every table and figure of a study of attributes and answers, from whatever votes there are: people's, models', simulated ones."""

from personafit.reporting.recentering_study.loading import StudyAnalysis, load_study
from personafit.reporting.recentering_study.printing import print_study
from personafit.reporting.recentering_study.writing import write_study

__all__ = ["StudyAnalysis", "load_study", "print_study", "write_study"]
