"""Rebuilds the demo suite `fa-demo-v1` and its two models: grammar, speech, training, export, measurement."""
