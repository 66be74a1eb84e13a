"""The tegrastats parser: every token is typed or kept, nothing raises, unknown is never 0."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from orinbenchd.telemetry.tegrastats import Rail, Unit, parse_file, parse_line

ROOT_R36 = (
    "01-02-2026 03:04:05 RAM 900/30697MB (lfb 12x4MB) SWAP 1/2048MB (cached 0MB) CPU [7%@1190,off] "
    "EMC_FREQ 3%@2133 GR3D_FREQ 45%@[1300,1298] NVENC 79%@166 NVDEC off APE 174 cpu@52.5C gpu@46C "
    "VDD_GPU_SOC 2412mW/2400mW VDD_CPU_CV -398mW/-398mW VIN_SYS_5V0 4607mW/4657mW"
)


def reading(line: str) -> dict[str, Any]:
    return parse_line(line).to_json()


def test_a_line_of_root_is_read_whole() -> None:
    """Each printed quantity arrives under its key with its value; a core and a unit that are off stay apart."""
    assert reading(ROOT_R36) == {
        "ram_used_mb": 900,
        "gpu_load_pct": 45,
        "gpu_mhz": [1300, 1298],
        "emc_pct": 3,
        "cpu": [{"load_pct": 7, "mhz": 1190}, None],
        "temps_c": {"cpu": 52.5, "gpu": 46.0},
        "rails_mw": {
            "VDD_GPU_SOC": {"now": 2412, "avg": 2400},
            "VDD_CPU_CV": {"now": -398, "avg": -398},
            "VIN_SYS_5V0": {"now": 4607, "avg": 4657},
        },
        "unknown": [],
    }


@pytest.mark.parametrize(
    ("text", "load", "clocks"),
    [
        ("GR3D_FREQ 0%@[0,0]", 0, [0, 0]),
        ("GR3D_FREQ 63%@[621]", 63, [621]),
        ("GR3D_FREQ 62%@306", 62, [306]),
        ("GR3D_FREQ 0%", None, []),
        ("GR3D_FREQ @[314,314,314]", None, [314, 314, 314]),
        ("RAM 1/2MB", None, []),
    ],
)
def test_gpu_load_without_a_clock_is_unknown(text: str, load: int | None, clocks: list[int]) -> None:
    """A bare percentage is a placeholder of a reader without root; clocks alone leave the load unknown."""
    assert (reading(text)["gpu_load_pct"], reading(text)["gpu_mhz"]) == (load, clocks)


@pytest.mark.parametrize(
    ("text", "percent"),
    [("EMC_FREQ 0%", None), ("EMC_FREQ 0%@2133", 0), ("EMC_FREQ @1600", None), ("EMC 1%@408", 1), ("", None)],
)
def test_memory_controller_load(text: str, percent: int | None) -> None:
    """The memory controller follows the same rule, under its old name too."""
    assert reading(text)["emc_pct"] == percent


def test_sensors_that_are_off_and_names_that_come_twice() -> None:
    """−256 °C is null; the second rail of a name gets #2; of a pair of temperatures the first counts."""
    found = reading("CV0@-256C tj@40.5C/41C NC 0mW/0mW NC 5mW/6mW")

    assert found["temps_c"] == {"CV0": None, "tj": 40.5}
    assert found["rails_mw"] == {"NC": {"now": 0, "avg": 0}, "NC#2": {"now": 5, "avg": 6}}


def test_old_spellings() -> None:
    """Rails without a unit, a clock for all cores, MTS, IRAM without a space, three power values."""
    line = parse_line("IRAM 0/252kB(lfb 252kB) cpu [17%,off]@408 MTS fg 1% bg 9% GPU 0/0 VDD_IN 5mW/6mW/7mW GPU@37.5C")

    assert line.unknown == []
    assert line.to_json()["cpu"] == [{"load_pct": 17, "mhz": 408}, None]
    assert line.rails["GPU"] == Rail("GPU", (0, 0), "")
    assert line.rails["VDD_IN"].milliwatt == (5, 6, 7)
    assert line.temperatures == {"GPU": 37.5}


def test_unknown_tokens_are_kept_in_order() -> None:
    """What is not understood is handed on, and does not disturb its neighbours."""
    found = reading("vendor=x RAM 5/9MB ?? FOO bar 12 tj@40C")

    assert found["unknown"] == ["vendor=x", "??", "FOO", "bar", "12"]
    assert (found["ram_used_mb"], found["temps_c"]) == (5, {"tj": 40.0})


