"""Simulated people: seed profiles, drawn combinations, consistency rules, screening, balance, review."""
