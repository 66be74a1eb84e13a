"""What the commands share: options, groups, JSON, words for enums. Imports nothing heavy."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orinbench_client.cli.completion import host_names, model_names, suite_names

if TYPE_CHECKING:
    from google.protobuf.message import Message


def group(text: str) -> typer.Typer:
    """Return a command that has commands of its own, in the style of all others."""
    return typer.Typer(help=text, rich_markup_mode=None, no_args_is_help=False)


def finite(value: float | None) -> float | None:
    """Refuse what is no number: no bound of an option does."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not a finite number.")
    return value


HostOption = Annotated[
    str | None,
    typer.Option(
        "--host",
        metavar="ADDRESS",
        help="unix:/path, /path, host:port, tls://host:port, or a name from 'orinbench config'.",
        autocompletion=host_names,
    ),
]
TokenOption = Annotated[
    Path | None,
    typer.Option("--token-file", metavar="FILE", help="Token of a TCP door (ORINBENCH_TOKEN, …_TOKEN_FILE)."),
]
TrustOption = Annotated[
    Path | None, typer.Option("--trust", metavar="FILE", help="List of trusted boards; your own if not given.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON (docs/cli.md has the shapes).")]
RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="Name of the run.")]
SuiteOption = Annotated[
    str,
    typer.Option(
        "--suite",
        "-s",
        metavar="SUITE",
        help="Name of a suite, or its folder; NAME:WORD,WORD chooses variants.",
        autocompletion=suite_names,
    ),
]
MaybeSuiteOption = Annotated[
    str | None,
    typer.Option("--suite", "-s", metavar="SUITE", help="Name of a suite, or its folder.", autocompletion=suite_names),
]
ModelOption = Annotated[
    str,
    typer.Option(
        "--model", "-m", metavar="MODEL", help="Name of a model, or its .toml file.", autocompletion=model_names
    ),
]
MaybeModelOption = Annotated[
    str | None,
    typer.Option(
        "--model", "-m", metavar="MODEL", help="Name of a model, or its .toml file.", autocompletion=model_names
    ),
]
_SUITES = typer.Option(
    "--suite", "-s", metavar="SUITE", help="As for 'run'; may be repeated.", autocompletion=suite_names
)
_MODELS = typer.Option(
    "--model", "-m", metavar="MODEL", help="As for 'run'; may be repeated.", autocompletion=model_names
)
SuitesOption = Annotated[list[str], _SUITES]
MaybeSuitesOption = Annotated[list[str] | None, _SUITES]
ModelsOption = Annotated[list[str], _MODELS]
MaybeModelsOption = Annotated[list[str] | None, _MODELS]
ProfileOption = Annotated[
    str, typer.Option(metavar="NAME", help="Hardware profile the board must be measured under; else its own.")
]
PriorityOption = Annotated[
    int, typer.Option(metavar="N", min=-10, max=10, help="Higher goes first; above 0 for admins.")
]


def give_up_option(help_text: str) -> Any:
    """Return the option of how long a board is waited for without contact; what follows then is the command's own."""
    return typer.Option("--give-up-after", metavar="SECONDS", min=1, callback=finite, help=help_text)


GiveUpOption = Annotated[float, give_up_option("End after so long without contact to the board.")]


def to_dict(message: Message) -> dict[str, Any]:
    """Return a message as JSON values by field name: zeros are there, what is unknown is not."""
    import inspect

    from google.protobuf.json_format import MessageToDict

    # Up to protobuf 5 the parameter had another name.
    parameters = inspect.signature(MessageToDict).parameters
    names = ("always_print_fields_with_no_presence", "including_default_value_fields")
    options: dict[str, Any] = {next(name for name in names if name in parameters): True}
    return MessageToDict(message, preserving_proto_field_name=True, **options)


def print_json(value: object) -> None:
    """Print a value as one line of JSON."""
    print(json.dumps(value, ensure_ascii=False, sort_keys=True))


def run_name(text: str) -> str:
    """Return the resource name for a run given with or without ``runs/``."""
    return text if text.startswith("runs/") else f"runs/{text}"


def word(enum: Any, value: int, prefix: str) -> str:
    """Return an enum's value as a lower-case word; a value of a newer daemon as its number."""
    try:
        return str(enum.Name(value)).removeprefix(prefix).lower()
    except ValueError:
        return f"number {value}"


def seconds(value: float) -> str:
    """Return a duration for people: 4.2 s, 3:05, 2:03:04."""
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def gibibytes(value: int) -> str:
    """Return bytes as GiB, or as MiB below one GiB."""
    return f"{value / 2**30:.2f} GiB" if value >= 2**30 else f"{value / 2**20:.0f} MiB"
