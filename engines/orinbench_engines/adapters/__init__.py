"""Adapters: each owns a task, from the bytes of a sample to the final text."""
