"""Where the client looks for a board."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from orinbench_client.errors import BadInput
from orinbench_client.sdk.address import Address, find_address, parse_target


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable of the developer's own, and a config folder of the test's own."""
    for name in ("ORINBENCH_HOST", "ORINBENCH_TOKEN", "ORINBENCH_TOKEN_FILE", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def configure(tmp_path: Path, text: str) -> None:
    """Write the client's config file."""
    (tmp_path / "orinbench").mkdir()
    (tmp_path / "orinbench" / "config.toml").write_text(text)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("unix:/run/o.sock", "unix:/run/o.sock"),
        ("unix:///run/o.sock", "unix:/run/o.sock"),
        ("/run/o.sock", "unix:/run/o.sock"),
        ("127.0.0.1:50061", "127.0.0.1:50061"),
        ("localhost:1", "localhost:1"),
        ("[::1]:65535", "[::1]:65535"),
    ],
)
def test_forms(text: str, target: str) -> None:
    """Each documented form becomes the target gRPC dials."""
    assert target == parse_target(text)


@pytest.mark.parametrize("text", ["board", "board:", ":5", "a b:5", "localhost:0", "localhost:65536", "http://x:5", ""])
def test_other_forms_are_refused(text: str) -> None:
    """Anything else is refused with the forms there are."""
    with pytest.raises(BadInput, match=r"neither unix:/path, /path nor host:port"):
        parse_target(text)


@pytest.mark.parametrize("text", ["board.lab:50061", "10.0.0.7:50061", "[fe80::1]:50061"])
def test_no_token_goes_in_clear(text: str) -> None:
    """An address that is not loopback is refused, with the way round."""
    with pytest.raises(BadInput, match="ssh -NL"):
        parse_target(text)


def test_long_socket_path() -> None:
    """A path that no Unix socket can have is named as such."""
    with pytest.raises(BadInput, match="at most 107 bytes"):
        parse_target("/" + "a" * 107)


@given(st.text(max_size=40))
def test_any_text_is_a_target_or_refused(text: str) -> None:
    """No text makes the parser fail in another way than BadInput."""
    with contextlib.suppress(BadInput):
        assert parse_target(text)


def test_order_of_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The option wins over the variable, the variable over the config file, the file over the usual sockets."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/7")
    assert find_address() == Address("unix:/run/user/7/orinbench/orinbench.sock")
    configure(tmp_path, 'host = "/c"\n')
    assert find_address() == Address("unix:/c")
    monkeypatch.setenv("ORINBENCH_HOST", "/b")
    assert find_address() == Address("unix:/b")
    assert find_address("/a") == Address("unix:/a")


def test_order_of_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file of the option wins over the variables, they over the config file; a Unix socket takes none."""
    host = "127.0.0.1:1"
    configure(tmp_path, f'host = "{host}"\ntoken = "config"\n')
    assert find_address().token == "config"
    (tmp_path / "t").write_text("named\n")
    monkeypatch.setenv("ORINBENCH_TOKEN_FILE", str(tmp_path / "t"))
    assert find_address().token == "named"
    monkeypatch.setenv("ORINBENCH_TOKEN", "variable")
    assert find_address().token == "variable"
    (tmp_path / "o").write_text("option")
    assert find_address(token_file=tmp_path / "o").token == "option"
    assert find_address("/a").token is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("host = 1\n", "host: only the keys host and token are known"),
        ('hots = "x"\n', "hots: only the keys"),
        ("host = \n", "not valid TOML"),
    ],
)
def test_config_typo(tmp_path: Path, text: str, problem: str) -> None:
    """A wrong config file is named with what is wrong in it."""
    configure(tmp_path, text)

    with pytest.raises(BadInput, match=problem):
        find_address()


def test_token_file_absent(tmp_path: Path) -> None:
    """A token file that is not there is named."""
    with pytest.raises(BadInput, match=r"token file .*none: cannot be read"):
        find_address("127.0.0.1:1", tmp_path / "none")
