"""Runs the daemon: python -m orinbenchd."""

from orinbenchd.cli import main

main()
