"""Runs in which systems write what people wrote: how near they come, with and without the person."""
