"""The thin client: submits runs, follows them, scores, and makes leaderboards. No ML framework in it."""
