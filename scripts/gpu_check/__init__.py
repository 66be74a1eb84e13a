"""Checks of the CUDA engines on a real device: through the real daemon, with tiny models made on the spot."""
