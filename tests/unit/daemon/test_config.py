"""What the configuration says beyond its own values."""

from __future__ import annotations

from pathlib import Path

from orinbenchd.config import load_config

_TEXT = """
data_dir = "data"
socket = "d.sock"
power_socket = "power.sock"
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
