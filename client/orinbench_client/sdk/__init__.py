"""Talking to a board: addresses, the asynchronous client and its blocking face, models and submissions."""

from orinbench_client.sdk.address import Address, find_address, parse_target
from orinbench_client.sdk.blocking import BlockingClient
from orinbench_client.sdk.client import API_NEEDED, API_REVISION, Client, require_api
from orinbench_client.sdk.model import Model, open_model
from orinbench_client.sdk.submission import (
    Submission,
    push_model,
    push_suite,
    require_board,
    submit,
)
from orinbench_client.sdk.upload import Upload
from orinbench_client.sdk.watch import Patience

__all__ = [
    "API_NEEDED",
    "API_REVISION",
    "Address",
    "BlockingClient",
    "Client",
    "Model",
    "Patience",
    "Submission",
    "Upload",
    "find_address",
    "open_model",
    "parse_target",
    "push_model",
    "push_suite",
    "require_api",
    "require_board",
    "submit",
]
