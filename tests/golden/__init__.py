"""Goldens: results, asks, job keys, wordings and a stored run as they were when they were recorded."""
