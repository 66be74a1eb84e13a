"""Which boards a fleet has: named one by one, by a file, or all that have a name in the config file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from orinbench_client.config import config_file, read_config, read_toml
from orinbench_client.errors import BadInput
from orinbench_client.sdk import find_address


def find_boards(named: Sequence[str], pool: Path | None) -> list[str]:
    """Return the boards in their order, each once, as names of the config file or as whole addresses.

    `pool` is a TOML file with ``boards = ["NAME or ADDRESS", …]``. With neither all hosts of the config file are
    meant. Raises BadInput for a file or an address that is none, and where there is no board.
    """
    boards = [*named, *(_read(pool) if pool is not None else ())]
    known = read_config().hosts
    if not boards and pool is None:
        boards = list(known)
    if not boards:
        where = pool or config_file()
        raise BadInput(f"{where}: names no board: orinbench config set NAME.address ADDRESS, or give --board")
    # As a whole: a relative path leads elsewhere from elsewhere.
    return list(dict.fromkeys(name if name in known else str(find_address(_required(name))) for name in boards))


def _required(name: str) -> str:
    if not name.strip():
        raise BadInput("--board is empty: give an address or the name of a host")
    return name


def _read(path: Path) -> list[str]:
    content = read_toml(path)
    boards = content.get("boards")
    if set(content) != {"boards"} or not isinstance(boards, list) or not all(isinstance(each, str) for each in boards):
        raise BadInput(f'{path}: a pool is boards = ["NAME or ADDRESS", …] and nothing else')
    return boards
