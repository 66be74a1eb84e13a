"""Text normalisers: named, immutable policies with digests."""

from orinbench_client.text.policy import Normalizer, get_normalizer, normalizer_names

__all__ = ["Normalizer", "get_normalizer", "normalizer_names"]
