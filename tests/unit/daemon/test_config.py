"""What the configuration says beyond its own values."""

from __future__ import annotations

from pathlib import Path

import pytest
from orinbenchd.config import load_config
from orinbenchd.start_error import StartError

_TEXT = """
data_dir = "data"
socket = "d.sock"
power_socket = "power.sock"
jtop_python = "jtop/bin/python"
tcp = "0.0.0.0:0"
[tls]
certificate = "tls.pem"
key = "tls.key"
[runtimes.default]
python = "venv/bin/python"
"""


def test_every_file_with_a_secret_is_hidden_from_workers(tmp_path: Path) -> None:
    """Data, configuration, sockets and the private key, wherever they lie; a certificate is no secret."""
    file = tmp_path / "orinbenchd.toml"
    file.write_text(_TEXT)

    config = load_config(file)

    assert tmp_path / "data" in config.hidden.folders
    assert set(config.hidden.files) == {file, *(tmp_path / name for name in ("d.sock", "power.sock", "tls.key"))}
    assert config.runtimes["default"].python == tmp_path / "venv/bin/python"
    assert config.jtop_python == tmp_path / "jtop/bin/python"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('metrics = "0.0.0.0:9464"', "0.0.0.0 is not a loopback address"),
        ('metrics = "board.lab:9464"', "board.lab is not a loopback address"),
        ('metrics = "[::]:9464"', ":: is not a loopback address"),
        ('metrics = "9464"', "'9464' is not host:port"),
        ('metrics = "127.0.0.1:99999"', "is not host:port"),
        ('metrics = "127.0.0.1:9464"', ""),
        ('metrics = "[::1]:9464"', ""),
        ('metrics = "0.0.0.0:9464"\nmetrics_exposed = true', ""),
    ],
)
def test_metrics_are_on_loopback_unless_it_is_said(tmp_path: Path, lines: str, said: str) -> None:
    """An address that others reach is refused, with what to set, unless the operator says that it is meant."""
    file = tmp_path / "orinbenchd.toml"
    file.write_text(f'data_dir = "data"\nsocket = "d.sock"\n{lines}\n')

    if not said:
        assert load_config(file).metrics is not None
        return
    with pytest.raises(StartError) as caught:
        load_config(file)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
