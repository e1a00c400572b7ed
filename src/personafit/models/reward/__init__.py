"""Reward models on this machine: token sequences with common prefixes are laid out as trees and computed once."""

from typing import Literal

Layout = Literal["tree", "sequence", "none"]
"""How sequences share a row: as a tree of common prefixes, one after another, or padded."""
