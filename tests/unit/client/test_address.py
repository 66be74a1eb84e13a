"""Where the client looks for a board."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from orinbench_client.errors import BadInput
from orinbench_client.sdk import address
from orinbench_client.sdk.address import Address, Tls, find_address, parse_target


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable of the developer's own, and a config folder of the test's own."""
    for name in ("HOST", "TOKEN", "TOKEN_FILE", "CA", "CERT", "KEY"):
        monkeypatch.delenv(f"ORINBENCH_{name}", raising=False)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
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
    assert (target, False) == parse_target(text)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("tls://localhost:1", "localhost:1"),
        ("tls://[::1]:2", "[::1]:2"),
        ("board.lab:50061", "board.lab:50061"),
        ("10.0.0.7:50061", "10.0.0.7:50061"),
        ("[fe80::1]:50061", "[fe80::1]:50061"),
        ("0.0.0.0:50061", "0.0.0.0:50061"),
        ("127.0.0.1.example.org:1", "127.0.0.1.example.org:1"),
    ],
)
def test_no_token_goes_in_clear(text: str, target: str) -> None:
    """What is not on loopback, or is asked for, speaks TLS: there is no way to send a token there in clear."""
    assert (target, True) == parse_target(text)
    assert find_address(text).tls is not None


@pytest.mark.parametrize(
    "text", ["board", "board:", ":5", "a b:5", "localhost:0", "localhost:65536", "http://x:5", "tls://", "tls:///x", ""]
)
def test_other_forms_are_refused(text: str) -> None:
    """Anything else is refused with the forms there are."""
    with pytest.raises(BadInput, match=r"neither unix:/path, /path, host:port nor tls://host:port"):
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
    # A daemon may be installed on this very machine.
    monkeypatch.setattr(address, "SYSTEM_SOCKET", tmp_path / "system.sock")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/7")
    assert find_address() == Address("unix:/run/user/7/orinbench/orinbench.sock")
    (tmp_path / "system.sock").touch()
    assert find_address() == Address(f"unix:{tmp_path / 'system.sock'}")
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
        ("host = 1\n", "host: only the keys host, token, token_file, ca, certificate, key are known"),
        ('hots = "x"\n', "hots: only the keys"),
        ("host = \n", "not valid TOML"),
    ],
)
def test_config_typo(tmp_path: Path, text: str, problem: str) -> None:
    """A wrong config file is named with what is wrong in it."""
    configure(tmp_path, text)

    with pytest.raises(BadInput, match=problem):
        find_address()


def test_files_of_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variables win over the config file, each file for itself; a certificate without its key is refused."""
    configure(tmp_path, 'host = "b.lab:1"\nca = "/c/ca"\ncertificate = "/c/cert"\nkey = "/c/key"\n')
    assert find_address().tls == Tls(Path("/c/ca"), Path("/c/cert"), Path("/c/key"))
    monkeypatch.setenv("ORINBENCH_CA", "/e/ca")
    assert find_address().tls == Tls(Path("/e/ca"), Path("/c/cert"), Path("/c/key"))
    assert find_address("localhost:1").tls is None
    (tmp_path / "orinbench" / "config.toml").write_text('host = "b.lab:1"\n')
    monkeypatch.setenv("ORINBENCH_CERT", "/e/cert")
    with pytest.raises(BadInput, match="go together"):
        find_address()


def test_token_file_absent(tmp_path: Path) -> None:
    """A token file that is not there is named."""
    with pytest.raises(BadInput, match=r"token file .*none: cannot be read"):
        find_address("127.0.0.1:1", tmp_path / "none")
