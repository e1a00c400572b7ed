"""Coverage of intervals, size of claims and reached power, by simulation: `python -m speed.coverage`."""
