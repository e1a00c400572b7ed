"""Benchmarks on the Hugging Face hub: fetch a published data set, publish a benchmark folder.

Only `huggingface_hub` (extra `hub`) talks to the hub, through `models/hub.py`; it is imported when something is fetched or pushed.
"""
