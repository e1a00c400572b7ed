"""Worlds: the world itself, agents in it, and runs of it."""
