"""How fast, as ratios against named peers, measured in one run on one machine: `python -m speed [NAME...]`."""
