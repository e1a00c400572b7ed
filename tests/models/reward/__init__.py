"""Reward models: layouts that agree, packing, rendering."""
