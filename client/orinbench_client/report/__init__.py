"""The report: all of a results folder on one page that needs no network. Facts first, then charts, then HTML."""
