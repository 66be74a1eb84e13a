"""The root helper: a handful of fixed verbs on a Unix socket. Standard library only."""
