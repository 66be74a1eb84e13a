"""Following a run: records in, figures on the way, a bundle at the end."""
