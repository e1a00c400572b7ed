"""Benchmarks on the Hugging Face hub: fetch a published data set, publish a benchmark folder.

Only `huggingface_hub` (extra `hub`) talks to the hub; it is imported when something is fetched or pushed.
"""

from personafit.benchmarks.hub.copies import REPOS, Fetched, data_folder
from personafit.benchmarks.hub.getting import fetch_dataset
from personafit.benchmarks.hub.pushing import Pushed, push_folder

__all__ = ["REPOS", "Fetched", "Pushed", "data_folder", "fetch_dataset", "push_folder"]
