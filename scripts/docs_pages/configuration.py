"""The page on the daemon's configuration, made from the model that reads it."""

from __future__ import annotations

from orinbenchd import config
from pydantic import BaseModel

from docs_pages.models import summary, table

_SECTIONS: dict[str, type[BaseModel]] = {
    "[tls]": config.Tls,
    "[[tls.clients]]": config.TlsClient,
    "[runtimes.NAME]": config.Runtime,
    "[limits]": config.Limits,
    "[deadlines]": config.Deadlines,
    "[retention]": config.Retention,
}
#: What the machine decides, said in the meaning.
_OF_THE_MACHINE = dict.fromkeys(("name", "data_dir", "socket", "runtimes"), "by the machine")


def page() -> str:
    """Return the page."""
    parts = [
        "# The daemon's configuration",
        "<!-- Made by scripts/docs from daemon/orinbenchd/config.py: change it there. -->",
        "`orinbenchd --config FILE`; without it `/etc/orinbench/orinbenchd.toml` where that is there, else the "
        "defaults alone. The file is TOML, read once at the start. A key that nobody knows, a value out of bounds, or "
        "a door that nobody could use ends the start with one line and exit code 78.",
        f"## Top of the file\n\n{summary(config.Config)}",
        table(config.Config, _OF_THE_MACHINE),
    ]
    for title, model in _SECTIONS.items():
        parts += [f"## `{title}`\n\n{summary(model)}", table(model)]
    return "\n\n".join(parts) + "\n"