def test_an_unknown_clocked_unit_is_typed() -> None:
    """A unit of a name nobody knows yet is still a unit when it is spelled like one."""
    assert parse_line("NEWENG0_FREQ 36%@115").unit("NEWENG0_FREQ") == Unit("NEWENG0_FREQ", 36, (115,), "@")


@pytest.mark.oracle
def test_every_recorded_line_is_accounted_for(oracle: Path) -> None:
    """Each published line is understood to the last token and printed again as it was, single-spaced."""
    samples = oracle.parent / "spec/tegrastats_samples.txt"
    raw = [line for line in samples.read_text().splitlines() if line.strip() and not line.startswith("#")]
    parsed = list(parse_file(samples))

    assert len(parsed) == len(raw) > 30
    for text, line in zip(raw, parsed, strict=True):
        assert str(line) == " ".join(text.split())
        assert line.unknown == []
        json.dumps(line.to_json(), allow_nan=False)


NAMES = st.from_regex(r"[A-Z][A-Z0-9_]{0,9}", fullmatch=True)
SMALL = st.integers(0, 999_999)
CORES = st.one_of(st.just("off"), st.builds(lambda load, mhz: f"{load}%@{mhz}", SMALL, SMALL))
TOKENS = st.one_of(
    st.builds(lambda used, total: f"RAM {used}/{total}MB (lfb 1x4MB)", SMALL, SMALL),
    st.builds(lambda cores: f"CPU [{','.join(cores)}]", st.lists(CORES, min_size=1, max_size=12)),
    st.builds(lambda name, load, mhz: f"{name} {load}%@{mhz}", NAMES, SMALL, SMALL),
    st.builds(lambda name, mhz: f"{name} @[{mhz},{mhz}]", NAMES, SMALL),
    st.builds(lambda name: f"{name} off", NAMES),
    st.builds(lambda name, load: f"{name} {load}%", NAMES, SMALL),
    st.builds(
        lambda name, degrees: f"{name}@{degrees}C",
        NAMES,
        st.decimals(-256, 200, places=3).map(lambda value: f"{value:f}"),
    ),
    st.builds(lambda name, now, mean: f"{name} {now}mW/{mean}mW", NAMES, st.integers(-9999, 99999), SMALL),
    st.sampled_from(["MTS fg 1% bg 2%", "01-02-2026 03:04:05", "EMC_FREQ 0%", "0/0", "GPU", "@", "[", "%", "off"]),
    st.text(max_size=12),
)


@given(st.lists(TOKENS, max_size=12).map(" ".join))
def test_anything_is_read_without_error_and_printed_back_the_same(text: str) -> None:
    """For any mix of tokens: no exception, plain JSON, no token lost, and what is printed reads the same again."""
    line = parse_line(text)

    json.dumps(line.to_json(), allow_nan=False)
    assert parse_line(str(line)) == line
    assert sum(len(str(field).split()) for field in line.fields) == len(text.split())


@given(st.text())
def test_any_text_is_read_without_error(text: str) -> None:
    """Random text never raises either."""
    line = parse_line(text)

    assert parse_line(str(line)) == line


def test_files_skip_comments_and_survive_bad_bytes(tmp_path: Path) -> None:
    """Empty lines and comments are no readings; bytes that are no UTF-8 are kept as unknown."""
    path = tmp_path / "lines"
    path.write_bytes(b"# a comment\n\nRAM 1/2MB\n\xff\xfe RAM 3/4MB\n")

    assert [line.to_json()["ram_used_mb"] for line in parse_file(path)] == [1, 3]


def parse_command(path: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run `orinbenchd tegrastats parse`."""
    command = [sys.executable, "-m", "orinbenchd", "tegrastats", "parse", path]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60)


def test_the_command_reads_a_file_or_standard_input(tmp_path: Path) -> None:
    """A file and - give the same objects, one a line; a missing file is one line that names it, and code 2."""
    text = "RAM 1/2MB (lfb 1x4MB) GR3D_FREQ 5%\nRAM 3/4MB\n"
    (tmp_path / "lines").write_text(text)

    from_file, from_input = parse_command(str(tmp_path / "lines")), parse_command("-", text)
    missing = parse_command(str(tmp_path / "none"))

    assert [json.loads(line)["ram_used_mb"] for line in from_file.stdout.splitlines()] == [1, 3]
    assert from_input.stdout == from_file.stdout
    assert (missing.returncode, missing.stderr.count("\n"), "none: cannot be read" in missing.stderr) == (2, 1, True)
