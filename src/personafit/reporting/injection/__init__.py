"""Runs on hostile text: how often each judge was moved, by which attack, and how much of that a placebo does too."""
