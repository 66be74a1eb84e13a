"""The daemon: owns the board, runs one benchmark at a time, keeps every record. No ML package is imported here."""
