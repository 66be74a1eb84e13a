"""Makes a suite's canonical recordings of what lies on a hub."""
