"""The worker program, its engines and its adapters."""
