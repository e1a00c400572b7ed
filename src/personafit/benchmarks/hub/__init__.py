"""Benchmarks on the Hugging Face hub: fetch a published data set, publish a benchmark folder.

Only `huggingface_hub` (extra `hub`) talks to the hub; it is imported when something is fetched or pushed.
"""
