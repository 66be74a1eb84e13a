"""Many boards: which run goes where, boards that come and go, and whether one of them is slower than the others."""
