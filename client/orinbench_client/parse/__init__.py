"""Parse: Persian questions that need reasoning, answered in words. The suite, its scorers, and upstream's answers."""
