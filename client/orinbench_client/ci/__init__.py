"""Gates of a continuous integration job: what a run must reach, and how the job is told."""
