"""The fake programs; `simlib` is copied beside them into each board."""
