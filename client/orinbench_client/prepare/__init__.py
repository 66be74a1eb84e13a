"""Getting a suite's data: fetched or copied, made canonical, checked, and published in the user's data folder."""

from orinbench_client.prepare.suite import OnPrepare, prepare_suite

__all__ = ["OnPrepare", "prepare_suite"]
