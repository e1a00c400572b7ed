"""Kinds of item: what holds for every one of them."""
