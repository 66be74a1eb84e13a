"""Simulated Jetsons: a root folder of files, and real programs in it that behave like NVIDIA's."""
