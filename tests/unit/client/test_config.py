"""The config file: hosts by name, edited in place, for the owner alone."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from orinbench_client.cli.main import main
from orinbench_client.config import HOST_KEYS, change_config, config_file, edit, read_config
from orinbench_client.errors import BadInput
from orinbench_client.sdk.address import Address, Tls, find_address

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A config folder of the test's own, and no variable of the developer's."""
    for name in ("HOST", "TOKEN", "TOKEN_FILE", "CA", "CERT", "KEY"):
        monkeypatch.delenv(f"ORINBENCH_{name}", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "c"))
    return tmp_path


def test_a_name_leads_to_a_board(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was set under a name is used wherever the name stands: option, variable, default; the variable wins."""
    (home / "t").write_text("secret\n")
    for key, value in (
        ("lab.address", "agx.lab:50061"),
        ("lab.token_file", str(home / "t")),
        ("lab.ca", "ca.pem"),
        ("other.address", "/run/other.sock"),
        ("host", "lab"),
    ):
        assert main(["config", "set", key, value]) == 0

    lab = Address("agx.lab:50061", "secret", Tls(ca=Path("ca.pem").absolute()))
    assert find_address() == lab
    monkeypatch.setenv("ORINBENCH_HOST", "other")
    assert find_address() == Address("unix:/run/other.sock")
    assert find_address("lab") == lab
    assert find_address("/x") == Address("unix:/x")


def test_keys_without_a_name_are_not_those_of_a_named_host(home: Path) -> None:
    """A token that stands at the top never goes to a host that has a section of its own."""
    change_config("token", "top")
    change_config("lab.address", "127.0.0.1:1")

    assert find_address("lab").token is None
    assert find_address("127.0.0.1:1").token == "top"


def test_for_the_owner_alone(home: Path) -> None:
    """The file is 0600 and keeps being a link where it is one."""
    (home / "dotfiles").mkdir()
    config_file().parent.mkdir(parents=True)
    config_file().symlink_to(home / "dotfiles" / "config.toml")
    change_config("lab.address", "/a")

    assert config_file().is_symlink()
    assert (home / "dotfiles" / "config.toml").stat().st_mode & 0o777 == 0o600


def test_comments_stay(home: Path) -> None:
    """Only the line that is meant changes."""
    config_file().parent.mkdir(parents=True)
    text = '# mine\nhost = "lab"  # default\n\n[hosts.lab]\n# the big one\naddress = "/a"\n\n# end\n'
    config_file().write_text(text)
    change_config("lab.ca", "/ca")
    change_config("lab.address", "/b")
    assert config_file().read_text() == text.replace('"/a"', '"/b"\nca = "/ca"')

    change_config("lab.ca", None)
    change_config("lab.address", "/a")
    assert config_file().read_text() == text
    change_config("lab", None)
    assert config_file().read_text() == '# mine\nhost = "lab"  # default\n\n'


@pytest.mark.parametrize("text", ['hosts.lab.address = "/a"\n', 'hosts = { lab = { address = "/a" } }\n'])
def test_another_way_of_writing_is_left_alone(home: Path, text: str) -> None:
    """A file written in a way we do not write is read as it is, and never damaged."""
    config_file().parent.mkdir(parents=True)
    config_file().write_text(text)
    assert read_config().hosts == {"lab": {"address": "/a"}}

    with pytest.raises(BadInput, match="change it by hand"):
        change_config("lab.ca", "/ca")
    assert config_file().read_text() == text


NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,8}", fullmatch=True)
VALUES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)


@settings(deadline=None)
@given(st.lists(st.tuples(NAMES, st.sampled_from(HOST_KEYS), VALUES), max_size=12))
def test_what_is_set_is_read(edits: list[tuple[str, str, str]]) -> None:
    """Whatever is set in whatever order, the last value of each key is what is read; what is removed is gone."""
    text, path = "# first\n", Path("config.toml")
    meant: dict[str, dict[str, str]] = {}
    for name, key, value in edits:
        if name not in meant:
            text = edit(text, f"{name}.address", "/first", path)
            meant[name] = {"address": "/first"}
        text = edit(text, f"{name}.{key}", value, path)
        meant[name][key] = value

    assert tomllib.loads(text).get("hosts", {}) == meant
    for name in meant:
        text = edit(text, name, None, path)
    assert text.strip() == "# first"


def test_list_shows_no_token(capsys: pytest.CaptureFixture[str]) -> None:
    """`list` tells that a token is set, `get` tells which; both as JSON too."""
    for key, value in (("lab.address", "127.0.0.1:1"), ("lab.token", "secret")):
        change_config(key, value)
    assert main(["config", "list"]) == 0
    assert main(["config", "list", "--json"]) == 0
    shown = capsys.readouterr().out
    assert "secret" not in shown
    assert json.loads(shown.splitlines()[-1]) == {
        "file": str(config_file()),
        "keys": {"lab.address": "127.0.0.1:1", "lab.token": "(set)"},
    }

    assert main(["config", "get", "lab.token"]) == 0
    assert capsys.readouterr().out == "secret\n"
