"""Reward models on this machine: token sequences that share beginnings are laid out as trees and computed once."""

from typing import Literal

Layout = Literal["tree", "sequence", "none"]
"""How sequences share a row: as a tree of common beginnings, one after another, or padded."""
