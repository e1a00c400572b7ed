"""Pairs to train reward models on: a fitting answer, and one that fits nobody, somebody else, or too much."""
