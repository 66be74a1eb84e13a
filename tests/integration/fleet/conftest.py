"""One daemon for all tests that leave nothing behind on it."""

from tests.integration.cli.conftest import shared

__all__ = ["shared"]
